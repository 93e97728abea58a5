"""Examples that are drawn again, and the claim of non-inferiority."""

from __future__ import annotations

import random
import statistics

import pytest

from cb_compare.noninferiority import judge
from cb_compare.resampling import front_shares
from cbcore.stats import Estimate


def test_equal_systems_share_the_front():
    """Neither dominates the other, however the examples are drawn."""
    point = [0.5, 1.0, 0.0], [10, 20, 30]
    assert front_shares({"a": point, "b": point}) == {"a": 1.0, "b": 1.0}


def test_the_front_says_how_sure_it_is():
    """A difference that half of the draws turn round is on it half of the time."""
    chance = random.Random(1)
    noise = [chance.gauss(0, 1) for _ in range(50)]
    centred = [x - sum(noise) / 50 for x in noise]
    found = front_shares({"a": ([0.0] * 50, [1] * 50), "b": (centred, [1] * 50)}, seed=2)
    assert found["a"] == pytest.approx(0.5, abs=0.06)
    assert found["a"] + found["b"] == pytest.approx(1)
    assert front_shares({"a": ([], []), "b": ([], [])}) == {}


@pytest.mark.parametrize("n", [60, 4000])
def test_a_gap_of_one_standard_error_is_reversed_in_one_draw_of_six(n):
    """As in the normal distribution, for sorted examples and for more than are drawn one by one."""
    chance = random.Random(3)
    noise = sorted(chance.gauss(0, 1) for _ in range(n))
    mean = statistics.fmean(noise)
    gap = statistics.pstdev(noise) / n**0.5
    points = {"a": ([0.0] * n, [1] * n), "b": ([x - mean + gap for x in noise], [1] * n)}
    assert front_shares(points)["a"] == pytest.approx(0.159, abs=0.03)


def test_only_systems_that_none_dominates_are_on_the_front():
    """Equal points are on it together; a point that is worse in one value and equal in the other is not."""
    values = {
        "a": (0.5, 10),
        "dearer": (0.5, 20),
        "worse": (0.4, 10),
        "b": (0.6, 30),
        "c": (0.5, 10),
    }
    points = {name: ([score] * 9, [cost] * 9) for name, (score, cost) in values.items()}
    found = front_shares(points)
    assert found == {"a": 1.0, "dearer": 0.0, "worse": 0.0, "b": 1.0, "c": 1.0}


def test_clusters_are_drawn_whole():
    """Two clusters that disagree turn the order round far more often than sixty examples."""
    scores = [0.5] * 40 + [-0.5] * 20
    points = {"a": ([0.0] * 60, [1] * 60), "b": (scores, [1] * 60)}
    alone = front_shares(points, seed=1)["a"]
    assert front_shares(points, [0] * 40 + [1] * 20, seed=1)["a"] > alone + 0.1


def test_non_inferiority_is_that_of_the_textbook():
    """Difference -0.005, error 0.01, margin 0.02: z = 1.5, p = 0.0668, bound -0.0214."""
    seen = Estimate(-0.005, 0.01, 1000)
    found = judge(seen, seen, 1e9, 0.02)
    assert found.verdict == "inconclusive"
    assert found.lower == pytest.approx(-0.0214485, abs=1e-6)
    assert found.p_value == pytest.approx(0.0668072, abs=1e-6)
    assert found.needed == pytest.approx(
        1000 * (1.6448536 + 0.8416212) ** 2 * (0.01 / 0.015) ** 2, abs=1
    )
