"""Numbers over all documents: by hand, and by the libraries that define them."""

from __future__ import annotations

import math

import pytest

from cb_suites.engine.aggregations import AGGREGATIONS

BY_HAND = [
    ("mean", [1, 0, 1, 0], 0.5),
    ("nanmean", [1.0, math.nan, 0.0], 0.5),
    ("median", [3, 1, 2, 9], 3),
    ("perplexity", [-1.0, -3.0], math.exp(2)),
    ("weighted_perplexity", [(-6.0, 2), (-2.0, 2)], math.exp(2)),
    ("bits_per_byte", [(-math.log(2) * 6, 3)], 2.0),
    ("brier_score", [(0, [0.5, 0.5]), (1, [0.0, 1.0])], 0.25),
    ("bypass", [None], 999),
]


@pytest.mark.parametrize(("name", "items", "value"), BY_HAND)
def test_a_number_made_by_hand(name, items, value):
    """The definition, worked out on paper."""
    assert AGGREGATIONS[name](items) == pytest.approx(value, abs=1e-12)


def test_classes_are_scored_by_scikit_learn():
    """Two of three right, one class always said: F1 0.8, no correlation at all."""
    pytest.importorskip("sklearn")
    pairs = [(1, 1), (1, 1), (0, 1)]
    assert AGGREGATIONS["f1"](pairs) == pytest.approx(0.8)
    assert AGGREGATIONS["matthews_corrcoef"](pairs) == 0.0


@pytest.mark.parametrize(
    ("name", "best"), [("bleu", 100), ("chrf", 100), ("chrf++", 100), ("ter", 0)]
)
def test_translations_are_scored_by_sacrebleu(name, best):
    """A reference that is met, also as one of a list of references."""
    pytest.importorskip("sacrebleu")
    said = "the cat sees the dog at the lake"
    assert AGGREGATIONS[name]([[said, said]]) == pytest.approx(best)
    assert AGGREGATIONS[name]([[[said], [said]]]) == pytest.approx(best)
