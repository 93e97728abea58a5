"""Rates, ratios and clustered means, against published values."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cbcore.results import EvalRow
from cbcore.stats import Measured, Units
from cbcore.stats.estimates import mean_of, rate_of, ratio_of
from cbcore.stats.measured import Terms


def ones(k, n):
    return [1.0] * k + [0.0] * (n - k)


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (20, 20, 0.8389, 1.0),
        (7, 10, 0.3968, 0.8922),
    ],
)
def test_wilson_intervals_are_the_published_ones(k, n, low, high):
    """The first four are of Newcombe 1998, Statistics in Medicine 17:857, table I."""
    found = rate_of(ones(k, n))
    assert found.interval == pytest.approx((low, high), abs=5e-5)
    assert (found.value, found.n, found.method) == (k / n, n, "wilson")


SCORES, SHARED = [1, 0, 1, 1, 0, 0, 1, 1], [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_clustered_mean_has_the_error_of_its_clusters():
    """CR1 as statsmodels computes it for four clusters of two, with t of three degrees."""
    found = mean_of(SCORES, SHARED)
    assert found.stderr == pytest.approx(0.2393567769, abs=1e-10)
    assert (found.n, found.clusters, found.method) == (8, 4, "t-clustered")
    half = (found.interval[1] - found.interval[0]) / 2
    assert half == pytest.approx(3.182446305 * found.stderr, rel=1e-8)
    assert mean_of(SCORES).stderr == pytest.approx(0.1829812637, abs=1e-10)


def test_a_clustered_rate_is_that_of_fewer_examples():
    """Wider than Wilson's for as many independent ones, and within 0 and 1."""
    alone, clustered = rate_of(ones(30, 60)), rate_of(ones(30, 60), [i // 10 for i in range(60)])
    assert clustered.value == alone.value
    assert clustered.interval[0] < alone.interval[0]
    assert clustered.interval[1] > alone.interval[1]
    agreeing = rate_of(ones(60, 60), [i // 10 for i in range(60)])
    assert agreeing.interval[0] < rate_of(ones(60, 60)).interval[0]
    assert agreeing.interval[1] == 1.0


def test_a_ratio_of_means_has_the_error_of_the_delta_method_and_the_interval_of_fieller():
    """Values computed with scipy; the formulas are those of Fieller 1954 and Cochran 1977."""
    found = ratio_of([40, 60, 100, 50, 30, 80, 20, 90], [100, 200, 100, 100, 120, 160, 80, 150])
    assert found.value == pytest.approx(0.4653465347, abs=1e-10)
    assert found.stderr == pytest.approx(0.0778534593, abs=1e-10)
    assert found.interval[1] == pytest.approx(0.6713360368, abs=1e-9)
    assert found.interval[0] < 0.2881823700  # the jackknife's end, which is farther out


def test_a_ratio_that_was_never_seen_to_vary_has_no_interval():
    """18 ties do not tell that there is nothing but ties."""
    found = ratio_of([1.0, 0.0, 0.5] * 6, [1.0, 0.0, 0.5] * 6)
    assert (found.value, found.interval, found.stderr) == (1.0, None, None)


def test_a_share_of_what_cannot_be_negative_is_not_below_zero():
    """Six examples of which one is lost tell little, but not that less than nothing may be kept."""
    few = ratio_of([1.0, 0.0, 0.0, 0.0, 1.0, 0.0], [1.0, 0.5, 0.0, 1.0, 1.0, 0.5])
    assert few.interval[0] == 0.0
    assert few.interval[1] > 0.5
    assert ratio_of([1.0, -0.5, 0.2, 0.1], [1.0, 1.0, 1.0, 1.0]).interval[0] < 0


def test_a_ratio_to_what_may_be_nothing_is_unbounded_and_says_so():
    """One pass in ten: the cost of a pass has no upper bound that could be told."""
    found = ratio_of([100.0] * 10, ones(1, 10))
    assert found.value == 1000
    assert found.interval == (-math.inf, math.inf)
    assert found.method == "fieller-unbounded"
    assert not found.is_bounded
    assert ratio_of([1.0, 2.0], [0.0, 0.0]) is None


def test_repeats_count_as_one_question():
    """Three attempts that agree say no more than one, and n is the number of questions."""
    rows = [EvalRow("s", q, {"f1": q % 2}, repeat=r) for q in range(6) for r in range(3)]
    terms = Terms([row.scores["f1"] for row in rows])
    found = terms.estimate(Units.of(rows))
    once = mean_of([q % 2 for q in range(6)])
    assert found.n == 6
    assert found.stderr == pytest.approx(once.stderr)
    assert found.interval == pytest.approx(once.interval)


def test_rows_of_a_cluster_hang_together_and_others_stand_for_themselves():
    """The cluster is what the row's metadata says, within its dataset."""
    rows = [
        EvalRow("s", i, metadata={"cluster": c}, dataset=d)
        for i, (c, d) in enumerate([("x", "a"), ("x", "a"), ("x", "b")])
    ]
    rows.append(EvalRow("s", 9, dataset="a"))
    units = Units.of(rows)
    assert units.clustered
    assert len(set(units.groups)) == 3
    assert units.groups[0] == units.groups[1]


def test_rows_without_a_term_do_not_count():
    """NaN stands for them, and so the order of the rows is kept."""
    value = Measured.mean([1.0, math.nan, 0.0, 1.0])
    assert float(value) == pytest.approx(2 / 3)
    assert value.terms.estimate().n == 3
    ratio = Measured.ratio([1.0, math.nan, 3.0], [2.0, 5.0, 2.0])
    assert float(ratio) == 1.0
    assert math.isnan(Measured.mean([math.nan]))


@pytest.mark.parametrize(
    ("kind", "values", "interval"),
    [
        ("score", [0.9, 0.2], (0.0, 1.0)),
        ("score", [3.0, 5.0], (0.0, math.inf)),
        ("score", [-0.5, 0.5], (-math.inf, math.inf)),
        ("amount", [0.1, 0.9], (0.0, math.inf)),
        (None, [0.1, 0.9], (-math.inf, math.inf)),
    ],
)
def test_no_interval_goes_where_no_value_can_be(kind, values, interval):
    """Scores that all lie between 0 and 1 are on that scale; amounts are never negative."""
    low, high = Terms(values, kind=kind).estimate().interval
    plain = mean_of(values).interval
    assert (low, high) == (max(interval[0], plain[0]), min(interval[1], plain[1]))


def test_terms_that_do_not_fit_the_rows_are_refused():
    """Or the values of one row would be taken for those of another."""
    with pytest.raises(ValueError, match="2 terms were given for 3 rows"):
        Terms([1.0, 0.0]).estimate(Units(3))


FLOATS = st.floats(-1e3, 1e3)


@given(st.lists(FLOATS, min_size=2, max_size=40), st.randoms())
def test_order_does_not_matter(values, random):
    """A sample is a set: the same mean, error and interval in any order."""
    shuffled = values.copy()
    random.shuffle(shuffled)
    one, other = mean_of(values), mean_of(shuffled)
    assert other.value == pytest.approx(one.value, abs=1e-9)
    assert other.stderr == pytest.approx(one.stderr, abs=1e-9)


@given(st.lists(FLOATS, min_size=2, max_size=40))
def test_clusters_of_one_are_no_clusters(values):
    """CR1 is then the usual standard error."""
    assert mean_of(values, range(len(values))).stderr == pytest.approx(
        mean_of(values).stderr, abs=1e-9
    )


@given(st.integers(0, 200), st.integers(1, 200))
def test_a_rate_lies_in_its_interval(k, n):
    """Also at 0 and 1, and the interval stays within them."""
    low, high = rate_of(ones(min(k, n), n)).interval
    assert 0 <= low <= min(k, n) / n <= high <= 1


@given(st.lists(st.tuples(st.floats(1, 100), st.floats(1, 100)), min_size=2, max_size=30))
def test_a_ratio_lies_in_its_interval(pairs):
    """And scales with its numerators."""
    x, y = [a for a, _ in pairs], [b for _, b in pairs]
    assume(x != y)
    found = ratio_of(x, y)
    low, high = found.interval
    assert low <= found.value + 1e-9
    assert found.value <= high + 1e-9
    assert ratio_of([2 * a for a in x], y).value == pytest.approx(2 * found.value)
