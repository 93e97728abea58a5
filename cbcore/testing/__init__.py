"""For authors of plugins: check a plugin against the contract, and test it with fakes.

    from cbcore.testing import check_plugin

    def test_conformance():
        check_plugin("cb-brevity").assert_ok()

Nothing here is loaded unless it is asked for. `pytest_plugins = ["cbcore.testing"]` in a test
module or the top-most conftest.py adds the fixtures `cb_runner` and `tmp_plugin`; importing
this package does not import pytest. It holds no tests to rewrite: PYTEST_DONT_REWRITE.
"""

from cbcore.testing._cases import Case, Given
from cbcore.testing._checking import check_plugin
from cbcore.testing._fakes import (
    AsyncFakeSystem,
    BrokenDataset,
    FakeDataset,
    FakeEvaluator,
    FakeSystem,
    FaultyEvaluator,
    FaultySystem,
    MutatingSystem,
    SlowSystem,
    WrongSystem,
)
from cbcore.testing._hosts import catalog_from
from cbcore.testing._report import Report, Verdict
from cbcore.testing._rule import Unchecked, rule

__all__ = [
    "AsyncFakeSystem",
    "BrokenDataset",
    "Case",
    "FakeDataset",
    "FakeEvaluator",
    "FakeSystem",
    "FaultyEvaluator",
    "FaultySystem",
    "Given",
    "MutatingSystem",
    "Report",
    "SlowSystem",
    "Unchecked",
    "Verdict",
    "WrongSystem",
    "catalog_from",
    "check_plugin",
    "rule",
]

pytest_plugins = ["cbcore.testing.fixtures"]
"""Read by pytest alone, when tests name this package as a plugin."""
