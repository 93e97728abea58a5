"""Do intervals hold what they promise? Seeded simulations, with the known exceptions named."""

from __future__ import annotations

import math
import random
from math import comb
from statistics import NormalDist

import pytest

from cb_metrics.quantiles import quantile_of, quantile_of_clusters
from cb_sweeps.smallest import lower_bound_of
from cbcore.stats import Estimate, compare_pairs
from cbcore.stats.estimates import mean_of, rate_of, ratio_of

N_RUNS = 2000


def covers(draw, truth):
    """The share of intervals that hold the true value, of so many samples."""
    chance = random.Random(20240607)
    held = 0
    for _ in range(N_RUNS):
        low, high = draw(chance).interval or (math.inf, -math.inf)
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


@pytest.mark.parametrize("quantile", [0.5, 0.95])
@pytest.mark.parametrize(("n_clusters", "size"), [(20, 10), (100, 3)])
def test_intervals_of_percentiles_of_clustered_values(n_clusters, size, quantile):
    """As many examples that hang together, or are tried again, as latencies of a run have."""
    share = covers(
        lambda c: quantile_of_clusters(
            *_by_cluster(clustered(c, n_clusters, size, 1.0), quantile), n=n_clusters * size
        ),
        NormalDist(0, math.sqrt(2)).inv_cdf(quantile),
    )
    assert 0.92 < share < 0.975


def _by_cluster(sample, quantile):
    values, groups = sample
    return values, quantile, groups


def test_without_clusters_percentiles_would_look_much_too_sure():
    """The same values, each taken for itself."""
    share = covers(lambda c: quantile_of(clustered(c, 20, 10, 1.0)[0], 0.5), 0.0)
    assert share < 0.75


def test_intervals_of_ratios():
    """Fieller's, of tokens kept, where long contexts lose more."""

    def draw(chance):
        below = [chance.uniform(100, 500) for _ in range(20)]
        above = [y * chance.uniform(0.2, 0.6) for y in below]
        return ratio_of(above, below)

    assert 0.93 < covers(draw, 0.4) < 0.97


@pytest.mark.parametrize(
    ("n", "rate"), [(20, 0.5), (20, 0.9), (40, 0.3), (40, 0.9), (100, 0.1), (100, 0.5)]
)
def test_intervals_of_costs_per_pass(n, rate):
    """Fieller's, also where passes are few."""

    def draw(chance):
        passed = [1.0 if chance.random() < rate else 0.0 for _ in range(n)]
        return ratio_of([chance.uniform(100, 500) for _ in passed], passed)

    assert 0.93 < covers(draw, 300 / rate) < 0.97


@pytest.mark.parametrize(
    ("n", "share", "least"), [(40, 0.2, 0.93), (100, 0.05, 0.93), (100, 0.2, 0.93)]
)
def test_intervals_of_what_is_rarely_saved(n, share, least):
    """Two more are counted where few contexts are cut at all."""

    def draw(chance):
        below = [chance.uniform(100, 500) for _ in range(n)]
        above = [y / 2 if chance.random() < share else 0.0 for y in below]
        return ratio_of(above, below)

    assert least < covers(draw, share / 2)


@pytest.mark.parametrize("n", [12, 40])
def test_noise_is_rarely_called_a_difference(n):
    """At 5 %, about one in twenty, and with few examples fewer."""
    chance = random.Random(7)
    called = sum(
        compare_pairs([chance.choice([-1, -0.5, 0, 0.5, 1]) for _ in range(n)])[0] <= 0.05
        for _ in range(1000)
    )
    assert called / 1000 < 0.07


def test_a_planted_difference_is_found():
    """0.2 with a deviation of 0.4 on 60 examples: nearly always."""
    chance = random.Random(7)
    found = sum(
        compare_pairs([chance.gauss(0.2, 0.4) for _ in range(60)])[0] <= 0.05 for _ in range(300)
    )
    assert found / 300 > 0.9


def changed(chance, n, lost, won, size):
    """Differences of which so large a share is lost, and won, by as much as `size` draws."""
    thrown = [chance.random() for _ in range(n)]
    signs = [-1 if t < lost else 1 if t < lost + won else 0 for t in thrown]
    return [sign * size(chance) if sign else 0.0 for sign in signs]


ALL_OR_NOTHING, IN_PART = (lambda _: 1.0), (lambda chance: chance.uniform(0.3, 1.0))


@pytest.mark.parametrize("n", [10, 40, 100])
@pytest.mark.parametrize(
    ("lost", "won", "size", "mean"),
    [
        (0.02, 0.0, ALL_OR_NOTHING, 1.0),
        (0.05, 0.05, ALL_OR_NOTHING, 1.0),
        (0.2, 0.1, ALL_OR_NOTHING, 1.0),
        (0.4, 0.3, ALL_OR_NOTHING, 1.0),
        (0.1, 0.0, IN_PART, 0.65),
        (0.3, 0.2, IN_PART, 0.65),
    ],
)
def test_intervals_of_paired_differences(n, lost, won, size, mean):
    """Also where few examples differ, or none; there they hold more than 95 %, not fewer."""
    share = covers(
        lambda c: Estimate.of_differences(changed(c, n, lost, won, size)),
        (won - lost) * mean,
    )
    assert share > 0.93


def test_without_the_two_that_are_added_a_rare_loss_is_mostly_missed():
    """Every second sample of 40 has none of the 2 % that are lost, and would be sure of it."""
    share = covers(lambda c: mean_of(changed(c, 40, 0.02, 0.0, ALL_OR_NOTHING)), -0.02)
    assert share < 0.65


@pytest.mark.parametrize(("n", "lost"), [(20, 0.05), (40, 0.02), (40, 0.05), (100, 0.02)])
def test_a_loss_that_is_there_is_seldom_ruled_out(n, lost):
    """The claim that no more than the margin is lost, where just that is: about 5 % of samples."""
    chance = random.Random(11)
    claimed = 0
    for _ in range(1000):
        claimed += lower_bound_of(changed(chance, n, lost, 0.0, ALL_OR_NOTHING)) >= -lost
    assert claimed / 1000 < 0.08


@pytest.mark.parametrize("sizes", [[4] * 30, [1, 2, 3, 4, 10, 20] * 5])
def test_intervals_of_means_of_uneven_clusters(sizes):
    """CR1 with t holds them a little less well: a few large clusters weigh most."""

    def draw(chance):
        values, groups = [], []
        for cluster, size in enumerate(sizes):
            shift = chance.gauss(0, 0.5)
            values += [shift + chance.gauss(0, 1) for _ in range(size)]
            groups += [cluster] * size
        return mean_of(values, groups)

    assert 0.91 < covers(draw, 0.0) < 0.97


@pytest.mark.parametrize(("n", "least"), [(10, 0.87), (40, 0.91), (300, 0.93)])
def test_intervals_of_means_of_skewed_values(n, least):
    """Student's t holds latencies and the like too seldom while they are few: a known exception."""
    share = covers(lambda c: mean_of([c.expovariate(1.0) for _ in range(n)]), 1.0)
    assert least < share < 0.97


def test_one_cluster_of_many_that_differs_is_no_proof_for_the_others():
    """The two that are added are clusters of the usual size."""
    groups = [i // 5 for i in range(100)]
    none = Estimate.of_differences([0.0] * 100, groups)
    assert none.stderr == pytest.approx(math.sqrt(2) / 22)
    one = Estimate.of_differences([-1.0] + [0.0] * 99, groups)
    plain = mean_of([-1.0] + [0.0] * 99, groups)
    assert one.stderr > plain.stderr


def test_few_that_differ_are_the_cells_of_a_table_each_one_larger():
    """Bonett and Price 2012: of 40 pairs 1 won and 3 lost are taken for 2 and 4 of 42."""
    found = Estimate.of_differences([1.0] + [-1.0] * 3 + [0.0] * 36)
    won, lost = 2 / 42, 4 / 42
    assert found.value == pytest.approx(won - lost)
    assert found.stderr == pytest.approx(math.sqrt((won + lost - (won - lost) ** 2) / 42))


def test_many_that_differ_are_taken_as_they_are():
    """Then the spread is known well enough, and the interval is that of Student's t."""
    differences = [0.1, -0.2, 0.3, 0.0] * 6
    assert Estimate.of_differences(differences) == mean_of(differences)


def test_values_that_can_be_anything_and_do_not_differ_have_no_bounds():
    """Nobody knows how far others would be apart; nor of a single one."""
    assert Estimate.of_differences([0.0] * 9, reach=None) is None
    assert Estimate.of_differences([0.5]) is None
    assert Estimate.of_differences([]) is None
