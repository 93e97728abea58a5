"""A plugin's project that is not installed, made findable for one process as if it were."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from cbcore.exceptions import UsageError
from cbcore.plugins import Distribution


@attrs.frozen
class Staged:
    """What the project states, and the folders that make it importable and findable."""

    distribution: Distribution
    path: tuple[str, ...]


@contextlib.contextmanager
def staged(folder: Path) -> Iterator[Staged]:
    """Stage the project in a folder. Nothing is built, and nothing outside is written."""
    project = _read(folder)
    name, version = project["name"], str(project.get("version", "0"))
    groups: dict[str, dict[str, str]] = project.get("entry-points", {})
    requires = [str(line) for line in project.get("dependencies", [])]
    source = folder / "src" if (folder / "src").is_dir() else folder
    with tempfile.TemporaryDirectory(prefix="cb-check-") as temporary:
        info = Path(temporary) / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        headers = [
            f"Name: {name}",
            f"Version: {version}",
            f"Summary: {project.get('description', '')}",
        ]
        headers += [f"Requires-Dist: {line}" for line in requires]
        (info / "METADATA").write_text("\n".join(headers) + "\n\n", encoding="utf-8")
        sections = [
            "\n".join([f"[{group}]", *(f"{key} = {value}" for key, value in table.items())])
            for group, table in groups.items()
        ]
        (info / "entry_points.txt").write_text("\n\n".join(sections) + "\n", encoding="utf-8")
        (distribution,) = Distribution.iter_installed([temporary])
        yield Staged(distribution, (temporary, str(source.resolve())))


def _read(folder: Path) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    path = folder / "pyproject.toml"
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"{folder} is no project: {path.name} cannot be read: {error.strerror}",
            hint="name the folder that holds the plugin's pyproject.toml",
        ) from error
    except ValueError as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from error
    project = document.get("project")
    if not isinstance(project, dict) or not isinstance(project.get("name"), str):
        raise UsageError(f"{path} has no [project] with a name")
    groups = project.get("entry-points", {})
    if not isinstance(groups, dict) or not all(isinstance(t, dict) for t in groups.values()):
        raise UsageError(f"{path}: [project.entry-points] is not a table of tables")
    return project
