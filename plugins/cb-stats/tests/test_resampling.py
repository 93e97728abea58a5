"""Shuffled signs and drawn examples: seeded, and calibrated."""

from __future__ import annotations

import random

import pytest

from cb_stats.noninferiority import judge
from cb_stats.resampling import front_shares, permutation_p_value
from cbcore.stats import Estimate

MAIZE = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]


def test_shuffles_come_close_to_every_arrangement():
    """Darwin's maize (Fisher 1935) has p = 0.0527; doubled, so that it is not enumerated."""
    assert permutation_p_value(MAIZE) == (1726 / 32768, "exact-permutation")
    chance = random.Random(3)
    many = [chance.gauss(0.1, 0.4) for _ in range(60)]
    p, test = permutation_p_value(many)
    assert test == "permutation"
    exact_enough = permutation_p_value(many, n_shuffles=200_000, seed=9)[0]
    assert p == pytest.approx(exact_enough, abs=0.012)


def test_the_same_seed_gives_the_same_p_value():
    """And another seed one that is close."""
    chance = random.Random(3)
    many = [chance.gauss(0.1, 0.4) for _ in range(60)]
    assert permutation_p_value(many, seed=4) == permutation_p_value(many, seed=4)
    assert permutation_p_value(many, seed=4)[0] == pytest.approx(
        permutation_p_value(many, seed=5)[0], abs=0.02
    )


def test_what_rounding_leaves_of_equal_scores_is_no_difference():
    """As in the tables of a run: the test is that of scores of 0 and 1."""
    changed = [1.0] * 12 + [-1.0] * 8
    rounded = [0.1 + 0.2 - 0.3] * 30
    assert permutation_p_value(changed + rounded) == permutation_p_value(changed)
    assert permutation_p_value(changed + rounded)[1] == "mcnemar-mid-p"


def test_many_differences_are_tested_by_t():
    """A hundred thousand rows in well under a second, and the same answer."""
    chance = random.Random(3)
    many = [chance.gauss(0.005, 0.4) for _ in range(6_000)]
    p, test = permutation_p_value(many)
    assert test == "t"
    assert p == pytest.approx(permutation_p_value(many[:5_000])[0], abs=0.3)


def test_noise_is_called_a_difference_one_time_in_twenty():
    """At 5 %, over 400 samples of pure noise."""
    chance = random.Random(11)
    called = sum(
        permutation_p_value([chance.gauss(0, 1) for _ in range(25)], seed=i, n_shuffles=999)[0]
        <= 0.05
        for i in range(400)
    )
    assert 0.025 < called / 400 < 0.08


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
