"""Workers that are lost while money is counted: what may have been paid is counted, and once."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cbcore.exceptions import RunStoppedError
from cbcore.results import Scored
from cbcore.settings import RunSettings
from cbcore.settings.compose import compose
from cbcore.workers import Reply
from tests.inline_executor import InlineCrew

CALLED: list[int] = []
JUDGED: list[int] = []


class Priced:
    """Each call costs a dollar, and it says so before."""

    name = "priced"
    most_reply_tokens = 1

    def process(self, example):
        CALLED.append(example["id"])
        return {"response": "yes", "metadata": {"cost_usd": 1.0}}

    def estimate_usd(self, calls, input_tokens):
        return float(calls)


class AwaitedPriced(Priced):
    name = "awaited"

    async def aprocess(self, example):
        return self.process(example)


class Judge:
    """Half a dollar for each answer, as it says before."""

    name = "judge"
    emits = ("verdict",)

    async def ascore(self, original, processed):
        JUDGED.append(original["id"])
        return Scored({"verdict": 1.0}, cost={"calls": 1, "spent_tokens": 1, "cost_usd": 0.5})

    def estimate_usd(self, calls, input_tokens):
        return 0.5 * calls


class Unpriced(Judge):
    """The same, but what it takes is learned from what it took."""

    estimate_usd = None

    def __getattribute__(self, name):
        if name == "estimate_usd":
            raise AttributeError(name)
        return super().__getattribute__(name)


class Losing(InlineCrew):
    """Makes the calls of a batch and is lost with some of the answers, as it was told."""

    def __init__(self, recipe, losses):
        super().__init__(recipe)
        self.losses = iter(losses)

    def send(self, batch):
        super().send(batch)
        if next(self.losses, False):
            self.waiting = [Reply(batch.id, lost="shot")]


class Executor:
    name = "losing"

    def __init__(self, losses):
        self.losses = losses

    def open(self, recipe, *, workers):
        return Losing(recipe, self.losses)


def run(system, judges, losses, n, usd, **more):
    """The rows, what was really paid, and the budget in the end."""
    CALLED.clear()
    JUDGED.clear()
    data = [{"id": i, "context": "c", "question": "q"} for i in range(n)]
    request = RunSettings(
        systems=[system],
        datasets=[data],
        evaluators=judges,
        metrics=[],
        budget_usd=usd,
        executor=Executor(losses),
        **more,
    )
    running = compose(request, warn=lambda message: None)
    try:
        result = running.execute()
    except RunStoppedError as stopped:
        result = stopped.result
    return result.rows, len(CALLED) + 0.5 * len(JUDGED), running.context.budget


@pytest.mark.parametrize("judge", [Judge(), Unpriced()])
def test_a_lost_call_is_paid_twice_and_judged_once(judge):
    """Six calls and one that was lost, six verdicts; nothing stays set aside."""
    rows, paid, budget = run(Priced(), [judge], [False, True], 6, 20.0)
    assert [(row.example_id, row.scores) for row in rows] == [
        (i, {"verdict": 1.0}) for i in range(6)
    ]
    assert len(CALLED) > 6
    assert sorted(JUDGED) == list(range(6))
    assert budget.spent_usd == paid
    assert (budget.reserved_usd, budget.reserved_tokens, budget.n_under_way) == (0.0, 0, 0)


def test_a_lost_call_that_cannot_be_made_again_is_counted_once():
    """It was made once, and its row says why it has no answer; another does not fit."""
    rows, paid, budget = run(Priced(), [], [True], 1, 1.0)
    assert CALLED == [0]
    assert "the budget does not allow another call" in rows[0].error
    assert budget.spent_usd == paid == 1.0


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    losses=st.lists(st.booleans(), max_size=12),
    usd=st.floats(1.0, 25.0),
    system=st.sampled_from([Priced(), AwaitedPriced()]),
    judges=st.sampled_from([[], [Judge()], [Unpriced()]]),
    repeats=st.sampled_from([1, 3]),
)
def test_whatever_is_lost_what_was_paid_is_counted_and_stays_within_the_budget(
    losses, usd, system, judges, repeats
):
    """Rows are there once and in order, and no call is made that the budget does not allow."""
    rows, paid, budget = run(system, judges, losses, 6, usd, repeats=repeats)
    places = [(row.example_id, row.repeat) for row in rows]
    assert places == [(i, r) for i in range(6) for r in range(repeats)][: len(rows)]
    assert len(JUDGED) == (sum(row.error is None for row in rows) if judges else 0)
    assert budget.spent_usd == pytest.approx(paid)
    if not isinstance((judges or [None])[0], Unpriced):  # whose first verdict nobody foresees
        assert paid <= usd
    assert (budget.reserved_usd, budget.reserved_tokens, budget.n_under_way) == (0.0, 0, 0)
