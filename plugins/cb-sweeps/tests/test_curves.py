"""What is read off a curve, against sums made by hand and by numpy."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_sweeps.curves import Curve, area, at, knee
from cb_sweeps.smallest import smallest_budget


@pytest.mark.parametrize(
    ("x", "y"), [(0, 0), (5, 0.25), (10, 0.5), (15, 0.75), (20, 1), (25, math.nan), (-1, math.nan)]
)
def test_heights_between_points(x, y):
    """Straight between points, nothing beyond the ends."""
    found = at(x, [0, 10, 20], [0, 0.5, 1])
    assert found == y or (math.isnan(found) and math.isnan(y))


def test_area_by_hand():
    """From 0 to 10 it rises to 1, then stays: mean height (0.5·10 + 1·10) / 20 = 0.75."""
    assert area([0, 10, 20], [0, 1, 1], 0, 20) == 0.75
    assert area([0, 10, 20], [0, 1, 1], 5, 15) == pytest.approx((0.75 * 5 + 1 * 5) / 10)


@given(
    st.lists(st.floats(0, 1), min_size=3, max_size=8),
    st.floats(0.05, 0.45),
    st.floats(0.55, 0.95),
)
def test_area_is_that_of_the_trapezoids(ys, low, high):
    """The same as numpy's interpolation, summed finely."""
    xs = np.linspace(0, 1, len(ys))
    fine = np.union1d(np.linspace(low, high, 50), xs[(xs > low) & (xs < high)])
    expected = np.trapezoid(np.interp(fine, xs, ys), fine) / (high - low)
    assert area(list(xs), ys, low, high) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("ys", "index"),
    [
        ([0.0, 0.8, 0.9, 1.0], 1),
        ([0.0, 0.1, 0.9, 1.0], 2),
        ([0.0, 1 / 3, 2 / 3, 1.0], None),
        ([0.5, 0.5, 0.5, 0.5], None),
        ([1.0, 0.5, 0.2, 0.0], None),
    ],
)
def test_the_knee_is_where_it_bends(ys, index):
    """Farthest above the line between the ends; a straight or falling curve has none."""
    assert knee([0, 1, 2, 3], ys) == index


def curve(scores, budgets=(10, 20, 30)):
    return Curve("c", budgets, [f"c {b}" for b in budgets], list(budgets), scores)


def test_the_smallest_budget_by_hand():
    """20 examples: full is always 1. 30 loses none, 20 one, 10 half of them.

    With one more that gains and one that loses, the mean loss for 20 is 1/22 with a standard
    error of 0.0781, so that the bound is -0.0455 - 1.729 · 0.0781 = -0.181. For 30 it is
    -1.729 · √2/22 = -0.111: that so many lose nothing does not rule a tenth out.
    """
    full = [1.0] * 20
    points = curve([[0.0] * 10 + [1.0] * 10, [0.0] + [1.0] * 19, [1.0] * 20])
    assert smallest_budget(points, full, 0.1).index is None
    assert smallest_budget(points, full, 0.12).index == 2
    assert smallest_budget(points, full, 0.17).index == 2
    assert smallest_budget(points, full, 0.19).index == 1
    assert smallest_budget(points, full, 0.6).index == 1
    assert smallest_budget(points, full, 0.75).index == 0


def test_scores_that_can_be_anything_and_do_not_differ_rule_nothing_out():
    """Nobody knows how much others would lose."""
    assert smallest_budget(curve([[7.0] * 200] * 3), [7.0] * 200, 0.5).index is None


def test_a_lucky_small_budget_does_not_count():
    """A point is good enough only if every greater one is."""
    full = [1.0] * 20
    points = curve([[1.0] * 20, [0.0] * 20, [1.0] * 20])
    assert smallest_budget(points, full, 0.15).index == 2


def test_without_one_that_will_do_there_is_none():
    """None, and the range of samples says so too."""
    found = smallest_budget(curve([[0.0] * 20] * 3), [1.0] * 20, 0.05)
    assert found.index is None
    assert found.low == math.inf


def test_the_range_covers_what_other_samples_would_say():
    """Of 200 samples of a known truth, 90 % ranges hold the true smallest budget most times."""
    random = np.random.default_rng(7)
    chances = [0.6, 0.78, 0.9, 0.9]  # of answering right; full 0.9, margin 0.05: truth is 30
    covered = 0
    for seed in range(200):
        draws = random.random(150)
        scores = [[float(d < chance) for d in draws] for chance in chances]
        found = smallest_budget(curve(scores, (10, 20, 30, 40)), scores[3], 0.05, None, seed=seed)
        covered += found.low <= 30 <= found.high
    assert covered >= 0.9 * 200


def test_grouped_examples_are_drawn_together(monkeypatch):
    """One group holds every loss: a sample without the group has none. No array library is needed."""
    monkeypatch.setitem(sys.modules, "numpy", None)
    full = [1.0] * 20
    points = curve([[0.0] * 5 + [1.0] * 15, [0.0] * 5 + [1.0] * 15, full])
    groups = [0] * 5 + [1] * 5 + [2] * 5 + [3] * 5
    found = smallest_budget(points, full, 0.05, groups)
    assert (found.low, found.high) == (10, 30)
