"""Votes: how they are combined, and how far they agree."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_llm_judge import BINARY, JudgeError, Verdict
from cb_llm_judge.panel import Poll, Vote, poll


def poll_of(*values, failures=()):
    votes = tuple(Vote("m", Verdict(value, f"because {value}")) for value in values)
    return Poll(votes, tuple(failures))


@pytest.mark.parametrize(
    ("values", "combine", "expected"),
    [
        ((4,), "mean", 4.0),
        ((1, 5, 5), "mean", 11 / 3),
        ((1, 5, 5), "median", 5.0),
        ((1, 4), "median", 2.5),
        ((1, 5, 5), "majority", 5.0),
        ((3,), "majority", 3.0),
    ],
)
def test_votes_are_combined_as_asked(values, combine, expected):
    assert poll_of(*values).number(combine) == pytest.approx(expected)


@pytest.mark.parametrize("values", [(1, 5), (1, 2, 3), (1, 1, 2, 2), (4, 4, 5, 3)])
def test_without_more_than_half_for_one_value_there_is_no_majority(values):
    with pytest.raises(JudgeError, match="no verdict has a majority"):
        poll_of(*values).majority()


@pytest.mark.parametrize(
    ("values", "agreement"),
    [((4,), 1.0), ((4, 4), 1.0), ((4, 5), 0.0), ((4, 4, 5), 1 / 3), ((1, 1, 2, 2), 1 / 3)],
)
def test_agreement_is_the_share_of_equal_pairs(values, agreement):
    """As P_i in Fleiss (1971): (Σ n_ij² - n) / (n (n - 1))."""
    assert poll_of(*values).agreement() == pytest.approx(agreement)


@given(st.lists(st.integers(1, 5), min_size=2, max_size=12))
def test_agreement_equals_the_formula_of_fleiss(values):
    n = len(values)
    squares = sum(values.count(value) ** 2 for value in set(values))
    assert poll_of(*values).agreement() == pytest.approx((squares - n) / (n * (n - 1)))


@pytest.mark.parametrize(
    ("values", "n_failed", "passes"), [((4, 4), 1, True), ((4,), 1, False), ((), 3, False)]
)
def test_more_than_half_of_the_votes_have_to_be_usable(values, n_failed, passes):
    given_votes = poll_of(*values, failures=["timeout"] * n_failed)
    if passes:
        given_votes.check_quorum()
    else:
        with pytest.raises(JudgeError, match=rf"{n_failed} of \d votes failed; the first: timeout"):
            given_votes.check_quorum()


def test_the_reason_shown_is_that_of_the_vote_nearest_to_the_result():
    assert poll_of(1, 5, 4).reason_nearest(10 / 3) == "because 4"


class Asked:
    """Gives one verdict after another, at a cent each; an exception stands for a failure."""

    model = "m"

    def __init__(self, *outcomes):
        self.outcomes = iter(outcomes)

    async def ask(self, prompt, form, *, seed=None):
        cost = {"calls": 1, "cost_usd": 0.01}
        value = next(self.outcomes)
        if value is None:
            raise JudgeError("no verdict", cost=cost)
        return Verdict(value, cost=cost)


@pytest.mark.parametrize(
    ("outcomes", "decide"),
    [((1, 0, 1), None), ((1, None, None), Poll.check_quorum), ((1, 0, None), Poll.majority)],
)
def test_every_vote_counts_in_the_cost(outcomes, decide):
    """Failed ones too, whether or not the others are enough."""
    given = asyncio.run(poll([Asked(*outcomes)], "?", BINARY, 3))
    cost = {"calls": 3, "cost_usd": pytest.approx(0.03)}
    assert given.cost == cost
    if decide is not None:
        with pytest.raises(JudgeError) as caught:
            decide(given)
        assert caught.value.cost == cost
