"""A host from given plugins: what it holds is what it was given, treated as if installed."""

from __future__ import annotations

from types import ModuleType

import pytest

from cb_testing import FakeDataset, FakeEvaluator, FakeSystem, catalog_from
from cbcore.exceptions import UnknownComponentError
from cbcore.request import Request
from cbcore.request._compose import compose
from tests.components import Evaluator, component


class Hooks:
    """Offers a dataset and watches runs."""

    def __init__(self):
        self.rows = []

    def cb_datasets(self):
        return [component("dataset", FakeDataset)]

    def cb_row_finished(self, row):
        self.rows.append(row.example_id)


def test_only_what_is_given_is_there():
    """Installed plugins are not looked at."""
    host = catalog_from(component("evaluator", Evaluator), Hooks())
    assert [c.name for c in host.components()] == ["subject", "subject"]
    assert [plugin.name for plugin in host.plugins] == ["components", "hooks"]
    with pytest.raises(UnknownComponentError):
        host.find("system", "identity")


def test_a_module_made_by_hand_is_a_plugin():
    """It need not be importable."""
    module = ModuleType("my_hooks")
    module.cb_evaluators = lambda: [component("evaluator", Evaluator)]
    found = catalog_from(module).find("evaluator", "my-hooks/subject")
    assert found.load() is Evaluator


def test_plugins_of_one_name_are_told_apart():
    """Two objects of one class are two plugins."""
    host = catalog_from(Hooks(), Hooks(), [component("evaluator", Evaluator)])
    assert [plugin.name for plugin in host.plugins] == ["hooks", "hooks-2", "components"]
    assert len(host.components()) == 3


def test_a_plugin_that_breaks_the_contract_is_set_aside():
    """As an installed one would be, with the reason."""

    class Wrong:
        def cb_dataset(self):
            return []

    host = catalog_from(Wrong(), Hooks())
    assert [c.plugin for c in host.components()] == ["hooks"]
    assert host.plugins[0].state == "broken"
    assert host.plugins[0].remedy == "did you mean cb_datasets?"


def test_a_run_uses_the_host_and_calls_its_observers():
    """From name to row, without anything installed being imported."""
    hooks = Hooks()
    host = catalog_from(hooks, component("tokenizer", "cbcore.tokens:Words"))
    request = Request(
        systems=[FakeSystem()],
        datasets=["subject"],
        evaluators=[FakeEvaluator()],
        metrics=[],
        tokenizer="subject",
        host=host,
    )
    result = compose(request).execute()
    assert [row.scores for row in result.rows] == [{"f1": 1.0}] * 3
    assert hooks.rows == [0, 1, 2]
