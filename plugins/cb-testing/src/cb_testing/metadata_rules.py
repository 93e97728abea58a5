"""The rules a plugin can be held to without importing it: what its metadata states, and should."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import attrs

import cbcore
from cbcore.names import canonical, hint, is_valid
from cbcore.plugins import Catalog, Distribution, read_distributions

CORE = "cbcore"
HOOK_GROUP = "cb.plugins"

Severity: TypeAlias = Literal["error", "warning", "note"]
"""Whether something must be fixed, should be, or is only worth knowing."""

_TARGET = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*(?P<attribute>:[^\W\d]\w*(\.[^\W\d]\w*)*)?\Z")


@attrs.frozen
class Finding:
    """One thing that is not as it should be, about what, and what to do."""

    rule: str
    severity: Severity
    subject: str
    problem: str
    fix: str = ""

    def to_dict(self) -> dict[str, str]:
        """The finding as plain data."""
        found: dict[str, str] = attrs.asdict(self)
        return found


def check_distribution(
    distribution: Distribution, installed: Mapping[str, str]
) -> Iterator[Finding]:
    """Hold one plugin to every static rule. `installed` maps canonical names to versions."""
    if distribution.problem:
        fix = f"reinstall {distribution.name}"
        yield Finding("metadata", "error", distribution.name, distribution.problem, fix)
    if is_core(distribution.name):
        yield from _missing_files(distribution)
        yield from _requirements(distribution, installed)
        return
    yield from _core_range(distribution)
    yield from _entry_points(distribution)
    yield from _missing_files(distribution)
    yield from _requirements(distribution, installed)
    if not distribution.summary:
        fix = "write a `description` in its pyproject.toml"
        yield Finding("summary", "warning", distribution.name, "it has no one-line summary", fix)


def is_core(name: str) -> bool:
    """Whether a name is the core's."""
    return canonical(name) == CORE


def _core_range(distribution: Distribution) -> Iterator[Finding]:
    specifier = distribution.core_specifier
    major, minor, *_ = (int(part) for part in re.findall(r"\d+", cbcore.__version__))
    following = f"{major}.{minor + 1}" if major == 0 else f"{major + 1}"
    fix = f"its author should require {CORE}>={major}.{minor},<{following}"
    if specifier is None:
        problem = f"it states no requirement on {CORE}"
        yield Finding("core-range", "warning", distribution.name, problem, fix)
    elif not _satisfies(cbcore.__version__, specifier):
        yield Finding(
            "core-range",
            "error",
            distribution.name,
            f"it requires {CORE} {specifier}; installed is {cbcore.__version__}",
            f"cb install -U {distribution.name} {CORE}",
        )
    elif not re.search(r"<|~=|==", specifier):
        stated = f"{CORE} {specifier}" if specifier else CORE
        problem = f"its requirement on the core has no upper bound ({stated})"
        yield Finding("core-range", "warning", distribution.name, problem, fix)


def _satisfies(version: str, specifier: str) -> bool:
    """Whether a version meets a specifier; it never meets an unreadable one."""
    from packaging.specifiers import SpecifierSet

    try:
        return SpecifierSet(specifier).contains(version, prereleases=True)
    except ValueError:
        return False


def _entry_points(distribution: Distribution) -> Iterator[Finding]:
    groups = Catalog(read_distributions()).groups
    for group in dict.fromkeys(entry.group for entry in distribution.entry_points):
        if group not in groups:
            fix = hint(group, groups, f"groups: {', '.join(groups)}")
            problem = f"the entry-point group {group!r} is not one that cb reads"
            yield Finding("entry-point-group", "error", distribution.name, problem, fix)
    for entry in distribution.entry_points:
        if entry.group not in groups:
            continue
        where = f"{entry.name} = {entry.value} in {entry.group}"
        target = _TARGET.match(entry.value)
        is_hook = entry.group == HOOK_GROUP
        if target is None or not (is_hook or target["attribute"]):
            fix = "write package.module" if is_hook else "write package.module:attribute"
            yield Finding("entry-point-target", "error", distribution.name, where, fix)
        if not is_hook and not is_valid(entry.name):
            fix = "use lower-case letters, digits, - and _"
            yield Finding("component-name", "error", distribution.name, where, fix)


def _missing_files(distribution: Distribution) -> Iterator[Finding]:
    """A distribution whose code is gone: half uninstalled, or an editable one that was moved."""
    editable = distribution.origin.editable
    if editable:
        if not Path(editable).is_dir():
            yield Finding(
                "stale",
                "error",
                distribution.name,
                f"it is installed in place from {editable}, which does not exist",
                f"cb uninstall {distribution.name}, or install it again from where it is",
            )
        return
    record = (distribution.read_text("RECORD") or "").splitlines()
    modules = [row[0] for row in csv.reader(record) if row and row[0].endswith(".py")]
    if distribution.folder is not None and modules:
        root = distribution.folder.parent
        missing = [file for file in modules if not (root / file).exists()]
        if missing:
            problem = f"{len(missing)} of its {len(modules)} modules are gone"
            fix = f"reinstall or uninstall {distribution.name}"
            yield Finding(
                "stale", "error", distribution.name, f"{problem}, such as {missing[0]}", fix
            )


def _requirements(distribution: Distribution, installed: Mapping[str, str]) -> Iterator[Finding]:
    for line in distribution.requirements:
        name, specifier = _read_requirement(line)
        if not name or is_core(name):
            continue
        version = installed.get(canonical(name))
        wanted = f"{name}{specifier}"
        if version is None:
            problem = f"it requires {wanted}, which is not installed"
        elif version and not _satisfies(version, specifier):
            problem = f"it requires {wanted}; installed is {version}"
        else:
            continue
        yield Finding("requirement", "error", distribution.name, problem, f"pip install {wanted!r}")


def _read_requirement(line: str) -> tuple[str, str]:
    """Name and specifier of a requirement; empty for one with a marker, or unreadable."""
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        requirement = Requirement(line)
    except InvalidRequirement:
        return "", ""
    return ("", "") if requirement.marker else (requirement.name, str(requirement.specifier))


def find_name_conflicts(catalog: Catalog) -> Iterator[Finding]:
    """Names that more than one plugin offers. The subject of a finding names all of them."""
    for (kind, name), owners in catalog.find_conflicts().items():
        choices = " or ".join(f"{owner}/{name}" for owner in owners)
        yield Finding(
            "name-conflict",
            "error",
            ", ".join(owners),
            f"both offer the {kind} {name!r}",
            f"write {choices}, or disable one of them with --no-plugin",
        )


def unmet_requirements() -> set[tuple[str, str]]:
    """What the core and the installed plugins require and do not find: name and problem."""
    distributions = list(Distribution.iter_installed())
    versions = {canonical(m.name): m.version for m in reversed(distributions)}
    ours = [distribution for distribution in distributions if distribution.is_plugin]
    return {
        (f.subject, f.problem)
        for distribution in ours
        for f in _requirements(distribution, versions)
    }
