"""A catalog of given plugins, treated as if they were installed."""

from __future__ import annotations

from types import ModuleType

import pytest

from cb_testing import FakeDataset, FakeEvaluator, FakeSystem, catalog_from
from cbcore.exceptions import UnknownComponentError
from cbcore.settings import RunSettings
from cbcore.settings.compose import compose
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
    catalog = catalog_from(component("evaluator", Evaluator), Hooks())
    assert [c.name for c in catalog.components()] == ["subject", "subject"]
    assert [plugin.name for plugin in catalog.plugins] == ["components", "hooks"]
    with pytest.raises(UnknownComponentError):
        catalog.find("system", "identity")


def test_a_module_made_by_hand_is_a_plugin():
    """It need not be importable."""
    module = ModuleType("my_hooks")
    module.cb_evaluators = lambda: [component("evaluator", Evaluator)]
    found = catalog_from(module).find("evaluator", "my-hooks/subject")
    assert found.load() is Evaluator


def test_plugins_of_one_name_are_told_apart():
    """Two objects of one class are two plugins."""
    catalog = catalog_from(Hooks(), Hooks(), [component("evaluator", Evaluator)])
    assert [plugin.name for plugin in catalog.plugins] == ["hooks", "hooks-2", "components"]
    assert len(catalog.components()) == 3


def test_a_plugin_that_breaks_the_contract_is_set_aside():
    """As an installed one would be, with the reason."""

    class Wrong:
        def cb_dataset(self):
            return []

    catalog = catalog_from(Wrong(), Hooks())
    assert [c.plugin for c in catalog.components()] == ["hooks"]
    assert catalog.plugins[0].state == "broken"
    assert catalog.plugins[0].remedy == "did you mean cb_datasets?"


def test_a_run_uses_the_catalog_and_calls_its_hooks():
    """From name to row, without anything installed being imported."""
    hooks = Hooks()
    catalog = catalog_from(hooks, component("tokenizer", "cbcore.tokens:Words"))
    request = RunSettings(
        systems=[FakeSystem()],
        datasets=["subject"],
        evaluators=[FakeEvaluator()],
        metrics=[],
        tokenizer="subject",
    )
    result = compose(request, catalog).run()
    assert [row.scores for row in result.rows] == [{"f1": 1.0}] * 3
    assert hooks.rows == [0, 1, 2]
