"""Values of published tables, and those that scipy and statsmodels give for small samples."""

from __future__ import annotations

import math

import pytest

from cb_compare.comparing import smallest_effect
from cbcore.stats import examples_needed
from cbcore.stats.distributions import t_quantile
from cbcore.stats.estimates import mean_of, rate_of, ratio_of

close = pytest.approx


@pytest.mark.parametrize(
    ("k", "n", "interval"),
    [
        (81, 263, (0.2553, 0.3662)),
        (15, 148, (0.0624, 0.1605)),
        (0, 20, (0.0, 0.1611)),
        (1, 29, (0.0061, 0.1718)),
        (20, 20, (0.8389, 1.0)),
        (7, 10, (0.3968, 0.8922)),
    ],
)
def test_wilsons_interval(k, n, interval):
    """Newcombe 1998, Statistics in Medicine 17:857, table I, method 3; and two more."""
    assert rate_of([1.0] * k + [0.0] * (n - k)).interval == close(interval, abs=5e-5)


def test_the_error_of_clusters():
    """Eight scores of four clusters: 0.183 without them, and CR1, not CR0, with them."""
    scores, clusters = [1, 0, 1, 1, 0, 0, 1, 1], [0, 0, 1, 1, 2, 2, 3, 3]
    assert mean_of(scores).stderr == close(0.1829812637)
    found = mean_of(scores, clusters)
    assert (found.value, found.stderr, found.clusters) == (0.625, close(0.2393567769), 4)
    half = 3.182446305 * 0.2393567769  # t of three degrees
    assert found.interval == close((0.625 - half, 0.625 + half), abs=1e-8)


@pytest.mark.parametrize(
    ("within", "attempts", "n"), [(1 / 6, 1, 3876), (1 / 6, 10, 1260), (0.0, 1, 969)]
)
def test_examples_needed(within, attempts, n):
    """Miller 2024, arXiv 2411.00640: 3 points, with a variance of 1/9 between questions."""
    variance = 1 / 9 + 2 * within / attempts
    assert examples_needed(math.sqrt(variance), 1, 0.03) == n


@pytest.mark.parametrize(
    ("n", "effect"), [(100, 0.186772), (200, 0.132068), (500, 0.083527), (1000, 0.059063)]
)
def test_the_smallest_effect(n, effect):
    """The same solved for the difference, with one attempt at each question."""
    assert smallest_effect(math.sqrt((1 / 9 + 2 / 6) / n)) == close(effect, abs=1e-6)


def test_a_ratio_of_means():
    """The delta method's error; above the end of Fieller's interval, below that of the jackknife."""
    x, y = [40, 60, 100, 50, 30, 80, 20, 90], [100, 200, 100, 100, 120, 160, 80, 150]
    found = ratio_of(x, y)
    assert found.value == close(0.4653465347)
    assert found.stderr == close(0.0778534593)
    assert found.interval[1] == close(0.6713360368, abs=1e-8)
    without = [(sum(x) - a) / (sum(y) - b) for a, b in zip(x, y, strict=True)]
    jackknife = (7 / 8 * sum((w - sum(without) / 8) ** 2 for w in without)) ** 0.5
    assert found.interval[0] == close(found.value - 2.3646242510 * jackknife, abs=1e-8)
    assert found.method == "fieller"


def test_the_bound_of_a_loss():
    """Of a difference of -0.005 with an error of 0.01, one-sided."""
    assert -0.005 - t_quantile(0.95, math.inf) * 0.01 == close(-0.0214485, abs=1e-7)
