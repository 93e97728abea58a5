"""What of a call is waiting: as systems say, and as threads make each other wait."""

from __future__ import annotations

import asyncio
import math
import threading

import pytest

from cbcore._run import calls
from cbcore._run.calls import AsyncCaller, SyncCaller
from cbcore._run.work import Work
from cbcore.timing import _waits, waiting

WORK = Work(0, 1, {"id": 1, "context": "c"}, "d")


class Clock:
    """Time that passes only when told to, for all clocks alike."""

    def __init__(self):
        self.wall = self.cpu = self.process = 1.0
        self.switches = 0

    def perf_counter(self):
        return self.wall

    def thread_time(self):
        return self.cpu

    def process_time(self):
        return self.process

    def compute(self, seconds):
        """This thread computes."""
        self.wall += seconds
        self.cpu += seconds
        self.process += seconds

    def let_others_compute(self, seconds, switches):
        """Other threads do, and this one asks for its turn so many times."""
        self.wall += seconds
        self.process += seconds
        self.switches += switches

    def sleep(self, seconds):
        """Nobody does anything."""
        self.wall += seconds
        self.switches += 1


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(_waits, "time", made)
    monkeypatch.setattr(calls, "time", made)
    monkeypatch.setattr(_waits, "_times_given_way", lambda: made.switches)
    monkeypatch.setattr(_waits, "_sample", (0.0, 0.0))
    monkeypatch.setattr(_waits, "_last_took", {})
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
    options = {"timed": {"timeout_s": 60}, "shared": {"shared": True}}.get(kind, {})
    return SyncCaller(system, **options)(WORK)


every_kind = pytest.mark.parametrize("kind", ["plain", "timed", "shared", "awaited"])


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


@pytest.mark.parametrize("kind", ["plain", "timed", "shared"])
def test_what_a_failed_call_waited_is_not_charged_to_the_next(kind, clock):
    """Each call has its own."""
    failing = [True]

    def does():
        if failing.pop() if failing else False:
            with waiting():
                clock.sleep(2.0)
                raise ValueError
        clock.sleep(0.5)

    options = {"timed": {"timeout_s": 60}, "shared": {"shared": True}}.get(kind, {})
    caller = SyncCaller(system_that(does), **options)
    assert caller(WORK).error is not None
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
    waits = _waits.Waits()
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
        waits = _waits.new_waits()

        async def task():
            with waiting():
                pass
            return _waits.current_waits()

        def thread():
            with waiting():
                pass
            return _waits.current_waits()

        assert await asyncio.create_task(task()) is waits
        assert await asyncio.to_thread(thread) is waits

    asyncio.run(run())


# -- several threads -------------------------------------------------------------------------------


@pytest.fixture
def _beside_others():
    """As if seven more threads were inside calls."""
    _waits._inside.update(dict.fromkeys(range(-7, 0)))
    yield
    for thread in range(-7, 0):
        del _waits._inside[thread]


def computing(clock):
    clock.compute(0.020)
    clock.let_others_compute(0.140, switches=28)


@pytest.mark.parametrize(
    ("does", "latency"),
    [
        (computing, 0.020),
        (lambda clock: clock.compute(0.020), 0.020),
        (lambda clock: clock.sleep(0.050), 0.050),
        (lambda clock: (clock.sleep(0.050), clock.compute(0.001)), 0.051),
        (lambda clock: (clock.sleep(0.050), clock.let_others_compute(0.010, 2)), 0.060),
    ],
    ids=["computing", "computing alone", "sleeping", "sleeping and computing", "time to spare"],
)
@pytest.mark.usefixtures("_beside_others")
def test_a_thread_that_computes_waits_for_the_others(clock, does, latency):
    """Where the process was computing throughout; a thread that slept keeps its time."""
    done = called("shared", lambda: does(clock))
    assert done.latency == pytest.approx(latency)


@pytest.mark.usefixtures("_beside_others")
def test_a_thread_that_gave_way_rarely_did_not_wait_for_others(clock):
    """One long sleep among computing threads: at most one turn of it was waiting."""
    done = called("shared", lambda: clock.let_others_compute(0.050, switches=1))
    assert done.latency == pytest.approx(0.045)


@pytest.mark.parametrize(("own", "latency"), [(0.020, 0.020), (0.010, 0.090)])
@pytest.mark.usefixtures("_beside_others")
def test_where_switches_are_not_counted_a_fair_share_is_assumed(clock, monkeypatch, own, latency):
    """A thread that got less than its share of the processor slept for the rest."""
    monkeypatch.setattr(_waits, "_times_given_way", lambda: math.nan)

    def does():
        clock.compute(own)
        clock.let_others_compute(0.160 - own, switches=0)

    assert called("shared", does).latency == pytest.approx(latency)


def test_a_thread_alone_waits_for_nobody(clock):
    """What else the process computes meanwhile is none of the run's doing."""
    assert called("shared", lambda: computing(clock)).latency == pytest.approx(0.160)


def test_threads_leave_no_trace():
    """Whether calls succeed or fail."""

    def fail(argument):
        raise ValueError("boom")

    def work():
        _waits.among_threads(str, 1)
        with pytest.raises(ValueError, match="boom"):
            _waits.among_threads(fail, 1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert _waits._inside == {}
