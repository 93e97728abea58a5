"""Everything installed distributions state, for those who check them: read whole, never imported.

`_discovery` reads what a light command needs of those that are plugins. This reads more: of all
distributions their versions, of plugins (and of what means to be one) every group, requirement
and file.
"""

from __future__ import annotations

import contextlib
import csv
import re
from collections.abc import Iterator
from pathlib import Path

import attrs

from cbcore.components import describe_exception
from cbcore.names import canonical
from cbcore.plugins import _discovery
from cbcore.plugins._discovery import EntryPoint
from cbcore.plugins._library import metadata
from cbcore.plugins._origins import Origin, read_origin
from cbcore.plugins._policy import CORE

_REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*\(?(?P<specifier>(?:[<>=!~][^;)]*)?)\)?\s*\Z"
)


@attrs.frozen
class Requirement:
    """One requirement without a marker; those under one are the installer's business."""

    name: str
    specifier: str


@attrs.frozen
class Manifest:
    """What one distribution states. `entries` are those in groups that start like ours."""

    name: str
    version: str = ""
    summary: str = ""
    folder: Path | None = None
    entries: tuple[EntryPoint, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    origin: Origin = attrs.Factory(Origin)
    files: tuple[str, ...] = ()
    problem: str = ""

    @property
    def is_ours(self) -> bool:
        """Whether it is the core, a plugin, or means to be one."""
        return bool(self.entries) or canonical(self.name) == CORE

    @property
    def core_specifier(self) -> str | None:
        """Which cores it supports; None when it does not say that it needs one."""
        found = [r.specifier for r in self.requirements if canonical(r.name) == CORE]
        return ",".join(found) if found else None


def read_manifests() -> Iterator[Manifest]:
    """Every installed distribution, in the order of the import path, copies included."""
    for installed in _discovery.installed_distributions(None):
        with contextlib.suppress(OSError):  # it was uninstalled meanwhile
            yield _read(installed)


def _read(installed: metadata.Distribution) -> Manifest:
    folder = getattr(installed, "_path", None)
    headers: dict[str, list[str]] = {}
    entries: list[EntryPoint] = []
    problem = ""
    try:
        headers = _discovery.read_headers(installed)
    except Exception as error:  # noqa: BLE001 - metadata of any package may be broken in any way
        problem = f"its METADATA cannot be read: {describe_exception(error)}"
    try:
        text = installed.read_text("entry_points.txt") or ""
        entries, malformed = _discovery.parse_entry_points(text)
    except Exception as error:  # noqa: BLE001 - as above
        malformed = describe_exception(error)
    if malformed and not problem:
        problem = f"its entry_points.txt cannot be read: {malformed}"
    ours = tuple(entry for entry in entries if _discovery.looks_like_ours(entry.group))
    name = headers.get("name", [""])[0] or _discovery.name_from_path(installed)
    manifest = Manifest(
        name=name,
        version=headers.get("version", [""])[0],
        summary=headers.get("summary", [""])[0],
        folder=folder if isinstance(folder, Path) else None,
        entries=ours,
        requirements=tuple(requirements_in(headers.get("requires-dist", []))),
        problem=problem,
    )
    if not manifest.is_ours:
        return manifest
    record = csv.reader((installed.read_text("RECORD") or "").splitlines())
    files = tuple(entry[0] for entry in record if entry and entry[0].endswith(".py"))
    return attrs.evolve(manifest, files=files, origin=read_origin(installed))


def requirements_in(lines: list[str]) -> Iterator[Requirement]:
    """The requirements among the lines of `Requires-Dist` that always hold."""
    for match in map(_REQUIREMENT.match, lines):
        if match:
            yield Requirement(match["name"], match["specifier"].strip())
