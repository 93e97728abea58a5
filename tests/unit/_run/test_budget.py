"""Budgets: tokens and money are set aside before a call, and settled by what it took."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbcore._run.budget import Budget, check_dollars
from cbcore._run.parts import Part
from cbcore._run.work import Work
from cbcore.exceptions import RunError, UsageError
from cbcore.results import EvalRow
from cbcore.tokens import TokenCounter, Words


def row(error=None, **fields):
    return EvalRow("system", 1, error=error, **fields)


def work(n, size=10, **fields):
    return [Work(i, i, {"context": "word " * size}, "d", **fields) for i in range(n)]


class Silent:
    """A system that says nothing of what its calls take."""

    name = "silent"


class Priced:
    """A cent for each token of input and of reply, which may be limited."""

    name = "priced"

    def __init__(self, most_reply_tokens=None):
        self.most_reply_tokens = most_reply_tokens

    def estimate_usd(self, calls, tokens):
        return 0.01 * (tokens + calls * (self.most_reply_tokens or 256))


def account(system=None, **limits):
    return Budget(TokenCounter(Words()), **limits).account(Part(system or Silent()))


def size_of(item):
    return TokenCounter(Words()).visible(item.example)


def spend(limit, works, response_tokens=0, **fields):
    """Let work through one at a time, each call settled before the next; what was admitted."""
    admitted = []
    for item in limit.admit(works):
        size = size_of(item)
        done = row(input_tokens=size, output_tokens=size, response_tokens=response_tokens, **fields)
        limit.settle(item, done)
        admitted.append(item)
    return admitted


def why(limit):
    """Why the budget of an account is exhausted."""
    return limit._budget.exhausted


def test_without_limits_everything_is_admitted():
    """And the budget says that it limits nothing."""
    limit = account()
    assert not limit._budget.limited
    assert len(spend(limit, work(50), 1000)) == 50
    assert why(limit) is None


@pytest.mark.parametrize(
    ("tokens", "response", "admitted"),
    [(9, 0, 0), (10, 0, 1), (19, 0, 1), (20, 0, 2), (29, 5, 1), (30, 5, 2), (10, 90, 1)],
)
def test_calls_are_admitted_while_they_fit(tokens, response, admitted):
    """Ten tokens in and so many out; of the first call only the input is known."""
    limit = account(tokens=tokens)
    assert len(spend(limit, work(3), response)) == admitted
    assert why(limit).startswith(f"the next call would exceed the budget of {tokens} tokens")


def test_the_largest_response_so_far_is_expected_of_the_next():
    """One long answer among short ones makes the budget careful."""
    limit = account(tokens=100)
    responses = iter([40, 0, 0, 0])
    admitted = []
    for item in limit.admit(work(10)):
        response = next(responses)
        limit.settle(item, row(input_tokens=10, output_tokens=10, response_tokens=response))
        admitted.append(item)
    assert len(admitted) == 2  # 50 and 10 are spent; another 10 + 40 would be one hundred and ten


def test_what_a_system_adds_to_its_input_counts_too():
    """An endpoint with a system prompt reports more than it was given."""
    limit = account(tokens=100)
    admitted = []
    for item in limit.admit(work(10)):
        limit.settle(item, row(input_tokens=10, output_tokens=35, response_tokens=5))
        admitted.append(item)
    assert len(admitted) == 2


def test_the_first_call_is_made_alone():
    """Until it has come back nobody knows what calls take: the rest is held."""
    limit = account(tokens=1000)
    admitted = limit.admit(work(10))
    assert not admitted.holds()
    first = next(admitted)
    assert admitted.holds()
    limit.settle(first, row(input_tokens=10, output_tokens=10))
    assert not admitted.holds()
    assert [item.index for item in admitted] == list(range(1, 10))


def test_calls_under_way_are_taken_into_account():
    """What they reserve is not given to others; these wait for what they really take."""
    limit = account(tokens=45)
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
    limit = account(tokens=1000)
    admitted = limit.admit(work(3))
    seen = [(admitted.holds(), next(admitted).index, admitted.holds()) for _ in range(2)]
    assert seen == [(False, 0, True), (True, 1, True)]
    assert next(admitted).index == 2
    assert not admitted.holds()
    assert next(admitted, None) is None


def test_calls_that_are_abandoned_count_as_they_were_expected():
    """Nobody knows what became of them, so the next does not wait for them, and they are paid."""
    limit = account(tokens=35)
    admitted = limit.admit(work(10))
    limit.settle(next(admitted), row(input_tokens=10, output_tokens=10))
    next(admitted)
    limit.abandon()
    others = limit.admit(work(10))
    assert not others.holds()
    assert [item.index for item in others] == [0]
    assert "(20 spent)" in why(limit)


def test_stored_results_and_unusable_examples_are_free():
    """They are let through whatever the budget, and settle nothing."""
    limit = account(tokens=1, usd=0.01)
    free = [*work(3, recalled=object()), *work(3, problem="no context")]
    assert spend(limit, free, 50, metadata={"cost_usd": 1.0}) == free
    assert why(limit) is None


def test_a_failed_call_costs_its_input():
    """What the endpoint got was spent, although nothing came of it."""
    limit = account(tokens=30)
    admitted = []
    for item in limit.admit(work(10)):
        limit.settle(item, row("boom", input_tokens=10))
        admitted.append(item)
    assert len(admitted) == 3


@pytest.mark.parametrize("cost", [None, "much", [1]])
def test_a_cost_that_is_no_number_is_none(cost):
    """Metadata is the system's own: it may hold anything."""
    limit = account(usd=0.5)
    assert len(spend(limit, work(5), metadata={"cost_usd": cost})) == 5


def test_the_message_says_what_was_spent():
    """In the unit of the budget."""
    limit = account(usd=0.6)
    assert len(spend(limit, work(5), metadata={"cost_usd": 0.25})) == 2
    assert why(limit) == "the next call would exceed the budget of $0.6 ($0.5000 spent)"
    limit = account(tokens=2500)
    spend(limit, work(300))
    assert why(limit) == ("the next call would exceed the budget of 2,500 tokens (2,500 spent)")


@given(
    sizes=st.lists(st.integers(0, 40), max_size=20),
    overlap=st.integers(1, 5),
    response=st.integers(0, 15),
    tokens=st.integers(1, 400),
)
def test_the_budget_holds_whatever_overlaps(sizes, overlap, response, tokens):
    """Calls that take alike never exceed it together, but for the very first."""
    limit = account(tokens=tokens)
    works = [Work(i, i, {"context": "word " * size}, "d") for i, size in enumerate(sizes)]
    spent, under_way = 0, []

    def settle():
        nonlocal spent
        item = under_way.pop(0)
        size = size_of(item)
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


# -- what was set aside, and what was billed ------------------------------------------------------


def overlapping(limit, works, costs, at_once):
    """Calls `at_once`, each with its row when it is over; the number made and what they cost."""
    spent, under_way, made = 0.0, [], 0
    admitted = limit.admit(works)
    while True:
        while under_way and (len(under_way) >= at_once or admitted.holds()):
            cost = under_way[0][1]
            limit.settle(under_way.pop(0)[0], row(input_tokens=10, metadata={"cost_usd": cost}))
            spent += cost
        if (item := next(admitted, None)) is None:
            break
        under_way.append((item, costs[made]))
        made += 1
    return made, spent + sum(cost for _, cost in under_way)


@given(
    start=st.floats(0.01, 1),
    grows=st.floats(0, 1),
    at_once=st.integers(1, 64),
    usd=st.floats(1, 50),
)
def test_costs_that_grow_exceed_a_budget_by_one_call_at_most(start, grows, at_once, usd):
    """By as much as the first cost, call by call: those under way may take twice the dearest."""
    costs = [start * (1 + grows * i) for i in range(300)]
    made, spent = overlapping(account(usd=usd), work(300), costs, at_once)
    assert spent <= usd + max(costs[: max(made, 1)])


@pytest.mark.parametrize(
    "failed",
    [
        {"cost_usd": 0.25, "spent_tokens": 40},
        {"cost_usd": 0.25, "spent_tokens": 40, "requests_of_unknown_cost": 0},
    ],
)
def test_a_failure_that_was_billed_counts_as_what_it_cost(failed):
    """A refusal has a usage like any answer."""
    limit = account(usd=1.0)
    admitted = []
    for item in limit.admit(work(20)):
        limit.settle(item, row("refused", input_tokens=10, metadata=failed))
        admitted.append(item)
    assert len(admitted) == 4
    assert "$1.0000 spent" in why(limit)


def test_a_failure_that_was_not_billed_costs_nothing():
    """The endpoint turned it down, and said so."""
    limit = account(tokens=35)
    free = {"spent_tokens": 0, "cost_usd": 0.0}
    assert len([limit.settle(i, row("401", metadata=free)) for i in limit.admit(work(9))]) == 9


def test_requests_that_tell_nothing_count_as_what_was_set_aside():
    """A time-out may have been billed; so may each attempt before an answer."""
    limit = account(Priced(most_reply_tokens=10), usd=10.0)
    first, *others = limit.admit(work(2))
    limit.settle(first, row("timed out", input_tokens=10))
    assert limit._budget.spent_usd == pytest.approx(0.2)
    retried = {"cost_usd": 0.15, "requests_of_unknown_cost": 3}
    limit.settle(others[0], row(input_tokens=10, metadata=retried))
    assert limit._budget.spent_usd == pytest.approx(0.2 + 0.15 + 3 * 0.2)


@pytest.mark.parametrize(
    "failed",
    [{}, {"cost_usd": 0.0, "spent_tokens": 0}, {"requests_of_unknown_cost": 1}],
)
def test_failures_do_not_open_the_window(failed):
    """After any number of them, calls are still made one by one until one shows its cost."""
    limit = account(usd=5.0)
    admitted = limit.admit(work(50))
    for _ in range(10):
        item = next(admitted)
        assert admitted.holds()
        limit.settle(item, row("boom", input_tokens=10, metadata=failed))
    limit.settle(next(admitted), row(input_tokens=10, metadata={"cost_usd": 0.01}))
    assert [admitted.holds() or next(admitted).index for _ in range(3)] == [11, 12, True]


def test_another_system_is_not_taken_to_cost_as_much():
    """The money is for all; what calls take is learned of each."""
    money = Budget(TokenCounter(Words()), usd=100.0)
    cheap, dear = money.account(Part(Silent())), money.account(Part(Silent()))
    for item in cheap.admit(work(50)):
        cheap.settle(item, row(input_tokens=10, metadata={"cost_usd": 0.01}))
    admitted = dear.admit(work(50))
    next(admitted)
    assert admitted.holds()


def test_where_replies_are_limited_a_call_that_may_not_fit_is_not_made():
    """Not even the first: 10 + 5 tokens at a cent each may take 15 cents."""
    limit = account(Priced(most_reply_tokens=5), usd=0.14)
    assert spend(limit, work(3)) == []
    assert why(limit) == (
        "the next call would exceed the budget of $0.14 ($0.0000 spent, and a call may take $0.1500)"
    )
    limit = account(Priced(most_reply_tokens=5), tokens=14)
    assert spend(limit, work(3)) == []
    assert "(0 spent, and a call may take 15)" in why(limit)


def test_a_conversation_may_take_as_much_at_each_of_its_turns():
    """All that was said before is sent again."""
    talk = Work(0, 0, {"turns": ["one two", "three", "four"]}, "d")
    limit = account(Priced(most_reply_tokens=5), usd=9.0, tokens=1000)
    assert limit.take(talk)
    assert (talk.reserved_tokens, talk.reserved_usd) == (27, pytest.approx(0.27))


def test_a_longer_input_is_expected_to_cost_more():
    """At the price of its tokens, where that is known."""
    limit = account(Priced(), usd=1.0)
    (short,) = limit.admit(work(1))
    limit.settle(short, row(input_tokens=10, metadata={"cost_usd": 0.2}))
    assert limit.take(work(1, 60)[0])
    assert limit._budget.reserved_usd == pytest.approx(0.2 + 0.5)


@pytest.mark.parametrize("cost", [None, 0, -1.0, math.nan, math.inf, "much", True])
def test_a_priced_system_that_tells_no_cost_is_stopped_after_its_first_answer(cost):
    """Nobody can keep that budget, and it is said at once; a cost of nothing is one."""
    limit = account(Priced(), usd=5.0)
    admitted = spend(limit, work(30), metadata={"cost_usd": cost})
    if cost == 0:
        assert len(admitted) == 30
        return
    assert len(admitted) == 1
    assert "'priced' does not tell what its calls cost" in why(limit)
    assert "--budget-tokens" in limit._budget.hint


def test_a_price_of_nothing_needs_no_cost():
    """A model of one's own is free, whether it counts or not."""

    class Free(Priced):
        def estimate_usd(self, calls, tokens):
            return 0.0

    assert len(spend(account(Free(), usd=0.01), work(30), metadata={"spent_tokens": 9})) == 30


def test_tokens_without_a_cost_stop_a_budget_in_dollars():
    """A model was asked, and nobody knows at what price."""
    limit = account(usd=5.0)
    assert len(spend(limit, work(30), metadata={"spent_tokens": 12})) == 1
    assert "'silent' does not tell what its calls cost" in why(limit)


@pytest.mark.parametrize("told", [0, -50, 3.5, math.nan, True, "many"])
def test_a_usage_that_cannot_be_is_counted_here(told):
    """As what was sent and received."""
    limit = account(tokens=60)
    assert len(spend(limit, work(9), 10, metadata={"spent_tokens": told})) == 3


class Unpriced:
    name = "unpriced"
    estimate_usd = None


class Failing:
    name = "failing"

    def estimate_usd(self, calls, tokens):
        return -1.0 if tokens else 1 / 0


def test_a_budget_in_dollars_is_refused_where_a_price_is_not_known():
    """Before anything is spent; one that says nothing of money may be free."""
    check_dollars([Part(Silent()), Part(Priced())])
    with pytest.raises(UsageError, match="no price is known for 'unpriced'"):
        check_dollars([Part(Silent()), Part(Unpriced())])
    with pytest.raises(RunError, match="'failing' could not estimate its cost: it returned -1"):
        check_dollars([Part(Failing())])
