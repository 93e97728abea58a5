"""Who scores what: evaluators chosen for a dataset, and shared between datasets."""

from __future__ import annotations

import pytest

from cb_testing import FakeDataset, FakeEvaluator
from cbcore._build.builder import Builder
from cbcore._build.wiring import shared, wire
from cbcore._run.parts import Part
from cbcore.components import Component, Owner
from cbcore.plugins.catalog import Catalog
from cbcore.plugins.installed import read_distributions
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
    return Part(FakeEvaluator(), {"digest": digest}, component)


def given(evaluator, digest):
    return Part(evaluator, {"digest": digest})


def test_parts_made_by_name_are_shared_when_their_records_are_the_same():
    """An object that was given stands for itself only."""
    evaluator = FakeEvaluator()
    first, own = made("a"), given(evaluator, "a")
    among = [first, own]
    assert shared(made("a"), among) is first
    assert shared(given(evaluator, "b"), among) is own
    others = [made("b"), given(FakeEvaluator(), "a")]
    assert [shared(other, among) for other in others] == others
    assert among == [first, own, *others]


def dataset(name="d"):
    return Part(FakeDataset(name=name), {"name": name})


def wired(builder, *, evaluators=None, asked=None, added=(), warn=pytest.fail, data=None):
    evaluators = [] if evaluators is None else evaluators
    return wire(data or dataset(), builder, evaluators, asked=asked, added=added, warn=warn)


def test_evaluators_that_apply_are_chosen_and_added_ones_join(builder, installed):
    """What was chosen passes over rows it cannot score; what was added was asked for."""
    installed("for-all", ForAll)
    installed("for-code", ForCode)
    source = wired(builder, added=[FakeEvaluator()])
    assert [(s.part.name, s.automatic) for s in source.scorers] == [
        ("for-all", True),
        ("fake", False),
    ]
    assert (source.tag, source.contained, source.pooled) == ("d", False, ())


def test_where_no_evaluator_applies_that_is_told(builder):
    """Its rows will have no scores."""
    told = []
    assert wired(builder, warn=told.append).scorers == []
    assert told == ["no installed evaluator applies to d: its rows will not be scored"]


def test_only_those_asked_for_score_every_dataset(builder, installed):
    """They are made once, whatever else is installed."""
    installed("for-all", ForAll)
    evaluators, made = [], []
    installed("counted", lambda: made.append(1) or FakeEvaluator(name="counted"))
    sources = [
        wired(builder, evaluators=evaluators, asked=["counted"], data=dataset(name))
        for name in ("d", "e")
    ]
    first, second = (source.scorers for source in sources)
    assert [s.part for s in first] == [s.part for s in second] == evaluators
    assert (len(made), first[0].automatic) == (1, False)
    assert first[0].key != second[0].key


def test_equal_evaluators_of_two_datasets_are_one_part(builder, installed):
    """What holds connections or caches is there once; other parameters make another."""
    installed("for-all", ForAll)
    evaluators = []
    first = wired(builder, evaluators=evaluators)
    second = wired(builder, evaluators=evaluators, added=["for-all:threshold=0.9"])
    assert first.scorers[0].part is second.scorers[0].part
    assert [part.value.threshold for part in evaluators] == [0.5, 0.9]


def test_objects_are_shared_only_with_themselves():
    """Two of one class may differ in what nobody can see."""
    parts = [Part(FakeEvaluator(), {"digest": "same"}) for _ in range(2)]
    among = []
    assert [shared(part, among) for part in (*parts, *parts)] == [*parts, *parts]
    assert shared(Part(parts[0].value), among) is parts[0]
    assert among == parts
