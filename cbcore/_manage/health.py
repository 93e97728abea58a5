"""What `cb doctor` looks at: the environment, and everything in it that needs fixing."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import cbcore
from cb_testing.inspection import Report
from cb_testing.metadata_rules import Finding, check_distribution, find_name_conflicts
from cbcore import names
from cbcore.plugins.catalog import Catalog, Plugin
from cbcore.plugins.descriptions import cache_file
from cbcore.plugins.installed import CORE, Distribution, installed_version, iter_distributions

SLOW_MS = 1000.0
"""An import that takes longer is worth a word."""

_OPTIONAL = {
    "datasets": ("datasets from the hub", f"pip install '{CORE}[hf]'"),
    "pyarrow": ("Parquet files", f"pip install '{CORE}[parquet]'"),
    "pandas": ("results as data frames", f"pip install '{CORE}[dataframe]'"),
}


def environment() -> dict[str, Any]:
    """The interpreter, the machine, and the versions everything here rests on."""
    return {
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "cbcore": cbcore.__version__,
        "location": str(Path(cbcore.__file__).parent),
        **{name: installed_version(name) for name in ("pluggy", "click", "attrs")},
    }


def diagnose(
    catalog: Catalog, reports: Mapping[str, Report], folders: Iterable[Path]
) -> list[Finding]:
    """Everything that needs fixing or is worth knowing, worst first.

    `reports` are those of trying the plugins. `folders` are those that must be writable besides
    the cache of descriptions.
    """
    distributions = list(iter_distributions())
    installed: dict[str, str] = {}
    for distribution in distributions:
        installed.setdefault(names.canonical(distribution.name), distribution.version)
    ours = [distribution for distribution in distributions if distribution.is_plugin]
    found = [
        finding for distribution in ours for finding in check_distribution(distribution, installed)
    ]
    told = {f.subject for f in found if f.severity == "error"}
    found += [f for f in _plugins(catalog.plugins, reports) if f.subject not in told]
    found += find_name_conflicts(catalog.plugins)
    found += _copies(ours)
    found += _leftovers(distributions)
    found += _unwritable([cache_file().parent, *folders])
    found += _missing_tools()
    order = ("error", "warning", "note")
    return sorted(found, key=lambda finding: order.index(finding.severity))


def _plugins(plugins: Sequence[Plugin], reports: Mapping[str, Report]) -> Iterator[Finding]:
    for plugin in plugins:
        import_ms = reports[plugin.name].import_ms if plugin.name in reports else None
        if plugin.status == "broken":
            yield Finding(plugin.state, "error", plugin.name, plugin.reason, plugin.remedy)
        elif import_ms is not None and import_ms > SLOW_MS:
            yield Finding(
                "slow",
                "warning",
                plugin.name,
                f"importing it took {import_ms / 1000:.1f} s",
                "its author should import what is heavy where it is used",
            )


def _copies(distributions: Sequence[Distribution]) -> Iterator[Finding]:
    """Distributions found more than once: two versions in one folder, or one in two folders."""
    places: dict[str, list[Distribution]] = {}
    for distribution in distributions:
        places.setdefault(names.canonical(distribution.name), []).append(distribution)
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


def _leftovers(distributions: Iterable[Distribution]) -> Iterator[Finding]:
    for distribution in distributions:
        if distribution.folder is not None and distribution.folder.name.startswith("~"):
            problem = "an interrupted installation left it behind"
            fix = f"delete {distribution.folder}"
            yield Finding("leftover", "warning", distribution.folder.name, problem, fix)


def _unwritable(folders: Iterable[Path]) -> Iterator[Finding]:
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


def _missing_tools() -> Iterator[Finding]:
    if shutil.which("git") is None:
        yield Finding("optional", "note", "git", "runs cannot record the commit", "install git")
    for module, (purpose, fix) in _OPTIONAL.items():
        if importlib.util.find_spec(module) is None:
            yield Finding("optional", "note", module, f"not installed; needed for {purpose}", fix)
