"""For authors of plugins: check a plugin against the contract, and test it with fakes.

    from cb_testing import check_plugin

    def test_conformance():
        check_plugin("cb-brevity").assert_ok()

`pytest_plugins = ["cb_testing"]` in a test module or the top-most conftest.py adds the fixtures
`cb_runner` and `tmp_plugin`. Importing this package imports neither pytest nor the rules. It
contains no tests to rewrite: PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cb_testing.cases import Case as Case
    from cb_testing.cases import Given as Given
    from cb_testing.catalogs import catalog_from as catalog_from
    from cb_testing.checking import check_plugin as check_plugin
    from cb_testing.fakes import AsyncFakeSystem as AsyncFakeSystem
    from cb_testing.fakes import BrokenDataset as BrokenDataset
    from cb_testing.fakes import FakeDataset as FakeDataset
    from cb_testing.fakes import FakeEvaluator as FakeEvaluator
    from cb_testing.fakes import FakeSystem as FakeSystem
    from cb_testing.fakes import FaultyEvaluator as FaultyEvaluator
    from cb_testing.fakes import FaultySystem as FaultySystem
    from cb_testing.fakes import MutatingSystem as MutatingSystem
    from cb_testing.fakes import SlowSystem as SlowSystem
    from cb_testing.fakes import WrongSystem as WrongSystem
    from cb_testing.report import Report as Report
    from cb_testing.report import Verdict as Verdict
    from cb_testing.rule_registry import Unchecked as Unchecked
    from cb_testing.rule_registry import rule as rule

_HOMES = {
    "Case": "cases",
    "Given": "cases",
    "catalog_from": "catalogs",
    "check_plugin": "checking",
    "AsyncFakeSystem": "fakes",
    "BrokenDataset": "fakes",
    "FakeDataset": "fakes",
    "FakeEvaluator": "fakes",
    "FakeSystem": "fakes",
    "FaultyEvaluator": "fakes",
    "FaultySystem": "fakes",
    "MutatingSystem": "fakes",
    "SlowSystem": "fakes",
    "WrongSystem": "fakes",
    "Report": "report",
    "Verdict": "report",
    "Unchecked": "rule_registry",
    "rule": "rule_registry",
}

__all__ = [*sorted(_HOMES)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return resolve_name(f"{__name__}.{_HOMES[name]}:{name}")


pytest_plugins = ["cb_testing.fixtures"]
"""Read by pytest alone, if tests name this package as a plugin."""
