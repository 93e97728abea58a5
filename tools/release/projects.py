"""The distributions of this repository, as their project files state them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
CORE, META = "cbcore", "cb-bench"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")


@attrs.frozen
class Project:
    """A folder from which one distribution is built."""

    folder: Path
    stated: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.stated["name"])

    @property
    def version(self) -> str:
        """As it is stated, or as the core's module has it."""
        if "version" in self.stated:
            return str(self.stated["version"])
        source = (ROOT / "cbcore" / "__init__.py").read_text(encoding="utf-8")
        found = re.search(r'^__version__ = "([^"]+)"', source, re.MULTILINE)
        assert found is not None
        return found[1]

    @property
    def dependencies(self) -> list[str]:
        """What it requires, extras left out."""
        return list(self.stated.get("dependencies", ()))

    @property
    def requirements(self) -> list[str]:
        """All that it requires, with every extra."""
        extras = self.stated.get("optional-dependencies", {})
        return [*self.dependencies, *(one for e in extras.values() for one in e)]


def projects() -> list[Project]:
    """All of them: the core, the plugins by name, and the one that brings them."""
    folders = [ROOT, *sorted((ROOT / "plugins").glob("cb-*"))]
    return [Project(folder, _stated(folder)) for folder in folders]


def _stated(folder: Path) -> dict[str, Any]:
    data = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    found: dict[str, Any] = data["project"]
    return found


def name_of(requirement: str) -> str:
    """The distribution that a requirement names."""
    found = _NAME.match(requirement)
    assert found is not None, requirement
    return found[0].lower().replace("_", "-")


def specifier_of(requirement: str) -> str:
    """The versions that a requirement allows: what stands behind name and extras."""
    return re.sub(r"\A[\w.-]+\s*(\[[^\]]*\])?", "", requirement.partition(";")[0]).strip()


def inconsistencies(found: list[Project]) -> Iterator[str]:
    """What does not fit together: versions, ranges, licences, plugins that nothing brings."""
    from packaging.specifiers import SpecifierSet

    versions = {project.name: project.version for project in found}
    for name, version in versions.items():
        if version != versions[CORE]:
            yield f"{name} has version {version}, and {CORE} {versions[CORE]}"
    for project in found:
        for requirement in project.requirements:
            wanted, allowed = name_of(requirement), specifier_of(requirement)
            if wanted in versions and versions[wanted] not in SpecifierSet(allowed):
                yield f"{project.name} requires {requirement}, and {versions[wanted]} is built"
            if wanted.startswith("cb-") and wanted not in versions:
                yield f"{project.name} requires {wanted}, which is not here"
        if not (project.folder / "LICENSE").is_file():
            yield f"{project.name} has no file LICENSE: copy the one of the repository"
        if project.stated.get("license") != "MIT":
            yield f"{project.name} does not state its licence"
    meta = next(project for project in found if project.name == META)
    brought = {name_of(requirement) for requirement in meta.requirements}
    for name in sorted(versions.keys() - brought - {META}):
        yield f"{META} does not bring {name}: name it in one of its extras"
