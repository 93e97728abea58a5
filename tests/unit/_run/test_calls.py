"""One call: a private copy in, an output or an explained error out, within its time."""

from __future__ import annotations

import asyncio
import threading

import pytest

from cbcore._run.calls import AsyncCaller, SyncCaller, is_async
from cbcore._run.cancelling import cancel
from cbcore._run.outputs import StoredOutput
from cbcore._run.work import Work
from cbcore.exceptions import ProcessError


def work(**fields):
    example = {"id": 1, "context": "c", "nested": {"list": [1]}, **fields.pop("example", {})}
    return Work(0, 1, example, "d", **fields)


class Named:
    name = "named"


def sync_system(function):
    system = Named()
    system.process = function
    return system


def async_system(function):
    async def aprocess(example):
        return function(example)

    system = Named()
    system.aprocess = aprocess
    return system


def call(kind, function, item, *, timeout_s=None):
    """The same call through either caller."""
    if kind == "sync":
        return SyncCaller(sync_system(function), timeout_s)(item)
    return asyncio.run(_await(AsyncCaller(async_system(function), timeout_s), item))


async def _await(caller, item):
    return await caller(item)


both = pytest.mark.parametrize("kind", ["sync", "async"])
timed = pytest.mark.parametrize("timeout_s", [None, 30.0])


def raising(error):
    def function(example):
        raise error

    return function


@both
@timed
def test_an_output_is_handed_on_with_its_latency(kind, timeout_s):
    """The very dict the system returned."""
    output = {"response": "x"}
    done = call(kind, lambda example: output, work(), timeout_s=timeout_s)
    assert done.output is output
    assert (done.error, done.latency > 0) == (None, True)


@both
@timed
def test_the_system_works_on_a_copy(kind, timeout_s):
    """What it does to its input stays with it."""
    item = work()

    def vandal(example):
        example["context"] = "ruined"
        example["nested"]["list"].append(2)
        return {}

    call(kind, vandal, item, timeout_s=timeout_s)
    assert item.example == {"id": 1, "context": "c", "nested": {"list": [1]}}


@both
@timed
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("boom"), "ValueError: boom"),
        (SystemExit(3), "it called sys.exit(3)"),
        (StopIteration("early"), "StopIteration: early"),
        (ProcessError("refused", hint="h"), "ProcessError: refused"),
        (KeyError("question"), "example 1 has no 'question', which system 'named' asked for"),
        (KeyError("context"), "KeyError: 'context'"),
        (KeyError(), "KeyError"),
        (TimeoutError("of its own"), "of its own"),
    ],
)
def test_a_failure_is_explained(kind, timeout_s, error, text):
    """Never raised: one example is one row."""
    if kind == "async" and isinstance(error, StopIteration):
        text = "StopIteration"  # coroutines turn it into a RuntimeError that names it
    done = call(kind, raising(error), work(), timeout_s=timeout_s)
    assert done.output is None
    assert text in done.error


@both
@timed
@pytest.mark.parametrize("output", [None, "text", [1], 5, {1, 2}])
def test_what_is_no_dict_is_a_failure(kind, timeout_s, output):
    """The type is named."""
    done = call(kind, lambda example: output, work(), timeout_s=timeout_s)
    assert done.error == f"the system returned {type(output).__name__}, not a dict"
    assert done.output is None


@both
@timed
def test_an_interrupt_passes_through(kind, timeout_s):
    """Ctrl-C is for the run, not for the example; also from a thread or task with a time limit."""
    with pytest.raises(KeyboardInterrupt):
        call(kind, raising(KeyboardInterrupt()), work(), timeout_s=timeout_s)


@both
def test_a_call_that_takes_too_long_is_given_up(kind):
    """The error says after how long."""
    never = threading.Event()

    def hang(example):
        never.wait()

    async def ahang(example):
        await asyncio.Event().wait()

    if kind == "sync":
        done = SyncCaller(sync_system(hang), 0.02)(work())
    else:
        system = Named()
        system.aprocess = ahang
        done = asyncio.run(_await(AsyncCaller(system, 0.02), work()))
    never.set()
    assert done.error == "timed out after 0.02 s"
    assert done.latency >= 0.02


def test_calls_after_one_that_hangs_get_a_thread_of_their_own():
    """The next call does not wait behind it, and its late answer is nobody else's."""
    release, answered = threading.Event(), threading.Event()

    def process(example):
        if example["id"] == "slow":
            release.wait()
            answered.set()
        return {"response": example["id"]}

    caller = SyncCaller(sync_system(process), 5.0)
    caller._timeout_s = 0.02
    assert caller(work(example={"id": "slow"})).error == "timed out after 0.02 s"
    caller._timeout_s = 30.0
    release.set()
    assert answered.wait(timeout=30)
    assert caller(work(example={"id": "next"})).output == {"response": "next"}


def test_a_timed_call_leaves_no_thread():
    """Its thread is a daemon, and ends with the call."""
    seen = []
    system = sync_system(lambda example: seen.append(threading.current_thread()) or {})
    SyncCaller(system, 30.0)(work())
    (thread,) = seen
    assert thread.daemon
    assert thread is not threading.current_thread()
    thread.join(timeout=30)
    assert not thread.is_alive()


@both
@timed
def test_what_is_known_is_not_called(kind, timeout_s):
    """A stored output with its latency, or the problem of an unusable example."""
    recalled = StoredOutput({"response": "old"}, ["context"], 1.5, {"context": "c"})
    known = work(recalled=recalled)
    done = call(kind, raising(AssertionError("called")), known, timeout_s=timeout_s)
    output = {"context": "c", "response": "old"}
    assert (done.output, done.latency, done.error) == (output, 1.5, None)
    unusable = work(problem="has no context")
    done = call(kind, raising(AssertionError("called")), unusable, timeout_s=timeout_s)
    assert (done.output, done.error) == (None, "has no context")


def test_a_system_is_awaited_when_it_can_be():
    """`aprocess` decides."""
    assert is_async(async_system(dict))
    assert not is_async(sync_system(dict))


@timed
def test_a_cancellation_of_the_systems_own_is_its_failure(timeout_s):
    """The task goes on with the next example."""
    done = call("async", raising(asyncio.CancelledError()), work(), timeout_s=timeout_s)
    assert "CancelledError" in done.error


@timed
def test_a_cancellation_by_the_run_is_obeyed(timeout_s):
    """A worker that is told to stop stops."""

    async def main():
        system = Named()
        started = asyncio.Event()

        async def aprocess(example):
            started.set()
            await asyncio.Event().wait()

        system.aprocess = aprocess
        task = asyncio.ensure_future(_await(AsyncCaller(system, timeout_s), work()))
        await started.wait()
        cancel(task)
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
