"""Do intervals hold what they promise? Seeded simulations, with the known exceptions named."""

from __future__ import annotations

import random
from math import comb

import pytest

from cbcore.stats import mean_of, paired_p_value, rate_of, ratio_of

N_RUNS = 2000


def covers(draw, truth):
    """The share of intervals that hold the true value, of so many samples."""
    chance = random.Random(20240607)
    held = 0
    for _ in range(N_RUNS):
        low, high = draw(chance).interval
        held += low <= truth <= high
    return held / N_RUNS


@pytest.mark.parametrize("n", [10, 40])
def test_intervals_of_means(n):
    """95 % of those of Student's t, also for scores that are far from normal."""
    share = covers(lambda c: mean_of([c.uniform(0, 1) for _ in range(n)]), 0.5)
    assert 0.93 < share < 0.97


@pytest.mark.parametrize("rate", [0.5, 0.7, 0.9])
@pytest.mark.parametrize("n", [20, 50, 100, 300])
def test_intervals_of_rates(n, rate):
    """Wilson's, summed up exactly; being discrete they may cover up to 98 %."""
    share = 0.0
    for k in range(n + 1):
        low, high = rate_of([1.0] * k + [0.0] * (n - k)).interval
        share += comb(n, k) * rate**k * (1 - rate) ** (n - k) * (low <= rate <= high)
    assert 0.93 < share < 0.98


def clustered(chance, n_clusters, size, between):
    values, groups = [], []
    for cluster in range(n_clusters):
        shift = chance.gauss(0, between)
        values += [shift + chance.gauss(0, 1) for _ in range(size)]
        groups += [cluster] * size
    return values, groups


@pytest.mark.parametrize("n_clusters", [10, 30])
def test_intervals_of_clustered_means(n_clusters):
    """CR1 with t of C - 1 degrees holds at ten clusters too."""
    share = covers(lambda c: mean_of(*clustered(c, n_clusters, 8, 0.5)), 0.0)
    assert 0.925 < share < 0.97


def test_without_clusters_the_same_data_would_look_much_too_sure():
    """That is why they are asked for."""
    share = covers(lambda c: mean_of(clustered(c, 10, 8, 0.5)[0]), 0.0)
    assert share < 0.85


def test_intervals_of_ratios():
    """Fieller's, of tokens kept, where long contexts lose more."""

    def draw(chance):
        below = [chance.uniform(100, 500) for _ in range(20)]
        above = [y * chance.uniform(0.2, 0.6) for y in below]
        return ratio_of(above, below)

    assert 0.93 < covers(draw, 0.4) < 0.97


@pytest.mark.parametrize("n", [12, 40])
def test_noise_is_rarely_called_a_difference(n):
    """At 5 %, about one in twenty, and with few examples fewer."""
    chance = random.Random(7)
    called = sum(
        paired_p_value([chance.choice([-1, -0.5, 0, 0.5, 1]) for _ in range(n)]) <= 0.05
        for _ in range(1000)
    )
    assert called / 1000 < 0.07


def test_a_planted_difference_is_found():
    """0.2 with a deviation of 0.4 on 60 examples: nearly always."""
    chance = random.Random(7)
    found = sum(
        paired_p_value([chance.gauss(0.2, 0.4) for _ in range(60)]) <= 0.05 for _ in range(300)
    )
    assert found / 300 > 0.9
