"""From rows to a summary: metrics are isolated from each other and never overwrite."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbcore.results import EvalRow
from cbcore.results.summary import sum_up

ROWS = {"a": [EvalRow("a", 1, {"f1": 0.5})], "b": [EvalRow("b", 1, {"f1": 1.0}), EvalRow("b", 2)]}


def summarize(rows_by_system, metrics):
    """What metrics came to, and what went wrong."""
    found = sum_up(rows_by_system, metrics)
    return found.summary, found.problems


class Returns:
    """A metric that returns what it is told to."""

    def __init__(self, value, name="returns", **attributes):
        self.name = name
        self._value = value
        self.__dict__.update(attributes)

    def compute(self, rows):
        return self._value(rows) if callable(self._value) else self._value


class Other(Returns):
    pass


class Raises:
    name = "raises"

    def __init__(self, error):
        self.error = error

    def compute(self, rows):
        raise self.error


class Ranks:
    name = "ranks"

    def __init__(self, ranks):
        self.ranks = ranks

    def compare(self, rows_by_system):
        return self.ranks(rows_by_system) if callable(self.ranks) else self.ranks


class CountingRows:
    name = "n"

    def compute(self, rows):
        return {"n": len(rows)}


def test_every_metric_is_computed_for_every_system():
    """From that system's rows only."""
    assert summarize(ROWS, [CountingRows()]) == ({"a": {"n": 1.0}, "b": {"n": 2.0}}, [])


def test_a_comparing_metric_sees_all_systems_at_once():
    """And gives each its value; a system it leaves out has none."""
    ranks = Ranks(lambda rows: {max(rows, key=lambda s: len(rows[s])): {"rank": 1}})
    assert summarize(ROWS, [ranks]) == ({"a": {}, "b": {"rank": 1.0}}, [])


def test_without_metrics_or_systems_the_summary_is_empty():
    """Every system is still listed."""
    assert summarize(ROWS, []) == ({"a": {}, "b": {}}, [])
    assert summarize({}, [CountingRows()]) == ({}, [])


@pytest.mark.parametrize(
    ("metric", "told"),
    [
        (
            Raises(ZeroDivisionError("no rows")),
            "metric 'raises' failed: ZeroDivisionError: no rows",
        ),
        (Raises(SystemExit(2)), "metric 'raises' failed: it called sys.exit(2)"),
        (Returns(0.5), "metric 'returns' failed: TypeError"),
        (Returns(None), "metric 'returns' failed: TypeError"),
        (Returns("text"), "metric 'returns' failed: ValueError"),
        (Returns({"k": "high"}), "metric 'returns' failed: ValueError"),
        (Returns({"k": [1]}), "metric 'returns' failed: TypeError"),
        (Returns({"k": 10**400}), "metric 'returns' failed: OverflowError"),
        (Returns({5: 0.5}), "metric 'returns' failed: TypeError: a key is 5, not a string"),
        (Ranks(0.5), "metric 'ranks' failed: AttributeError"),
        (Ranks({"a": 0.5}), "metric 'ranks' failed: TypeError"),
        (object(), "metric 'object' failed: AttributeError"),
    ],
)
def test_a_metric_that_fails_loses_its_own_values_only(metric, told):
    """The others keep theirs, before and after it, and the problem names the metric."""
    before, after = Returns({"x": 1.0}), CountingRows()
    summary, problems = summarize(ROWS, [before, metric, after])
    assert summary == {"a": {"x": 1.0, "n": 1.0}, "b": {"x": 1.0, "n": 2.0}}
    assert len(problems) == 1
    assert problems[0].startswith(told)


def test_a_metric_that_fails_for_one_system_has_no_value_for_any():
    """Half of a comparison would be misread."""
    fails_on_two = Returns(lambda rows: {"k": 1 / (2 - len(rows))})
    summary, problems = summarize(ROWS, [fails_on_two])
    assert summary == {"a": {}, "b": {}}
    assert len(problems) == 1


def test_an_interrupt_in_a_metric_is_an_interrupt():
    """Ctrl-C is not a failing metric."""
    with pytest.raises(KeyboardInterrupt):
        summarize(ROWS, [Raises(KeyboardInterrupt())])


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None])
def test_no_finite_value_is_none(value):
    """Nothing passed, nothing scored: the key stays, without a number."""
    assert summarize(ROWS, [Returns({"k": value})])[0] == {"a": {"k": None}, "b": {"k": None}}


def test_values_become_plain_floats():
    """Whatever number type the metric uses."""
    numpy = pytest.importorskip("numpy")
    summary, _ = summarize(
        ROWS, [Returns({"a": numpy.float32(0.5), "b": numpy.int64(2), "c": True})]
    )
    assert summary["a"] == {"a": 0.5, "b": 2.0, "c": 1.0}
    assert {type(value) for value in summary["a"].values()} == {float}


def test_two_instances_of_one_metric_are_told_apart_by_their_parameters():
    """The first keeps the plain key; the second says what makes it different."""
    metrics = [
        Returns({"mean": 1.0}, score_field="f1", threshold=1),
        Returns({"mean": 2.0}, score_field="recall", threshold=1),
    ]
    expected = {"mean": 1.0, "mean[score_field=recall]": 2.0}
    assert summarize(ROWS, metrics)[0] == {"a": expected, "b": expected}


def test_two_metrics_with_one_key_are_told_apart_by_their_names():
    """Neither is lost."""
    metrics = [Returns({"mean": 1.0}, "one"), Other({"mean": 2.0}, "two")]
    assert summarize(ROWS, metrics)[0]["a"] == {"mean": 1.0, "mean[two]": 2.0}


def test_a_key_means_the_same_for_every_system():
    """Also when the first metric has no value for one of them."""
    only_b = Ranks(lambda rows: {"b": {"mean": 1.0}})
    both = Returns({"mean": 2.0}, "both")
    assert summarize(ROWS, [only_b, both])[0] == {
        "a": {"mean[both]": 2.0},
        "b": {"mean": 1.0, "mean[both]": 2.0},
    }


@given(
    st.lists(
        st.builds(
            lambda cls, keys, k: cls(dict.fromkeys(keys, 1.0), k=k),
            st.sampled_from([Returns, Other]),
            st.lists(st.sampled_from(["x", "y", "x[k=1]", "x[returns]"]), unique=True),
            st.integers(0, 1),
        ),
        max_size=5,
    )
)
def test_no_value_is_ever_overwritten(metrics):
    """There are as many values as the metrics returned, for any mix of instances and keys."""
    summary, problems = summarize(ROWS, metrics)
    assert problems == []
    for values in summary.values():
        assert len(values) == sum(len(metric._value) for metric in metrics)
