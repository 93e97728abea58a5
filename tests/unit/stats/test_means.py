"""Means with their standard errors, against values that others computed."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbcore.stats import Estimate
from cbcore.stats.estimates import mean_of


@pytest.mark.parametrize(
    ("values", "mean", "deviation"),
    [
        ([10000001, 10000003, 10000002], 10000002, 1.0),
        ([1.2, *[1.1, 1.3] * 500], 1.2, 0.1),
        ([1000000.2, *[1000000.1, 1000000.3] * 500], 1000000.2, 0.1),
        ([10000000.2, *[10000000.1, 10000000.3] * 500], 10000000.2, 0.1),
    ],
    ids=["NumAcc1", "NumAcc2", "NumAcc3", "NumAcc4"],
)
def test_the_certified_values_are_met(values, mean, deviation):
    """Mean and standard deviation of NIST's Statistical Reference Datasets of these names."""
    found = mean_of(values)
    assert found.value == pytest.approx(mean, rel=1e-14)
    assert found.stderr * math.sqrt(len(values)) == pytest.approx(deviation, rel=1e-8)
    assert found.n == len(values)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30))
def test_it_is_the_deviation_of_a_sample_by_the_root_of_its_size(values):
    """As the standard library computes it, in fractions."""
    found = mean_of(values)
    assert found.value == pytest.approx(statistics.mean(values), abs=1e-9)
    expected = statistics.stdev(values) / math.sqrt(len(values))
    assert found.stderr == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_nothing_has_no_mean_and_one_value_no_error():
    """What is not known is not made up."""
    assert mean_of([]) is None
    assert mean_of([0.5]) == Estimate(0.5, None, 1)
    assert mean_of([0.5]).interval is None


@pytest.mark.parametrize("size", [1e200, 1e307])
def test_values_of_any_size_have_a_mean(size):
    """Though their squares, or their sum, are more than a float can hold."""
    found = mean_of([size, size] * 10)
    assert (found.value, found.stderr) == (size, 0.0)
    assert mean_of([size, -size]).stderr == pytest.approx(size)
