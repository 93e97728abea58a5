"""Datasets with their scorers: which score their rows should have, and how they are read."""

from __future__ import annotations

import pytest

from cb_testing import FakeDataset, FakeEvaluator
from cbcore._run.benchmark import Benchmark, replayed
from cbcore._run.parts import Part
from cbcore._run.scorers import Scorer


class Silent(FakeEvaluator):
    """Does not say what it emits."""

    def __init__(self):
        super().__init__()
        self.emits = ()


F1 = Scorer.of(Part(FakeEvaluator({"f1": 1.0})))
OTHER = Scorer.of(Part(FakeEvaluator({"other": 1.0})))
SILENT = Scorer.of(Part(Silent()))


@pytest.mark.parametrize(
    ("benchmark", "expected"),
    [
        (Benchmark("d", [], [F1]), "f1"),
        (Benchmark("d", [], [OTHER, F1]), "f1"),
        (Benchmark("d", [], [OTHER]), "f1"),
        (Benchmark("d", [], [OTHER, SILENT]), None),
        (Benchmark("d", []), None),
        (Benchmark("d", [], [F1], pooled=[F1]), None),
        (Benchmark("d", [], [F1], required=False), "f1"),
        (Benchmark("d", [], [OTHER], required=False), None),
    ],
)
def test_the_main_score_is_expected_where_it_can_be_missed(benchmark, expected):
    """Not where an evaluator does not say what it emits, nor of tasks with scores of their own."""
    assert benchmark.expected_score("f1") == expected


def test_every_pass_reads_the_same_examples_though_they_are_pulled_once():
    """And no more of them than are wanted."""
    endless = FakeDataset(None)
    with replayed([Benchmark("d", endless)], limit=3, passes=2) as (examples,):
        assert [e["id"] for e in examples] == [e["id"] for e in examples] == [0, 1, 2]
    assert endless.pulled == 3
