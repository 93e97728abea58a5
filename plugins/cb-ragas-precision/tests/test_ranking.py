"""Properties of the numbers, whatever the ranking."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_ragas_precision import average_precision, ndcg, reciprocal_rank

VERDICTS = st.lists(st.integers(0, 1), min_size=1, max_size=30)


@given(VERDICTS)
def test_between_zero_and_one(verdicts: list[int]) -> None:
    """Zero exactly when nothing is relevant, one exactly when all that is comes first."""
    found = average_precision(verdicts)
    assert 0.0 <= found <= 1.0
    assert (found == 0.0) is (sum(verdicts) == 0)
    perfect = sum(verdicts) > 0 and verdicts == sorted(verdicts, reverse=True)
    assert (found == 1.0) is perfect


@given(VERDICTS, st.integers(0, 10), st.integers(0, 2**32))
def test_what_follows_the_last_relevant_item_does_not_count(
    verdicts: list[int], n_more: int, seed: int
) -> None:
    """Irrelevant items there can be permuted, added or left out."""
    more = [*verdicts, *[0] * n_more]
    last = max((rank for rank, v in enumerate(more) if v), default=-1)
    tail = more[last + 1 :]
    random.Random(seed).shuffle(tail)
    expected = average_precision(verdicts)
    assert average_precision([*more[: last + 1], *tail]) == expected
    assert average_precision(more[: last + 1]) == expected


@given(VERDICTS, st.data())
def test_moving_a_relevant_item_up_never_lowers_the_score(
    verdicts: list[int], data: st.DataObject
) -> None:
    """Neither average precision nor the discounted gain, nor the reciprocal rank."""
    relevant = [rank for rank, v in enumerate(verdicts) if v]
    if not relevant:
        return
    start = data.draw(st.sampled_from(relevant))
    end = data.draw(st.integers(0, start))
    moved = list(verdicts)
    moved.insert(end, moved.pop(start))
    n = len(relevant)
    assert average_precision(moved) >= average_precision(verdicts) - 1e-12
    assert ndcg(moved, n) >= ndcg(verdicts, n) - 1e-12
    assert reciprocal_rank(moved) >= reciprocal_rank(verdicts)


@pytest.mark.parametrize("verdicts", [[True, False, 1.0], (v for v in (1, 0, 1)), "numpy"])
def test_verdicts_of_any_numeric_type(verdicts: Any) -> None:
    """Booleans, floats, generators and arrays: what equals 0 or 1 is that."""
    if isinstance(verdicts, str):
        verdicts = pytest.importorskip("numpy").array([1, 0, 1])
    assert average_precision(verdicts) == pytest.approx(5 / 6)


@pytest.mark.parametrize("verdict", [2, -1, 0.5, math.nan, "1", None])
def test_any_other_verdict_is_refused(verdict: Any) -> None:
    """By each of the numbers."""
    for number in (average_precision, reciprocal_rank, lambda v: ndcg(v, 1)):
        with pytest.raises(ValueError, match="a verdict is 0 or 1, not"):
            number([verdict])


@pytest.mark.parametrize(
    ("verdicts", "n_relevant", "rank", "gain"),
    [
        # `recip_rank` and `ndcg` of trec_eval, by pytrec_eval-terrier 0.5.11; ranx 0.3.21 agrees.
        ("1", 5, 1.0, 0.3391602052736161),
        ("101", 2, 1.0, 0.9197207891481876),
        ("010", 1, 0.5, 0.6309297535714575),
        ("001", 3, 1 / 3, 0.23463936301137822),
        ("11", 5, 1.0, 0.5531464700081437),
        ("00", 2, 0.0, 0.0),
        ("11111", 5, 1.0, 1.0),
        ("01101", 3, 0.5, 0.7122630665145961),
        ("1000000001", 4, 1.0, 0.5032251913410369),
        ("0000000001", 12, 0.1, 0.056760172607960534),
        ("01010101", 6, 0.5, 0.5244942197032835),
        ("", 2, 0.0, 0.0),
    ],
)
def test_rank_and_gain_are_those_of_trec_eval(
    verdicts: str, n_relevant: int, rank: float, gain: float
) -> None:
    """Relevant items that were not retrieved count, however few were."""
    found = [int(verdict) for verdict in verdicts]
    assert reciprocal_rank(found) == pytest.approx(rank, abs=1e-12)
    assert ndcg(found, n_relevant) == pytest.approx(gain, abs=1e-12)


@given(VERDICTS, st.integers(0, 10))
def test_gain_is_full_only_when_all_that_is_relevant_comes_first(
    verdicts: list[int], n_missed: int
) -> None:
    """Neither a short ranking nor a long one hides what was not retrieved."""
    n_relevant = sum(verdicts) + n_missed
    complete = n_relevant > 0 and verdicts[:n_relevant] == [1] * n_relevant
    assert (ndcg(verdicts, n_relevant) == pytest.approx(1.0, abs=1e-12)) is complete
