"""Quantiles and what bounds them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_metrics.quantiles import (
    measured_quantile,
    quantile_of,
    quantile_of_clusters,
)
from cbcore.stats import Units, quantile_at


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60), st.sampled_from([0.5, 0.95, 0.99]))
def test_the_value_is_numpys(values, quantile):
    """Type 7, linear between ranks."""
    assert quantile_at(sorted(values), quantile) == pytest.approx(np.quantile(values, quantile))


def binomial_cdf(k, n, chance):
    """The chance of k or fewer, in exact fractions."""
    p = Fraction(chance).limit_denominator(100)
    whole = sum(
        math.comb(n, i) * p.numerator**i * (p.denominator - p.numerator) ** (n - i)
        for i in range(k + 1)
    )
    return float(Fraction(whole, p.denominator**n))


@pytest.mark.parametrize("quantile", [0.5, 0.95, 0.99])
@pytest.mark.parametrize("n", [10, 40, 100, 400, 1000, 1100])
def test_bounds_are_those_of_the_binomial(n, quantile):
    """The ranks cover the quantile with at least 95 %, by exact sums; above 1,000 nearly so."""
    estimate = quantile_of([float(i) for i in range(1, n + 1)], quantile)
    if estimate.interval is None:
        assert binomial_cdf(n - 1, n, quantile) < 0.975 or binomial_cdf(0, n, quantile) > 0.025
        return
    low, high = estimate.interval
    coverage = binomial_cdf(int(high) - 1, n, quantile) - binomial_cdf(int(low) - 1, n, quantile)
    assert coverage >= (0.95 if n <= 1000 else 0.945)
    assert coverage <= 0.99


def test_the_median_of_ten_by_the_book():
    """The 2nd and the 9th of ten values bound the median with 97.9 % (Conover 1999)."""
    estimate = quantile_of([float(i) for i in range(1, 11)], 0.5)
    assert estimate.interval == (2.0, 9.0)


def test_too_few_values_bound_nothing():
    """Of 40 values, none lies above the 99th percentile for sure."""
    assert quantile_of([float(i) for i in range(40)], 0.99).interval is None


def test_a_metric_may_return_one():
    """Rows that do not count are left out, and the summary knows the interval."""
    found = measured_quantile([math.nan, *map(float, range(1, 11))], 0.5)
    assert float(found) == 5.5
    assert found.terms.estimate().interval == (2.0, 9.0)


def test_values_that_hang_together_are_bounded_by_as_many_as_are_independent():
    """Ten that come four times each tell as much of the median as ten do, and no more."""
    values = [float(i) for i in range(1, 11) for _ in range(4)]
    units = Units(
        40, [("d", i, r) for i in range(10) for r in range(4)], [i // 4 for i in range(40)]
    )
    found = measured_quantile(values, 0.5).terms.estimate(units)
    assert (found.n, found.clusters, found.method) == (10, 10, "woodruff-clustered")
    low, high = found.interval
    alone = quantile_of(values, 0.5)
    assert low < alone.interval[0]
    assert high > alone.interval[1]


def test_the_bounds_are_wilsons_of_the_share_that_lies_below():
    """By statsmodels: its error with clusters, and its interval of as many independent ones."""
    statsmodels = pytest.importorskip("statsmodels.api")
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    stats = pytest.importorskip("scipy.stats")
    chance = np.random.default_rng(3)
    groups = [i // 5 for i in range(200)]
    values = (chance.normal(size=40)[groups] + chance.normal(size=200)).tolist()
    below = (np.array(values) <= np.quantile(values, 0.5)).astype(float)
    fitted = statsmodels.OLS(below, np.ones(200)).fit(
        cov_type="cluster", cov_kwds={"groups": groups}
    )
    effective = 0.25 / float(fitted.bse[0]) ** 2
    alpha = 2 * stats.norm.sf(stats.t.ppf(0.975, 39))  # t in the place of z
    shares = proportion.proportion_confint(effective / 2, effective, alpha=alpha, method="wilson")
    ordered = np.sort(values)
    wanted = ordered[math.floor(200 * shares[0]) - 1], ordered[math.ceil(200 * shares[1])]
    assert quantile_of_clusters(values, 0.5, groups, n=200).interval == pytest.approx(wanted)


def test_one_cluster_bounds_nothing():
    """Nor do so few that no value lies above for sure."""
    assert quantile_of_clusters([1.0, 2.0, 3.0], 0.5, ["a"] * 3, n=3).interval is None
    several = quantile_of_clusters([float(i) for i in range(40)], 0.99, list(range(40)), n=40)
    assert several.interval is None
    assert quantile_of_clusters([], 0.5, [], n=0) is None
