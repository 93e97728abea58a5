"""When a run ends early: errors counted, tokens and money added up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbcore._run.limits import Budget, ErrorLimit
from cbcore._run.work import Work
from cbcore.exceptions import RunError
from cbcore.results import EvalRow
from cbcore.tokens import TokenCounter, Words


def row(error=None, **fields):
    return EvalRow("system", 1, error=error, **fields)


def stopped_at(limit, outcomes):
    """The number of rows after which the limit stops the run; None when it does not."""
    for number, failed in enumerate(outcomes, 1):
        try:
            limit.count(row("boom" if failed else None))
        except RunError:
            return number
    return None


@pytest.mark.parametrize(
    ("max_errors", "expected", "outcomes", "stops"),
    [
        (None, 10, [True] * 10, None),
        (0, 10, [False, True], 2),
        (2, None, [True, False, True, False, True], 5),
        (2, None, [True, True] + [False] * 50, None),
        (0.5, 10, [True] * 5, None),
        (0.5, 10, [True] * 6, 6),
        (0.0, 10, [False, True], 2),
        (1.0, 10, [True] * 10, None),
        (0.1, 1000, [True] * 101, 101),
        (0.1, None, [True] * 19, None),
        (0.1, None, [True] * 20, 20),
        (0.1, None, [False] * 90 + [True] * 10, None),
        (0.1, None, [False] * 90 + [True] * 11, 101),
    ],
)
def test_errors_are_counted_against_a_number_or_a_share(max_errors, expected, outcomes, stops):
    """A share is of the rows expected; where these are unknown, of enough rows so far."""
    assert stopped_at(ErrorLimit(max_errors, expected=expected), outcomes) == stops


@pytest.mark.parametrize(
    ("max_errors", "expected", "n", "text"),
    [
        (2, None, 3, "stopped after 3 errored rows (max_errors is 2); the last: boom"),
        (1234, None, 1235, "stopped after 1235 errored rows (max_errors is 1234); the last: boom"),
        (0.05, 20, 2, "stopped after 2 errored rows (max_errors is 5% of rows); the last: boom"),
        (0.125, 8, 2, "stopped after 2 errored rows (max_errors is 12.5% of rows); the last: boom"),
    ],
)
def test_the_message_gives_the_limit_as_it_was_given(max_errors, expected, n, text):
    """A number as a number, a share as a percentage, and the last error."""
    limit = ErrorLimit(max_errors, expected=expected)
    for _ in range(n - 1):
        limit.count(row("boom"))
    with pytest.raises(RunError) as caught:
        limit.count(row("boom"))
    assert caught.value.message == text


def test_fail_fast_names_system_example_and_error():
    """The first errored row ends the run; good ones do not."""
    limit = ErrorLimit(max_errors=100, fail_fast=True)
    limit.count(row())
    with pytest.raises(RunError, match="system 'system' failed on example 1: boom"):
        limit.count(row("boom"))


def work(n, size=10, **fields):
    return [Work(i, i, {"context": "word " * size}, "d", **fields) for i in range(n)]


def budget(**limits):
    return Budget(TokenCounter(Words()), **limits)


def spend(limit, works, response_tokens=0, **fields):
    """Let work through one at a time, each call settled before the next; what was admitted."""
    admitted = []
    for item in limit.admit(works):
        size = limit.counter.visible(item.example)
        done = row(input_tokens=size, output_tokens=size, response_tokens=response_tokens, **fields)
        limit.settle(item, done)
        admitted.append(item)
    return admitted


def test_without_limits_everything_is_admitted():
    """And the budget says that it limits nothing."""
    limit = budget()
    assert not limit.limited
    assert len(spend(limit, work(50), 1000)) == 50
    assert limit.exhausted is None


@pytest.mark.parametrize(
    ("tokens", "response", "admitted"),
    [(9, 0, 0), (10, 0, 1), (19, 0, 1), (20, 0, 2), (29, 5, 1), (30, 5, 2), (10, 90, 1)],
)
def test_calls_are_admitted_while_they_fit(tokens, response, admitted):
    """Ten tokens in and so many out; of the first call only the input is known."""
    limit = budget(tokens=tokens)
    assert len(spend(limit, work(3), response)) == admitted
    assert limit.exhausted.startswith(f"the next call would exceed the budget of {tokens} tokens")


def test_the_largest_response_so_far_is_expected_of_the_next():
    """One long answer among short ones makes the budget careful."""
    limit = budget(tokens=100)
    responses = iter([40, 0, 0, 0])
    admitted = []
    for item in limit.admit(work(10)):
        response = next(responses)
        limit.settle(item, row(input_tokens=10, output_tokens=10, response_tokens=response))
        admitted.append(item)
    assert len(admitted) == 2  # 50 and 10 are spent; another 10 + 40 would be one hundred and ten


def test_what_a_system_adds_to_its_input_counts_too():
    """An endpoint with a system prompt reports more than it was given."""
    limit = budget(tokens=100)
    admitted = []
    for item in limit.admit(work(10)):
        limit.settle(item, row(input_tokens=10, output_tokens=35, response_tokens=5))
        admitted.append(item)
    assert len(admitted) == 2


def test_the_first_call_is_made_alone():
    """Until it has come back nobody knows what calls take: the rest is held."""
    limit = budget(tokens=1000)
    admitted = limit.admit(work(10))
    assert not admitted.holds()
    first = next(admitted)
    assert admitted.holds()
    limit.settle(first, row(input_tokens=10, output_tokens=10))
    assert not admitted.holds()
    assert [item.index for item in admitted] == list(range(1, 10))


def test_calls_under_way_are_taken_into_account():
    """What they reserve is not given to others; these wait for what they really take."""
    limit = budget(tokens=45)
    admitted = limit.admit(work(10))
    limit.settle(next(admitted), row(input_tokens=10, output_tokens=10))
    under_way = [next(admitted) for _ in range(3)]
    assert admitted.holds()
    for item in under_way:
        limit.settle(item, row(input_tokens=10, output_tokens=1))
    assert not admitted.holds()
    assert next(admitted).index == 4


def test_what_waits_is_neither_lost_nor_asked_for_twice():
    """Asking whether the next has to wait looks at it, and leaves it the next."""
    limit = budget(tokens=1000)
    admitted = limit.admit(work(3))
    seen = [(admitted.holds(), next(admitted).index, admitted.holds()) for _ in range(2)]
    assert seen == [(False, 0, True), (True, 1, True)]
    assert next(admitted).index == 2
    assert not admitted.holds()
    assert next(admitted, None) is None


def test_calls_that_are_abandoned_count_as_they_were_expected():
    """Nobody knows what became of them, so the next does not wait for them, and they are paid."""
    limit = budget(tokens=35)
    admitted = limit.admit(work(10))
    limit.settle(next(admitted), row(input_tokens=10, output_tokens=10))
    next(admitted)
    limit.abandon()
    others = limit.admit(work(10))
    assert not others.holds()
    assert [item.index for item in others] == [0]
    assert "(20 spent)" in limit.exhausted


def test_stored_results_and_unusable_examples_are_free():
    """They are let through whatever the budget, and settle nothing."""
    limit = budget(tokens=1, usd=0.01)
    free = [*work(3, recalled=object()), *work(3, problem="no context")]
    assert spend(limit, free, 50, metadata={"cost_usd": 1.0}) == free
    assert limit.exhausted is None


def test_a_failed_call_costs_its_input():
    """What the endpoint got was spent, although nothing came of it."""
    limit = budget(tokens=30)
    admitted = []
    for item in limit.admit(work(10)):
        limit.settle(item, row("boom", input_tokens=10))
        admitted.append(item)
    assert len(admitted) == 3


@pytest.mark.parametrize("cost", [None, "much", [1]])
def test_a_cost_that_is_no_number_is_none(cost):
    """Metadata is the system's own: it may hold anything."""
    limit = budget(usd=0.5)
    assert len(spend(limit, work(5), metadata={"cost_usd": cost})) == 5


def test_the_message_says_what_was_spent():
    """In the unit of the budget."""
    limit = budget(usd=0.6)
    assert len(spend(limit, work(5), metadata={"cost_usd": 0.25})) == 2
    assert limit.exhausted == "the next call would exceed the budget of $0.6 ($0.5000 spent)"
    limit = budget(tokens=2500)
    spend(limit, work(300))
    assert limit.exhausted == (
        "the next call would exceed the budget of 2,500 tokens (2,500 spent)"
    )


@given(
    sizes=st.lists(st.integers(0, 40), max_size=20),
    overlap=st.integers(1, 5),
    response=st.integers(0, 15),
    tokens=st.integers(1, 400),
)
def test_the_budget_holds_whatever_overlaps(sizes, overlap, response, tokens):
    """Calls that take alike never exceed it together, but for the very first."""
    limit = budget(tokens=tokens)
    works = [Work(i, i, {"context": "word " * size}, "d") for i, size in enumerate(sizes)]
    spent, under_way = 0, []

    def settle():
        nonlocal spent
        item = under_way.pop(0)
        size = limit.counter.visible(item.example)
        spent += size + response
        limit.settle(item, row(input_tokens=size, output_tokens=size, response_tokens=response))

    admitted = limit.admit(works)
    while True:
        while under_way and (len(under_way) >= overlap or admitted.holds()):
            settle()
        if (item := next(admitted, None)) is None:
            break
        under_way.append(item)
    while under_way:
        settle()
    assert spent <= tokens or spent == (sizes[0] if sizes else 0) + response
