"""Aggregates and their standard errors.

Cases with a number are those of lm-evaluation-harness: its tests `test_group.py`,
`test_aggregation_pipeline.py` and `test_evaluator_utils.py`, and probes of release 0.4.13.
"""

from __future__ import annotations

import math
import statistics

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_suites.engine.aggregates import aggregate, combine
from cb_suites.engine.model import AggregateMetric, GroupNode, Leaf, TaskConfig
from cbcore.exceptions import ConfigError
from cbcore.stats import Estimate
from cbcore.stats.estimates import mean_of

MICRO = AggregateMetric("acc")
MACRO = AggregateMetric("acc", weight_by_size=False)


def leaf(key):
    return Leaf(key, key, TaskConfig(name=key, alias=key))


def group(name, *children, aggregates=()):
    nodes = tuple(leaf(c) if isinstance(c, str) else c for c in children)
    return GroupNode(name, name, name, nodes, tuple(aggregates))


def scores(metric="acc", name="none", **leaves):
    """`a=(0.8, 5, 0.2)` or `a=[1, 0]` as the scores of leaf a."""
    return {
        key: {(metric, name): mean_of(v) if isinstance(v, list) else Estimate(v[0], v[2], v[1])}
        for key, v in leaves.items()
    }


def total(node, metric, by_leaf):
    return aggregate(node, metric, by_leaf)["none"]


def test_a_task_is_the_mean_of_its_examples():
    """Case 1: [1, 0, 1, 0] is 0.5 over 4, and so is a group of it."""
    by_leaf = scores(a=[1, 0, 1, 0])
    assert by_leaf["a"]["acc", "none"].value == 0.5
    found = total(group("g", "a"), MICRO, by_leaf)
    assert (found.value, found.n) == (0.5, 4)


def test_micro_weighs_by_size_and_macro_does_not():
    """Case 2: [1, 1] and [0, 0, 0, 1]."""
    by_leaf = scores(a=[1, 1], b=[0, 0, 0, 1])
    micro, macro = (total(group("g", "a", "b"), m, by_leaf) for m in (MICRO, MACRO))
    assert (micro.value, micro.n, macro.value) == (0.5, 6, 0.625)


def test_equal_sizes_make_micro_and_macro_the_same():
    """Case 4: 0.8±.02 and 0.9±.018, over 100 each, are 0.85 over 200."""
    by_leaf = scores(a=(0.8, 100, 0.02), b=(0.9, 100, 0.018))
    for metric in (MICRO, MACRO):
        found = total(group("g", "a", "b"), metric, by_leaf)
        assert (found.value, found.n) == (pytest.approx(0.85), 200)
        assert found.stderr == pytest.approx(math.hypot(0.02, 0.018) / 2)


def test_each_mean_has_its_own_standard_error():
    """Case 3: 0.6±.02 over 100 and 0.9±.01 over 200: pooled for micro, combined for macro."""
    by_leaf = scores(a=(0.6, 100, 0.02), b=(0.9, 200, 0.01))
    micro, macro = (total(group("g", "a", "b"), m, by_leaf) for m in (MICRO, MACRO))
    assert micro.value == pytest.approx(0.8)
    assert micro.stderr == pytest.approx(0.0094241, abs=5e-8)
    assert macro.value == pytest.approx(0.75)
    assert macro.stderr == pytest.approx(0.0111803, abs=5e-8)


def test_equal_parts_pool():
    """Case 11: two of [1, 0] × 25 have ±0.0714286 each, together ±0.0505076."""
    by_leaf = scores(a=[1, 0] * 25, b=[1, 0] * 25)
    assert by_leaf["a"]["acc", "none"].stderr == pytest.approx(0.0714286, abs=5e-8)
    found = total(group("g", "a", "b"), MICRO, by_leaf)
    assert found.stderr == pytest.approx(0.0505076, abs=5e-8)


def test_filters_that_are_named_are_counted_for_each():
    """Each over the members that have it; without a `filter_list`, only what no filter changed."""
    every = attrs.evolve(MICRO, filters=("custom", "none", "prefix"))
    a = {("acc", "none"): Estimate(0.8, 0.02, 100), ("acc", "prefix"): Estimate(0.85, 0.015, 100)}
    b = {("acc", "none"): Estimate(0.9, 0.018, 200), ("acc", "custom"): Estimate(0.7, 0.01, 200)}
    found = aggregate(group("g", "a", "b"), every, {"a": a, "b": b})
    assert list(aggregate(group("g", "a", "b"), MICRO, {"a": a, "b": b})) == ["none"]
    assert {name: value.n for name, value in found.items()} == {
        "custom": 200,
        "none": 300,
        "prefix": 100,
    }
    assert list(found) == ["custom", "none", "prefix"]
    assert (found["prefix"].value, found["prefix"].stderr) == (0.85, pytest.approx(0.015))


@pytest.mark.parametrize(
    ("filters", "left"),
    [(("none",), ["none"]), ((), []), (("none", "x"), ["none", "x"]), (("typo",), [])],
)
def test_a_filter_list_selects(filters, left):
    """Case 7: only those named; an empty list selects nothing."""
    one = {("acc", name): Estimate(0.5, 0.1, 10) for name in ("none", "x")}
    metric = AggregateMetric("acc", filters=filters)
    assert list(aggregate(group("g", "a"), metric, {"a": one})) == left


def test_a_metric_of_some_leaves_covers_those():
    """Case 8: acc on both, f1 on one: 5 and 3 examples."""
    by_leaf = scores(a=[1, 0, 1], b=[1, 1])
    by_leaf["a"]["f1", "none"] = mean_of([0.5, 0.5, 0.5])
    both = group("g", "a", "b")
    assert total(both, MICRO, by_leaf).n == 5
    assert total(both, AggregateMetric("f1"), by_leaf).n == 3


def test_a_parent_takes_the_leaves_below_its_groups():
    """Cases 9, 10, 29 and 30."""
    by_leaf = scores(a=[1, 1], b=[0, 0])
    inner = group("inner", "a", "b")
    assert total(group("outer", inner), MICRO, by_leaf) == total(inner, MICRO, by_leaf)
    by_leaf = scores(a=[0.8, 0.6], b=[1, 1])
    outer = group("outer", group("sub", "a"), "b")
    found = total(outer, MICRO, by_leaf)
    assert (found.value, found.n) == (pytest.approx(0.85), 4)
    probes = scores(ta=(0.8, 5, 0.2), tb=(0.5, 2, 0.5), tc=(0.8, 5, 0.2))
    found = total(group("g", "ta", "tb"), MICRO, probes)
    assert (found.value, found.n) == (pytest.approx(0.714286, abs=5e-7), 7)
    assert found.stderr == pytest.approx(0.192725, abs=5e-7)
    found = total(group("g", group("inner", "ta", "tb"), "tc"), MICRO, probes)
    assert (found.value, found.n) == (pytest.approx(0.75), 12)
    assert found.stderr == pytest.approx(0.139443, abs=5e-7)


def test_a_leaf_reached_twice_counts_once():
    """Case 31: lm-evaluation-harness gives 0.764706 over 17; 0.75 over 12 is right."""
    probes = scores(a=(0.8, 5, 0.2), b=(0.5, 2, 0.5), c=(0.8, 5, 0.2))
    outer = group("g", group("g1", "a", "b"), group("g2", "a", "c"))
    found = total(outer, MICRO, probes)
    assert (found.value, found.n) == (pytest.approx(0.75), 12)


def test_macro_goes_over_leaves_or_when_asked_over_children():
    """Case 32: {inner macro {.6, .9}, .5} is 0.666667 over leaves and 0.625 over children."""
    by_leaf = scores(a=(0.6, 10, 0.1), b=(0.9, 10, 0.2), c=(0.5, 10, 0.3))
    outer = group("g", group("inner", "a", "b", aggregates=[MACRO]), "c")
    assert total(outer, MACRO, by_leaf).value == pytest.approx(0.666667, abs=5e-7)
    over = AggregateMetric("acc", weight_by_size=False, over="children")
    found = total(outer, over, by_leaf)
    assert found.value == pytest.approx(0.625)
    inner = math.sqrt(0.1**2 + 0.2**2) / 2
    assert found.stderr == pytest.approx(math.sqrt(inner**2 + 0.3**2) / 2)


def test_children_that_share_a_leaf_are_not_taken_for_independent():
    """Each leaf counts with all its weight: a half of a, a quarter of b and of c."""
    by_leaf = scores(a=(0.6, 10, 0.1), b=(0.9, 10, 0.2), c=(0.5, 10, 0.3))
    outer = group("g", group("g1", "a", "b"), group("g2", "a", "c"))
    over = AggregateMetric("acc", weight_by_size=False, over="children")
    found = total(outer, over, by_leaf)
    assert found.value == pytest.approx(0.65)
    expected = math.sqrt((0.5 * 0.1) ** 2 + (0.25 * 0.2) ** 2 + (0.25 * 0.3) ** 2)
    assert found.stderr == pytest.approx(expected)
    assert found.n == 30


def test_a_standard_error_is_absent_only_where_it_is_undefined():
    """Case 12: one example alone has none; beside others it takes no part in the pooling."""
    alone = total(group("g", "a"), MICRO, scores(a=[1]))
    assert (alone.value, alone.stderr, alone.n) == (1.0, None, 1)
    by_leaf = scores(a=[1], b=[1, 0, 1, 0])
    assert total(group("g", "a", "b"), MACRO, by_leaf).stderr is None
    pooled = math.sqrt(statistics.variance([1, 0, 1, 0]) / 5)
    assert total(group("g", "a", "b"), MICRO, by_leaf).stderr == pytest.approx(pooled)
    # A spread of nothing is a standard error of nothing, not a missing one.
    assert total(group("g", "a"), MICRO, scores(a=[1, 1])).stderr == 0.0


@pytest.mark.parametrize(("name", "value"), [("median", 0.6), ("min", 0.5), ("max", 0.9)])
def test_median_minimum_and_maximum_are_there_too(name, value):
    """With a standard error, drawn anew the same each time."""
    by_leaf = scores(a=(0.6, 10, 0.01), b=(0.9, 20, 0.01), c=(0.5, 30, 0.01))
    metric = AggregateMetric("acc", aggregation=name)
    found = total(group("g", "a", "b", "c"), metric, by_leaf)
    assert (found.value, found.n) == (value, 60)
    # So far apart, the spread is that of the one leaf that decides.
    assert found.stderr == pytest.approx(0.01, rel=0.15)
    assert total(group("g", "a", "b", "c"), metric, by_leaf) == found
    assert total(group("g", "a"), metric, by_leaf).stderr == 0.01


def weighted_mean(values, weights=None):
    """As `statistics.fmean` from Python 3.11 on."""
    return sum(v * w for v, w in zip(values, weights, strict=True)) / sum(weights)


@pytest.mark.parametrize(
    ("function", "value"),
    [
        (lambda values: values[0] - values[1], 0.5),
        (lambda values, sizes: sum(sizes), 30),
        (lambda values, sizes, weight_by_size: float(weight_by_size), 1.0),
        (lambda values, share=0.5: share * sum(values), 0.5),
        (lambda values, *, share=0.5: share * sum(values), 0.5),
        (weighted_mean, pytest.approx(0.4166667, abs=5e-7)),
    ],
)
def test_a_function_aggregates_values_sizes_and_weighting(function, value):
    """What has a default of its own keeps it."""
    by_leaf = scores(a=(0.75, 10, 0.03), b=(0.25, 20, 0.04))
    found = total(group("g", "a", "b"), AggregateMetric("acc", aggregation=function), by_leaf)
    assert found.value == value


def test_the_difference_of_two_has_its_exact_error():
    """√(.03² + .04²), up to the spread of the draws."""
    by_leaf = scores(a=(0.75, 10, 0.03), b=(0.25, 20, 0.04))
    difference = AggregateMetric("acc", aggregation=lambda values: values[0] - values[1])
    found = total(group("g", "a", "b"), difference, by_leaf)
    assert found.stderr == pytest.approx(0.05, rel=0.1)


def test_an_unknown_aggregation_is_an_error():
    """Case 16, with the names there are."""
    with pytest.raises(ConfigError, match="mean, median, min, max, or a function"):
        combine(AggregateMetric("acc", aggregation="mode"), scores(a=[1])["a"])


@given(
    st.lists(st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=30), min_size=1, max_size=6)
)
def test_micro_is_the_mean_of_all_examples(parts):
    """As if the tasks were one; macro lies between the least and the greatest task."""
    by_leaf = scores(**{f"t{i}": values for i, values in enumerate(parts)})
    node = group("g", *by_leaf)
    flat = [value for values in parts for value in values]
    micro, macro = total(node, MICRO, by_leaf), total(node, MACRO, by_leaf)
    assert micro.value == pytest.approx(statistics.mean(flat))
    means = [statistics.mean(values) for values in parts]
    assert min(means) - 1e-9 <= macro.value <= max(means) + 1e-9
    assert micro.stderr >= 0
    assert macro.stderr >= 0
