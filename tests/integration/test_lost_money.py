"""Workers that are lost while money is counted: what may have been paid is counted, and once."""

from __future__ import annotations

from concurrent.futures import Future

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cbcore.exceptions import RunStoppedError
from cbcore.protocols import Cost, WorkerLost
from cbcore.results import Scored
from cbcore.run.workers import open_worker
from cbcore.settings import RunSettings
from cbcore.settings.compose import compose

CALLED: list[int] = []
JUDGED: list[int] = []


class Priced:
    """Each call costs a dollar, and it says so before."""

    name = "priced"

    def process(self, example):
        CALLED.append(example["id"])
        return {"response": "yes", "metadata": {"cost_usd": 1.0}}

    def max_cost(self, example):
        return Cost(1.0, tokens=2)


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

    def max_cost(self, example):
        return Cost(0.5, tokens=1)


class Unpriced:
    """The same, but what it takes is learned from what it took."""

    name = "judge"
    emits = ("verdict",)
    ascore = Judge.ascore


class LosingPool:
    """Makes each call at once, and is lost with some of the replies."""

    n_workers = 1

    def __init__(self, worker, losses):
        self._run_task = open_worker(worker)
        self._losses = iter(losses)

    def submit(self, task, begin):
        begin()
        future = Future()
        reply = self._run_task(task)
        if next(self._losses, False):
            future.set_exception(WorkerLost("a worker was shot"))
        else:
            future.set_result(reply)
        return future

    def end(self, future):
        raise AssertionError("no call takes long")

    def close(self):
        pass


class Losing:
    name = "losing"

    def __init__(self, losses):
        self._losses = losses

    def open(self, worker, *, workers):
        return LosingPool(worker, self._losses)


def run(system, judges, losses, n, usd, **more):
    """The rows, what was really paid, and what the budget counted."""
    CALLED.clear()
    JUDGED.clear()
    data = [{"id": i, "context": "c", "question": "q"} for i in range(n)]
    wanted = RunSettings(
        systems=[system],
        datasets=[data],
        evaluators=judges,
        metrics=[],
        budget_usd=usd,
        executor=Losing(losses),
        **more,
    )
    running = compose(wanted, warn=lambda message: None)
    try:
        result = running.run()
    except RunStoppedError as stopped:
        result = stopped.result
    assert not running.budget.open
    return result.rows, len(CALLED) + 0.5 * len(JUDGED), result.config["spent"]["usd"]


@pytest.mark.parametrize("judge", [Judge(), Unpriced()])
def test_a_lost_call_is_paid_twice_and_judged_once(judge):
    """Six calls and one that was lost, six verdicts; nothing stays set aside."""
    rows, paid, spent = run(Priced(), [judge], [False, True], 6, 20.0)
    assert [(row.example_id, row.scores) for row in rows] == [
        (i, {"verdict": 1.0}) for i in range(6)
    ]
    assert CALLED == [0, 1, 1, 2, 3, 4, 5]
    assert sorted(JUDGED) == list(range(6))
    assert spent == paid == 10.0


@pytest.mark.parametrize(("losses", "usd", "calls"), [([True], 1.0, 1), ([True] * 2, 9.0, 2)])
def test_a_lost_call_that_cannot_be_made_again_is_a_failed_row(losses, usd, calls):
    """Because of the budget, or because it was lost twice. Each of its calls counts once."""
    rows, paid, spent = run(Priced(), [], losses, 1, usd)
    assert [0] * calls == CALLED
    assert "shot" in rows[0].error
    assert spent == paid == calls


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
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
    rows, paid, spent = run(system, judges, losses, 6, usd, repeats=repeats)
    places = [(row.example_id, row.repeat) for row in rows]
    assert places == [(i, r) for i in range(6) for r in range(repeats)][: len(rows)]
    assert len(JUDGED) == (sum(row.error is None for row in rows) if judges else 0)
    assert spent == pytest.approx(paid)
    if not isinstance((judges or [None])[0], Unpriced):  # whose first verdict nobody foresees
        assert paid <= usd
