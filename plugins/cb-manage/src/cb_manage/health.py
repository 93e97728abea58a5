"""The checks of `cb doctor`: the environment, and everything in it that needs fixing."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import cbcore
from cb_manage.trials import Trial
from cb_testing.metadata_rules import CORE, Finding, check_distribution, find_name_conflicts
from cbcore.names import canonical
from cbcore.plugins import Catalog, Distribution, Plugin

__all__ = ("Finding", "describe_environment", "diagnose")

SLOW_MS = 1000.0
"""The import time above which a plugin gets a warning."""

_OPTIONAL = {
    "datasets": ("datasets from the hub", f"pip install '{CORE}[hf]'"),
    "pyarrow": ("Parquet files", f"pip install '{CORE}[parquet]'"),
    "pandas": ("results as data frames", f"pip install '{CORE}[dataframe]'"),
}


def describe_environment() -> dict[str, Any]:
    """The interpreter, the platform, and the versions of the core and its libraries."""
    return {
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "cbcore": cbcore.__version__,
        "location": str(Path(cbcore.__file__).parent),
        **{name: metadata.version(name) for name in ("pluggy", "click", "attrs")},
    }


def diagnose(
    catalog: Catalog, trials: Mapping[str, Trial], folders: Iterable[Path]
) -> list[Finding]:
    """Everything that needs fixing or is worth knowing, errors first.

    `trials` are those of the plugins in the catalog. `folders` must be writable, as must the
    folder of the cache of descriptions.
    """
    distributions = list(Distribution.iter_installed())
    installed: dict[str, str] = {}
    for distribution in distributions:
        installed.setdefault(canonical(distribution.name), distribution.version)
    ours = [distribution for distribution in distributions if distribution.is_plugin]
    findings = [
        finding for distribution in ours for finding in check_distribution(distribution, installed)
    ]
    known = {(f.subject, f.problem) for f in findings}
    findings += [
        finding
        for finding in _check_plugins(catalog.plugins, trials)
        if (finding.subject, finding.problem) not in known
    ]
    findings += _find_absent(catalog.policy.require - installed.keys())
    findings += find_name_conflicts(catalog)
    findings += _find_copies(ours)
    findings += _find_leftovers(distributions)
    findings += _find_unwritable([catalog.descriptions.path.parent, *folders])
    findings += _find_missing_tools()
    order = ("error", "warning", "note")
    return sorted(findings, key=lambda finding: order.index(finding.severity))


def _check_plugins(plugins: Sequence[Plugin], trials: Mapping[str, Trial]) -> Iterator[Finding]:
    for plugin in plugins:
        import_ms = trials[plugin.name].import_ms if plugin.name in trials else None
        if plugin.status == "broken":
            yield Finding(plugin.state, "error", plugin.name, plugin.reason, plugin.remedy)
        elif import_ms is not None and import_ms > SLOW_MS:
            yield Finding(
                "slow",
                "warning",
                plugin.name,
                f"importing it took {import_ms / 1000:.1f} s",
                "its author should import heavy packages inside the functions that use them",
            )


def _find_absent(required: Iterable[str]) -> Iterator[Finding]:
    for name in sorted(required):
        yield Finding(
            "absent", "error", name, "is required but not installed", f"cb install {name}"
        )


def _find_copies(distributions: Sequence[Distribution]) -> Iterator[Finding]:
    """Distributions that are installed twice: two versions in a folder, or one in two folders."""
    places: dict[str, list[Distribution]] = {}
    for distribution in distributions:
        places.setdefault(canonical(distribution.name), []).append(distribution)
    for copies in places.values():
        distinct = {os.path.realpath(copy.folder): copy for copy in copies if copy.folder}
        if len(distinct) > 1:
            first, *others = distinct.values()
            listed = ", ".join(f"{copy.version} in {copy.folder}" for copy in others)
            yield Finding(
                "duplicate",
                "error",
                first.name,
                f"{first.version} in {first.folder} hides {listed}",
                f"cb uninstall {first.name} until none is left, then install it once",
            )


def _find_leftovers(distributions: Iterable[Distribution]) -> Iterator[Finding]:
    for distribution in distributions:
        if distribution.folder is not None and distribution.folder.name.startswith("~"):
            problem = "an interrupted installation left it behind"
            fix = f"delete {distribution.folder}"
            yield Finding("leftover", "warning", distribution.folder.name, problem, fix)


def _find_unwritable(folders: Iterable[Path]) -> Iterator[Finding]:
    for folder in folders:
        try:  # the working folder itself may be gone
            nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
            with tempfile.TemporaryFile(dir=nearest):
                continue
        except OSError as error:
            yield Finding(
                "unwritable",
                "error",
                str(folder),
                f"cb cannot write there: {error.strerror}",
                "correct its permissions, or set XDG_CACHE_HOME or --cache-dir to another folder",
            )


def _find_missing_tools() -> Iterator[Finding]:
    if shutil.which("git") is None:
        yield Finding("optional", "note", "git", "runs cannot record the commit", "install git")
    for module, (purpose, fix) in _OPTIONAL.items():
        if importlib.util.find_spec(module) is None:
            yield Finding("optional", "note", module, f"not installed; needed for {purpose}", fix)
