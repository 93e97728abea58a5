"""The smallest budget by bisection: the answer of the grid, for fewer calls."""

from __future__ import annotations

import math

import pytest

from cbcore import evaluate
from cbcore.exceptions import RunStoppedError

N = 12
DATA = [{"id": i, "context": " ".join(["word"] * 40), "need": i % 12} for i in range(N * 5)]


class Cut:
    """Keeps `budget` words."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.name = "cut"
        self.asked = 0

    def process(self, example):
        return {
            "context": " ".join(example["context"].split()[: self.budget]),
            "response": "y" * (self.budget > example["need"]),
        }


class Whole:
    name = "whole"

    def process(self, example):
        return {"response": "y"}


class Answered:
    """1 for an answer."""

    name = "answered"
    emits = ("f1",)

    def score(self, original, processed):
        return {"f1": float(bool(processed["response"]))}


def run(spec, **settings):
    return evaluate(
        [Whole(), f"py:{__file__}:Cut,{spec}"], DATA, [Answered()], progress=False, **settings
    )


@pytest.mark.parametrize("margin", [0.05, 0.2, 0.4])
def test_it_finds_what_the_grid_finds(margin):
    """The smallest point that will do is the same, with about log2 as many points run."""
    grid = run("budget=1..16/1", margin=margin)
    searched = run("budget=1..16/1", margin=margin, adaptive=True)
    assert len(searched.systems) - 1 <= math.ceil(math.log2(17))

    def smallest(result):
        line = result.sections["budget_curves"].lines[0]
        return line["smallest_value"]

    assert smallest(searched) == smallest(grid) is not None


def test_a_budget_that_loses_nothing_on_few_examples_is_not_taken_for_enough():
    """60 that score alike do not rule a loss of 0.01 out: every larger budget is tried."""
    result = run("budget=13..16/1", margin=0.01, adaptive=True)
    assert result.summary["Cut 16"]["mean_score"] == 1.0
    assert result.sections["budget_curves"].lines[0]["smallest_value"] is None


def test_it_says_what_was_saved():
    """Points and calls that were not needed."""
    result = run("budget=1..16/1", adaptive=True)
    ran = len(result.systems) - 1
    told = f"Cut: {ran} of 16 points were run, which saved {(16 - ran) * 60} of 960 calls"
    assert told in result.problems
    assert len(result.rows) == (ran + 1) * 60


def test_where_no_budget_will_do_it_says_so():
    """Only the larger half is tried, and the section has no budget to name."""
    result = run("budget=1..5/1", margin=0.05, adaptive=True)
    assert result.sections["budget_curves"].lines[0]["smallest_value"] is None


def test_without_a_whole_context_there_is_nothing_to_compare_with():
    """The message says what to add."""
    with pytest.raises(RunStoppedError, match="no system beside the families"):
        evaluate(
            [f"py:{__file__}:Cut,budget=1..4/1"], DATA, [Answered()], progress=False, adaptive=True
        )
