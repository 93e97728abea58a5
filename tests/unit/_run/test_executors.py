"""Calls in order, bounded, lazily pulled: the same promises for all three executors."""

from __future__ import annotations

import asyncio
import threading
from collections import deque

import pytest

from cbcore._run.event_loop import LoopThread
from cbcore._run.executors import run_async, run_in_threads, run_inline


@pytest.fixture
def loop():
    thread = LoopThread()
    yield thread
    thread.close()


def _run(kind, call, items, in_flight, loop, gate=None):
    """Run a plain function through the executor of that kind."""

    async def acall(item):
        await asyncio.sleep(0)
        return call(item)

    if kind == "inline":
        return run_inline(call, items)
    if kind == "threads":
        return run_in_threads(call, items, in_flight=in_flight, gate=gate)
    return run_async(acall, items, in_flight=in_flight, loop=loop, gate=gate)


KINDS = ("inline", "threads", "async")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [0, 1, 7, 500])
def test_results_come_in_the_order_of_the_items(kind, n, loop):
    """Whatever finishes first, row i belongs to example i."""
    assert list(_run(kind, lambda x: x * x, range(n), 8, loop)) == [x * x for x in range(n)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("in_flight", [1, 3])
def test_a_failure_of_the_items_comes_after_the_results_before_it(kind, in_flight, loop):
    """Calls that were made are paid for: a dataset that fails costs none of them."""

    def items():
        yield from range(5)
        raise LookupError

    results = []
    with pytest.raises(LookupError):
        deque(map(results.append, _run(kind, int, items(), in_flight, loop)), maxlen=0)
    assert results == [0, 1, 2, 3, 4]


def test_order_holds_when_later_calls_finish_first(loop):
    """A call that waits for its successor does not change places with it."""
    second_done = threading.Event()

    def call(item):
        if item == 0:
            assert second_done.wait(timeout=30)
        if item == 1:
            second_done.set()
        return item

    assert list(run_in_threads(call, range(4), in_flight=2)) == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", ["threads", "async"])
def test_no_more_than_in_flight_calls_run_at_once(kind, loop):
    """`in_flight` is a hard bound, and it is reached."""
    lock = threading.Lock()
    running = most = 0
    gate = threading.Event()

    def enter():
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
            if most == 3:
                gate.set()

    def leave():
        nonlocal running
        with lock:
            running -= 1

    def call(item):
        enter()
        gate.wait(timeout=30)
        leave()
        return item

    async def acall(item):
        enter()
        while not gate.is_set():
            await asyncio.sleep(0)
        leave()
        return item

    if kind == "threads":
        results = run_in_threads(call, range(60), in_flight=3)
    else:
        results = run_async(acall, range(60), in_flight=3, loop=loop)
    assert len(list(results)) == 60
    assert most == 3


@pytest.mark.parametrize("kind", KINDS)
def test_items_are_pulled_lazily(kind, loop):
    """An endless benchmark is read only a bounded window ahead of what was taken."""
    pulled = 0

    def benchmark():
        nonlocal pulled
        while True:
            pulled += 1
            yield pulled

    results = _run(kind, lambda x: x, benchmark(), 2, loop)
    assert [next(results) for _ in range(5)] == [1, 2, 3, 4, 5]
    assert pulled <= 5 + 2 * 4
    if hasattr(results, "close"):
        results.close()


class AtMost:
    """A gate that lets so many items be under way."""

    def __init__(self, most):
        self.most = most
        self.taken = self.given = 0

    def items(self, n):
        for item in range(n):
            self.taken += 1
            yield item

    def holds(self):
        return self.taken - self.given >= self.most


@pytest.mark.parametrize("kind", ["threads", "async"])
@pytest.mark.parametrize("most", [0, 1, 3])
def test_a_gate_holds_items_back_until_a_result_is_given(kind, most, loop):
    """Never the only one: with nothing under way there is nothing to wait for."""
    gate = AtMost(most)
    results = _run(kind, lambda x: x, gate.items(30), 4, loop, gate)
    for expected in range(30):
        assert next(results) == expected
        assert gate.taken - gate.given <= max(most, 1)
        gate.given += 1
    assert next(results, None) is None


@pytest.mark.parametrize("kind", ["threads", "async"])
def test_an_escaping_exception_reaches_the_caller(kind, loop):
    """KeyboardInterrupt inside a call ends the run in the thread that waits for it."""

    def call(item):
        if item == 2:
            raise KeyboardInterrupt
        return item

    results = _run(kind, call, range(10), 2, loop)
    with pytest.raises(KeyboardInterrupt):
        list(results)


def test_a_hanging_call_does_not_keep_the_executor_from_closing():
    """Threads are daemons: closing the iterator returns although a call never ends."""
    never = threading.Event()

    def call(item):
        if item == 1:
            never.wait()
        return item

    results = run_in_threads(call, range(3), in_flight=2)
    assert next(results) == 0
    results.close()
    assert all(t.daemon for t in threading.enumerate() if t.name.startswith("cb-worker"))
    never.set()


def test_the_loop_thread_cancels_what_is_left(loop):
    """Closing ends pending tasks, giving them their turn to clean up."""
    cleaned = threading.Event()

    async def wait_forever():
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()

    asyncio.run_coroutine_threadsafe(wait_forever(), loop.loop)
    loop.call(asyncio.sleep(0))
    loop.close()
    assert cleaned.is_set()
