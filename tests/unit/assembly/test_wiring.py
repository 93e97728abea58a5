"""Who scores what: evaluators chosen for a dataset, and shared between datasets."""

from __future__ import annotations

import pytest

from cb_testing import FakeDataset, FakeEvaluator
from cbcore.assembly.builder import Builder
from cbcore.assembly.wiring import wire
from cbcore.components import Built, Component, Owner
from cbcore.plugins import Catalog, read_distributions
from cbcore.plugins.policy import PluginPolicy
from cbcore.registry import registry


@pytest.fixture
def builder():
    """No plugin, and whatever the test registers."""
    return Builder(Catalog(read_distributions([]), PluginPolicy()))


@pytest.fixture
def installed():
    """Registers evaluators by name, and forgets them."""
    registered = []

    def register(name, evaluator):
        registry.register("evaluator", name, evaluator)
        registered.append(name)

    yield register
    for name in registered:
        registry.unregister("evaluator", name)


class ForAll(FakeEvaluator):
    def __init__(self, threshold=0.5):
        super().__init__({"all": threshold}, name="for-all")
        self.threshold = threshold


class ForCode(FakeEvaluator):
    applies_to = ("code",)


def made(digest):
    """An evaluator as it is made from its name."""
    component = Component("evaluator", "fake", FakeEvaluator, owner=Owner("cb-x", "1"))
    return Built(FakeEvaluator(), {"digest": digest}, component)


def given(evaluator, digest):
    return Built(evaluator, {"digest": digest})


def test_parts_made_by_name_are_shared_when_their_records_are_the_same(builder):
    """An object that was given stands for itself only."""
    evaluator = FakeEvaluator()
    first, own = made("a"), given(evaluator, "a")
    assert [builder.share(part) for part in (first, own)] == [first, own]
    assert builder.share(made("a")) is first
    assert builder.share(given(evaluator, "b")) is own
    others = [made("b"), given(FakeEvaluator(), "a")]
    assert [builder.share(other) for other in others] == others
    assert builder.evaluators == [first, own, *others]


def dataset(name="d"):
    return Built(FakeDataset(name=name), {"name": name})


def build(builder, *specs):
    return [builder.build("evaluator", spec) for spec in specs]


def test_evaluators_that_apply_are_chosen_and_named_ones_join(builder, installed):
    """What was chosen passes over rows it cannot score; what was named was asked for."""
    installed("for-all", ForAll)
    installed("for-code", ForCode)
    benchmark = wire(dataset(), builder, build(builder, FakeEvaluator()))
    assert [(built.name, built.is_automatic) for built in benchmark.evaluators] == [
        ("for-all", True),
        ("fake", False),
    ]
    assert (benchmark.name, benchmark.required, benchmark.repeats) == ("d", True, None)


def test_an_evaluator_that_a_plugin_adds_scores_once(builder, installed):
    """It may have joined by itself."""
    installed("for-all", ForAll)
    benchmark = wire(dataset(), builder, build(builder, "for-all"))
    assert [(built.name, built.is_automatic) for built in benchmark.evaluators] == [
        ("for-all", True)
    ]


def test_a_warning_names_data_without_evaluator(builder):
    """Its rows will have no scores."""
    warnings = []
    builder.warn = warnings.append
    assert wire(dataset(), builder).evaluators == []
    assert warnings == ["no installed evaluator applies to d: its rows will not be scored"]


def test_only_those_named_score_every_dataset(builder, installed):
    """Whatever else is installed."""
    installed("for-all", ForAll)
    installed("other", lambda: FakeEvaluator(name="other"))
    named = build(builder, "other")
    first, second = (
        wire(dataset(name), builder, named, automatic=False).evaluators for name in ("d", "e")
    )
    assert first == second == builder.evaluators
    assert not first[0].is_automatic


def test_equal_evaluators_of_two_datasets_are_one_part(builder, installed):
    """What holds connections or caches is there once; other parameters make another."""
    installed("for-all", ForAll)
    first = wire(dataset(), builder)
    second = wire(dataset(), builder, build(builder, "for-all:threshold=0.9"))
    assert first.evaluators[0].value is second.evaluators[0].value
    assert [part.value.threshold for part in builder.evaluators] == [0.5, 0.9]
