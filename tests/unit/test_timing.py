"""What of a call is waiting, as systems say."""

from __future__ import annotations

import asyncio
import time

import pytest

from cbcore import evaluate, timing
from cbcore.run import pair
from cbcore.timing import waiting


class Clock:
    """Time that passes only when told to. Time limits are not measured by it."""

    monotonic = staticmethod(time.monotonic)

    def __init__(self):
        self.now = 1.0

    def perf_counter(self):
        return self.now

    def work(self, seconds):
        self.now += seconds

    def wait(self, seconds):
        with waiting():
            self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(timing, "time", made)
    monkeypatch.setattr(pair, "time", made)
    return made


class Blocking:
    """A system that does with each example what it is told to."""

    name = "system"

    def __init__(self, *does):
        self.does = does

    def process(self, example):
        self.does[example["id"]]()
        return {"response": "x", "metadata": {"fact": 1}}


class Awaited:
    name = "system"

    def __init__(self, *does):
        self._system = Blocking(*does)

    async def aprocess(self, example):
        return self._system.process(example)


class Waits:
    """An evaluator that waits in the thread in which the next call is made."""

    name = "waits"

    def __init__(self, clock):
        self.clock = clock

    def score(self, original, processed):
        self.clock.wait(2.0)
        return {"one": 1.0}


class AwaitedWaits(Waits):
    async def ascore(self, original, processed):
        return self.score(original, processed)


def run(kind, *does, evaluators=()):
    """The rows of one call after another: in the driver, in a thread, or on the event loop."""
    system = (Awaited if kind == "awaited" else Blocking)(*does)
    examples = [{"id": number, "context": "c"} for number in range(len(does))]
    limit = 60 if kind == "timed" else None
    return evaluate(
        [system], examples, evaluators, [], progress=False, concurrency=1, timeout_s=limit
    ).rows


every_kind = pytest.mark.parametrize("kind", ["plain", "timed", "awaited"])


@every_kind
def test_what_a_system_says_it_waited_is_left_out_of_its_latency(kind, clock):
    """It is in the row's metadata, next to what the system put there."""

    def does():
        clock.work(0.5)
        clock.wait(2.0)
        clock.wait(1.0)

    (row,) = run(kind, does)
    assert row.latency == pytest.approx(0.5)
    assert row.metadata == {"fact": 1, "waited_s": pytest.approx(3.0)}


@every_kind
def test_without_waiting_nothing_is_said(kind, clock):
    (row,) = run(kind, lambda: clock.work(0.5))
    assert row.latency == pytest.approx(0.5)
    assert row.metadata == {"fact": 1}


@every_kind
def test_what_others_waited_before_a_call_is_not_taken_from_it(kind, clock):
    """An evaluator, a dataset or a warm-up may wait in the very thread that calls next."""
    clock.wait(2.0)
    evaluator = (AwaitedWaits if kind == "awaited" else Waits)(clock)
    rows = run(kind, *[lambda: clock.work(0.5)] * 2, evaluators=[evaluator])
    assert [row.scores for row in rows] == [{"one": 1.0}] * 2
    assert [row.latency for row in rows] == [pytest.approx(0.5)] * 2
    assert [row.metadata for row in rows] == [{"fact": 1}] * 2


@every_kind
def test_what_a_failed_call_waited_is_not_charged_to_the_next(kind, clock):
    """Each call has its own."""

    def fail():
        clock.wait(2.0)
        raise ValueError

    failed, done = run(kind, fail, lambda: clock.work(0.5))
    assert failed.error is not None
    assert failed.latency == pytest.approx(0.0)
    assert done.metadata == {"fact": 1}
    assert done.latency == pytest.approx(0.5)


def test_calls_on_one_loop_wait_each_for_themselves(clock):
    """One that waits while another works is charged alone."""
    at_work = asyncio.Event()

    class System:
        name = "system"

        async def aprocess(self, example):
            if example["id"] == 1:
                with waiting():
                    await at_work.wait()
            else:
                clock.work(2.0)
                at_work.set()
            return {}

    examples = [{"id": number, "context": "c"} for number in (1, 2)]
    waited, worked = evaluate([System()], examples, [], [], progress=False, concurrency=2).rows
    assert waited.metadata == {"waited_s": pytest.approx(2.0)}
    assert (waited.latency, worked.latency) == (pytest.approx(0.0), pytest.approx(2.0))
    assert worked.metadata == {}


def test_waits_that_overlap_count_once(clock):
    """Two tasks of one call that wait at the same time."""
    waits = timing.Waits()
    waits.begin()
    clock.work(1.0)
    waits.begin()
    clock.work(1.0)
    waits.end()
    clock.work(1.0)
    waits.end()
    assert waits.seconds == pytest.approx(3.0)


def test_tasks_of_a_call_wait_for_it():
    """A task and a thread that the call starts share what it waited."""

    async def run():
        waits = timing.start_waits()

        async def task():
            with waiting():
                pass
            return timing.current_waits()

        def thread():
            with waiting():
                pass
            return timing.current_waits()

        assert await asyncio.create_task(task()) is waits
        assert await asyncio.to_thread(thread) is waits

    asyncio.run(run())
