"""One plugin held to everything: static rules and the conformance kit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from cb_testing.metadata_rules import (
    Finding,
    check_distribution,
    find_name_conflicts,
    is_core,
)
from cb_testing.probe import try_kit
from cb_testing.projects import staged
from cbcore.names import canonical
from cbcore.plugins import Catalog, Distribution


@attrs.frozen
class Checked:
    """What was found of one plugin.

    `conformance`, the kit's own report, is None if a static rule failed.
    """

    plugin: str
    version: str
    findings: list[Finding]
    conformance: dict[str, Any] | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing must be fixed."""
        return not any(finding.severity == "error" for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data."""
        return {
            "plugin": self.plugin,
            "version": self.version,
            "ok": self.ok,
            "findings": [finding.to_dict() for finding in self.findings],
            "conformance": self.conformance,
        }


def check_installed(catalog: Catalog, plugins: Sequence[str] = ()) -> list[Checked]:
    """Check the named plugins, or all that are not switched off. The core is no plugin."""
    distributions: dict[str, Distribution] = {}
    for distribution in Distribution.iter_installed():
        distributions.setdefault(canonical(distribution.name), distribution)
    chosen = plugins or [
        plugin.name
        for plugin in catalog.plugins
        if plugin.status != "disabled" and not is_core(plugin.name)
    ]
    versions = {name: distribution.version for name, distribution in distributions.items()}
    found = [_check(distributions[canonical(n)], versions, n) for n in chosen]
    for clash in find_name_conflicts(catalog):
        for checked in found:
            if checked.plugin in clash.subject.split(", "):
                checked.findings.append(clash)
    return found


def check_project(folder: Path) -> Checked:
    """Check a project that need not be installed."""
    installed: dict[str, str] = {}
    for distribution in Distribution.iter_installed():
        installed.setdefault(canonical(distribution.name), distribution.version)
    with staged(folder) as project:
        return _check(project.distribution, installed, str(folder.resolve()))


def _check(distribution: Distribution, installed: Mapping[str, str], subject: str) -> Checked:
    found = list(check_distribution(distribution, installed))
    if not distribution.entry_points:
        fix = 'add [project.entry-points."cb.systems"], or that of another kind'
        found.append(Finding("entry-points", "error", distribution.name, "it offers nothing", fix))
    checked = Checked(distribution.name, distribution.version, found)
    if not checked.ok:
        return checked
    conformance, failures = try_kit(subject)
    found += failures
    return attrs.evolve(checked, conformance=conformance)
