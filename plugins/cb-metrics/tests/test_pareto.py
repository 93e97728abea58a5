"""Ranking systems by quality and cost."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_metrics import ParetoRank, rank
from cbcore.results import EvalRow

points = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=2),
    st.tuples(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), st.integers(0, 5).map(float)),
)


def rows(system, *pairs, **more):
    return [
        EvalRow(system, i, {} if score is None else {"f1": score}, 500, tokens, **more)
        for i, (score, tokens) in enumerate(pairs)
    ]


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        # Reference: context-bench 0.1.0, run on these points.
        (
            {"a": (0.9, 100), "b": (0.8, 50), "c": (0.7, 120), "d": (0.8, 60)},
            {"a": 1, "b": 1, "c": 4, "d": 2},
        ),
        ({"a": (0.5, 10), "b": (0.5, 10)}, {"a": 1, "b": 1}),
        ({"better": (0.6, 10), "worse": (0.5, 10)}, {"better": 1, "worse": 2}),
        ({"cheap": (0.5, 9), "dear": (0.5, 10)}, {"cheap": 1, "dear": 2}),
        ({"only": (0.1, 1e9)}, {"only": 1}),
        ({}, {}),
    ],
)
def test_rank(named, expected):
    """A point's rank is one plus the number of points that dominate it."""
    assert rank(named) == expected


def test_a_point_without_a_value_cannot_be_ranked():
    """NaN compares with nothing, so it would look undominated; it is refused."""
    with pytest.raises(ValueError, match="'b' cannot be ranked"):
        rank({"a": (0.5, 1.0), "b": (math.nan, 1.0)})


def test_systems_are_ranked_by_their_means():
    """Quality and cost are means over each system's rows."""
    found = ParetoRank().compare(
        {
            "a": rows("a", (1.0, 150), (0.8, 50)),
            "b": rows("b", (0.8, 50)),
            "c": iter(rows("c", (0.7, 120))),
            "d": rows("d", (0.8, 60)),
        }
    )
    assert found == {
        "a": {"pareto_rank": 1},
        "b": {"pareto_rank": 1},
        "c": {"pareto_rank": 4},
        "d": {"pareto_rank": 2},
    }


def test_errored_and_missing_rows_do_not_count():
    """Only rows with a score enter the means; missing ones are reported."""
    found = ParetoRank().compare(
        {
            "a": [*rows("a", (0.9, 10), (None, 10_000)), *rows("a", (0.0, 9_999), error="boom")],
            "b": rows("b", (0.8, 20)),
        }
    )
    assert found == {
        "a": {"pareto_rank": 1, "pareto_rank_missing": 1},
        "b": {"pareto_rank": 2},
    }


def test_a_system_with_nothing_scored_has_no_rank():
    """Its rank is NaN and it takes no part in ranking the others."""
    found = ParetoRank().compare({"a": rows("a", (0.5, 10)), "b": [], "c": rows("c", (None, 1))})
    assert found["a"] == {"pareto_rank": 1}
    assert found["b"] == pytest.approx({"pareto_rank": math.nan}, nan_ok=True)
    assert found["c"] == pytest.approx(
        {"pareto_rank": math.nan, "pareto_rank_missing": 1}, nan_ok=True
    )


def test_cost_can_be_latency():
    """With cost="latency" the faster of two equally good systems wins."""
    fast, slow = rows("fast", (0.5, 99), latency=0.1), rows("slow", (0.5, 1), latency=0.2)
    found = ParetoRank(cost="latency").compare({"slow": slow, "fast": fast})
    assert found == {"slow": {"pareto_rank": 2}, "fast": {"pareto_rank": 1}}


def test_cost_can_be_a_metadata_key():
    """Any other cost is read from metadata; rows without that number are missing."""
    dear = rows("dear", (0.5, 1), metadata={"usd": 2})
    cheap = [*rows("cheap", (0.5, 9), metadata={"usd": 1}), *rows("cheap", (0.1, 9))]
    found = ParetoRank(cost="usd").compare({"dear": dear, "cheap": cheap})
    assert found == {
        "dear": {"pareto_rank": 2},
        "cheap": {"pareto_rank": 1, "pareto_rank_missing": 1},
    }


def test_bad_cost_is_refused():
    """A cost that names nothing is refused."""
    with pytest.raises(ValueError, match="cost must be a non-empty name, not ''"):
        ParetoRank(cost="")


@given(points)
def test_some_system_is_always_on_the_front(named):
    """Among any points at least one has rank 1, and no rank exceeds their number."""
    ranks = rank(named)
    assert set(ranks) == set(named)
    assert not named or min(ranks.values()) == 1
    assert all(1 <= r <= len(named) for r in ranks.values())


@given(points.filter(bool))
def test_a_newcomer_that_dominates_nobody_changes_no_rank(named):
    """Adding the worst and dearest system leaves all other ranks as they were."""
    worst = min(quality for quality, _ in named.values()) - 1
    dearest = max(cost for _, cost in named.values())
    ranks = rank({**named, "newcomer": (worst, dearest)})
    assert ranks.pop("newcomer") == 1 + len(named)
    assert ranks == rank(named)


@given(points)
def test_dominating_means_a_better_rank(named):
    """If one system dominates another, its rank is strictly lower."""
    ranks = rank(named)
    for one, (quality, cost) in named.items():
        for other, (other_quality, other_cost) in named.items():
            if quality >= other_quality and cost < other_cost:
                assert ranks[one] < ranks[other]
