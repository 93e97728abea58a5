"""Distributions made on the spot: what an installer leaves behind, written into a folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path


def write_distribution(
    folder: Path,
    name: str,
    entries: Mapping[str, Mapping[str, str]],
    modules: Mapping[str, str] | None = None,
    *,
    version: str = "1.0",
    requires: Iterable[str] = ("cbcore",),
    summary: str = "",
) -> Path:
    """Write modules and metadata; returns the `.dist-info` folder.

    `entries` maps entry-point groups (`cb.evaluators`) to names and targets, `modules` file
    paths (`mine.py`) to sources.
    """
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    headers = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    headers += [f"Summary: {summary}", *(f"Requires-Dist: {r}" for r in requires)]
    _write(info / "METADATA", "\n".join(headers) + "\n")
    lines = []
    for group, table in entries.items():
        lines += [f"[{group}]", *(f"{key} = {target}" for key, target in table.items())]
    _write(info / "entry_points.txt", "\n".join(lines) + "\n")
    for path, source in (modules or {}).items():
        _write(folder / path, source)
    owned = [*(modules or {}), *(f"{info.name}/{n}" for n in ("METADATA", "entry_points.txt"))]
    _write(info / "RECORD", "".join(f"{path},,\n" for path in [*owned, f"{info.name}/RECORD"]))
    return info


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
