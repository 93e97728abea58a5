"""Datasets with their scorers: which score their rows should have, and how they are read."""

from __future__ import annotations

import pytest

from cb_testing import FakeDataset, FakeEvaluator
from cbcore._run.parts import Part
from cbcore._run.scorers import Scorer
from cbcore._run.sources import Source, replayed


class Silent(FakeEvaluator):
    """Does not say what it emits."""

    def __init__(self):
        super().__init__()
        self.emits = ()


F1 = Scorer.of(Part(FakeEvaluator({"f1": 1.0})))
OTHER = Scorer.of(Part(FakeEvaluator({"other": 1.0})))
SILENT = Scorer.of(Part(Silent()))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (Source("d", [], [F1]), "f1"),
        (Source("d", [], [OTHER, F1]), "f1"),
        (Source("d", [], [OTHER]), "f1"),
        (Source("d", [], [OTHER, SILENT]), None),
        (Source("d", []), None),
        (Source("d", [], [F1], pooled=[F1]), None),
        (Source("d", [], [F1], contained=True), "f1"),
        (Source("d", [], [OTHER], contained=True), None),
    ],
)
def test_the_main_score_is_expected_where_it_can_be_missed(source, expected):
    """Not where an evaluator does not say what it emits, nor of tasks with scores of their own."""
    assert source.expected_score("f1") == expected


def test_every_pass_reads_the_same_examples_though_they_are_pulled_once():
    """And no more of them than are wanted."""
    endless = FakeDataset(None)
    with replayed([Source("d", endless)], limit=3, passes=2) as (examples,):
        assert [e["id"] for e in examples] == [e["id"] for e in examples] == [0, 1, 2]
    assert endless.pulled == 3
