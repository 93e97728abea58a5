"""What of a call is waiting, as systems say."""

from __future__ import annotations

import asyncio

import pytest

from cbcore import timing
from cbcore._run import calls
from cbcore._run.calls import AsyncCaller, SyncCaller
from cbcore._run.work import Work
from cbcore.timing import waiting

WORK = Work(0, 1, {"id": 1, "context": "c"}, "d")


class Clock:
    """Time that passes only when told to."""

    def __init__(self):
        self.now = 1.0

    def perf_counter(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(timing, "time", made)
    monkeypatch.setattr(calls, "time", made)
    return made


def system_that(does):
    class System:
        name = "system"

        def process(self, example):
            does()
            return {"response": "x", "metadata": {"fact": 1}}

        async def aprocess(self, example):
            return self.process(example)

    return System()


def called(kind, does):
    """The result of one call, by the caller of that kind."""
    system = system_that(does)
    if kind == "awaited":
        return asyncio.run(AsyncCaller(system)(WORK))
    return SyncCaller(system, 60 if kind == "timed" else None)(WORK)


every_kind = pytest.mark.parametrize("kind", ["plain", "timed", "awaited"])


@every_kind
def test_what_a_system_says_it_waited_is_left_out_of_its_latency(kind, clock):
    """And kept in the row's metadata, beside what the system put there."""

    def does():
        clock.sleep(0.5)
        with waiting():
            clock.sleep(2.0)
        with waiting():
            clock.sleep(1.0)

    done = called(kind, does)
    assert done.latency == pytest.approx(0.5)
    assert done.output["metadata"] == {"fact": 1, "waited_s": pytest.approx(3.0)}


@every_kind
def test_without_waiting_nothing_is_said(kind, clock):
    """The output is the very one the system returned."""
    done = called(kind, lambda: clock.sleep(0.5))
    assert done.latency == pytest.approx(0.5)
    assert done.output == {"response": "x", "metadata": {"fact": 1}}


@every_kind
def test_what_others_waited_before_a_call_is_not_taken_from_it(kind, clock):
    """An evaluator, a dataset or a warm-up may wait in the very thread that calls next."""
    with waiting():
        clock.sleep(2.0)
    done = called(kind, lambda: clock.sleep(0.5))
    assert done.latency == pytest.approx(0.5)
    assert "waited_s" not in done.output["metadata"]


@pytest.mark.parametrize("kind", ["plain", "timed"])
def test_what_a_failed_call_waited_is_not_charged_to_the_next(kind, clock):
    """Each call has its own."""
    failing = [True]

    def does():
        if failing.pop() if failing else False:
            with waiting():
                clock.sleep(2.0)
                raise ValueError
        clock.sleep(0.5)

    caller = SyncCaller(system_that(does), 60 if kind == "timed" else None)
    failed = caller(WORK)
    assert failed.error is not None
    assert failed.latency == pytest.approx(0.0)
    done = caller(WORK)
    assert "waited_s" not in done.output["metadata"]
    assert done.latency == pytest.approx(0.5)


def test_calls_on_one_loop_wait_each_for_themselves(clock):
    """One that waits while another works is charged alone."""

    async def run():
        at_work = asyncio.Event()

        class System:
            name = "system"

            async def aprocess(self, example):
                if example["id"] == 1:
                    with waiting():
                        await at_work.wait()
                else:
                    clock.sleep(2.0)
                    at_work.set()
                return {}

        caller = AsyncCaller(System())
        works = [Work(i, i, {"id": i, "context": "c"}, "d") for i in (1, 2)]
        return await asyncio.gather(*map(caller, works))

    waited, worked = asyncio.run(run())
    assert waited.output["metadata"]["waited_s"] == pytest.approx(2.0)
    assert (waited.latency, worked.latency) == (pytest.approx(0.0), pytest.approx(2.0))
    assert "metadata" not in worked.output


def test_waits_that_overlap_count_once(clock):
    """Two tasks of one call that wait at the same time."""
    waits = timing.Waits()
    waits.begin()
    clock.sleep(1.0)
    waits.begin()
    clock.sleep(1.0)
    waits.end()
    clock.sleep(1.0)
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
