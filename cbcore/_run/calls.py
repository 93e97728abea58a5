"""One call of a system on one example: a private copy in, an output or an explained error out."""

from __future__ import annotations

import contextvars
import queue
import threading
import time
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from typing import Any

from cbcore._run.cancelling import cancel, is_cancelled
from cbcore._run.executors import LATER_S, MORE_ROOM
from cbcore._run.scorers import Outcome
from cbcore._run.tracebacks import Raised
from cbcore._run.work import Work
from cbcore.boundary import contained
from cbcore.components import describe_exception
from cbcore.contexts import find_unreadable, is_same
from cbcore.exceptions import CBError, ProcessError, RunError
from cbcore.requests import compact_requests
from cbcore.timing import current_waits, start_waits
from cbcore.tokens import TEXT_FIELDS

_THREAD_RETRY_S = 0.01
"""How long a call waits before it tries to start a thread again."""

ASYNC_IN_FLIGHT = 16
"""Examples an awaited system works on at once, unless told otherwise; a sync system gets one."""


def is_async(system: Any) -> bool:
    """Whether the system is awaited rather than called."""
    return hasattr(system, "aprocess")


def calls_at_once(system: Any, max_workers: int | None) -> int:
    """How many calls of a system are under way at once: its own number, or that of the run."""
    if (own := getattr(system, "calls_at_once", None)) is not None:
        return int(own)
    return max_workers or (ASYNC_IN_FLIGHT if is_async(system) else 1)


class SyncCaller:
    """Calls a system that blocks. With a time limit, each call has a thread of its own.

    A call that exceeds the limit is left behind with its thread. If no thread can be started, a
    call waits until another ends. If all others are left behind, a `NoThreadError` ends the run.
    """

    def __init__(self, system: Any, timeout_s: float | None = None) -> None:
        self._system = system
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._n_running = self.left_behind = 0

    def __call__(self, work: Work) -> Outcome:
        if work.problem is not None or work.recalled is not None:
            return settled(work)
        example = work.private_example()
        waits = start_waits()
        started = time.perf_counter()
        try:
            if self._timeout_s is None:
                output = self._system.process(example)
            else:
                output = self._call_in_thread(example, self._timeout_s)
        except (KeyboardInterrupt, NoThreadError):
            raise
        except BaseException as error:  # noqa: BLE001 - the plugin boundary
            took = time.perf_counter() - started - waits.seconds
            return _failed(error, work, self._system, took)
        return _checked(output, work, time.perf_counter() - started, waits.seconds)

    def _call_in_thread(self, example: Any, timeout_s: float) -> Any:
        replies: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        context = contextvars.copy_context()

        def call() -> None:
            try:
                replies.put((context.run(self._system.process, example), None))
            except BaseException as error:  # noqa: BLE001 - raised again by the caller
                replies.put((None, error))

        began = time.perf_counter()
        self._start_thread(call)
        try:
            output, error = replies.get(timeout=timeout_s)
            if time.perf_counter() - began > timeout_s:  # it held the interpreter meanwhile
                raise _TimeLimitError(timeout_s)
        except queue.Empty:
            with self._lock:
                self.left_behind += 1
            raise _TimeLimitError(timeout_s) from None
        finally:
            with self._lock:
                self._n_running -= 1
        if error is not None:
            raise error
        return output

    def _start_thread(self, call: Callable[[], None]) -> None:
        while True:
            with self._lock:
                try:
                    threading.Thread(target=call, name="cb-timed-call", daemon=True).start()
                except RuntimeError as error:
                    if not self._n_running:
                        raise NoThreadError(self.left_behind, error) from error
                else:
                    self._n_running += 1
                    return
            time.sleep(_THREAD_RETRY_S)


class AsyncCaller:
    """Awaits a system. With a time limit, a call that exceeds it is cancelled."""

    def __init__(self, system: Any, timeout_s: float | None = None) -> None:
        self._system = system
        self._timeout_s = timeout_s
        self._call = system.aprocess
        self._begun: set[tuple[int, int]] = set()  # by index and repeat: of one lane, all differ
        # One that puts its calls in an order of its own lets most of them wait, which is not
        # what their limit is for.
        self._queues = getattr(system, "calls_at_once", None) is not None

    async def __call__(self, work: Work) -> Outcome:
        if work.problem is not None or work.recalled is not None:
            return settled(work)
        example = work.private_example()
        waits = start_waits()
        started = time.perf_counter()
        try:
            if self._timeout_s is None:
                output = await self._call(example)
            else:
                output = await self._limited(example, work)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # the plugin boundary
            if is_cancelled(error):
                raise
            took = time.perf_counter() - started - waits.seconds
            return _failed(error, work, self._system, took)
        return _checked(output, work, time.perf_counter() - started, waits.seconds)

    async def _limited(self, example: Any, work: Work) -> Any:
        import asyncio

        limit_s = left_s = self._timeout_s or 0.0
        waits = current_waits()
        started = time.monotonic()
        task = asyncio.get_running_loop().create_task(self._outcome(example, work))
        try:
            while left_s > 0 and not task.done():
                await asyncio.wait([task], timeout=left_s)
                waited = waits.so_far() if self._queues else 0.0
                left_s = limit_s + waited - (time.monotonic() - started)
        finally:
            self._begun.discard((work.index, work.repeat))
            if not task.done():
                cancel(task)  # which it may refuse, so that its end is not waited for
        if not task.done():
            raise _TimeLimitError(self._timeout_s)
        output, error = task.result()
        if error is not None:
            raise error
        return output

    async def _outcome(self, example: Any, work: Work) -> tuple[Any, BaseException | None]:
        """What came of it. Raised inside a task, some exceptions would end the whole loop."""
        self._begun.add((work.index, work.repeat))
        started = time.monotonic()
        try:
            output = await self._call(example)
        except BaseException as error:  # raised outside
            if is_cancelled(error):
                raise
            return None, error
        # One that blocked the loop, or was kept by one that did: its row says so already.
        waited = current_waits().so_far() if self._queues else 0.0
        late = time.monotonic() - started - waited > (self._timeout_s or 0.0) + LATER_S
        return output, _TimeLimitError(self._timeout_s) if late else None

    def give_up(self, work: Work) -> Outcome | None:
        """What is told of a call whose event loop is blocked; None if it was not yet made."""
        if (work.index, work.repeat) not in self._begun:
            return None
        limit_s = self._timeout_s or 0.0
        told = f"{_TimeLimitError(limit_s)}: this call, or one beside it, blocks the event loop"
        return Outcome(work, None, limit_s, told)


class _TimeLimitError(Exception):
    def __init__(self, timeout_s: float | None) -> None:
        super().__init__(f"timed out after {timeout_s:g} s")


class NoThreadError(RunError):
    """No thread can be started for a call. It ends the run: no call could be made any more."""

    def __init__(self, abandoned: int, error: BaseException) -> None:
        told = f": {abandoned} calls that timed out still have theirs" if abandoned else ""
        super().__init__(f"no thread could be started{told} ({error})", hint=MORE_ROOM)


def settled(work: Work) -> Outcome:
    """What is known without a call: an output of the store, or a problem of the example."""
    known = work.recalled
    if known is None or work.problem is not None:
        return Outcome(work, None, 0.0, work.problem)
    return Outcome(work, known.output(), known.latency)


_WORTH_TELLING_S = 0.0005
"""A shorter wait is none that anybody asked for."""


def _checked(output: Any, work: Work, took: float, waited: float) -> Outcome:
    """An output with its latency: the time inside the system, without what it waited."""
    if waited:  # less than nothing if the work of a shared stage was timed before
        took = max(0.0, took - waited)
    if type(output) is not dict:
        kind = type(output).__name__
        if not isinstance(output, dict):
            return Outcome(work, None, took, f"the system returned {kind}, not a dict")
        try:
            output = dict(output)  # whose methods do what they say
        except Exception as error:  # noqa: BLE001 - the plugin boundary
            reason = f"the system returned {kind}, which cannot be read"
            return Outcome(work, None, took, f"{reason}: {describe_exception(error)}")
    if (problem := find_unreadable(work.example, output)) is not None:
        return Outcome(work, None, took, f"the system {problem}")
    if waited > _WORTH_TELLING_S:
        metadata = output.get("metadata")
        known = metadata if isinstance(metadata, Mapping) else {}
        output = {**output, "metadata": {**known, "waited_s": waited}}
    requests = output.get("requests")
    if requests and not is_same(requests, work.example.get("requests")):
        with contained():
            output = {**output, "requests": compact_requests(requests, work.example, output)}
    return Outcome(work, output, took)


def _failed(error: BaseException, work: Work, system: Any, latency: float) -> Outcome:
    spent = error.cost if isinstance(error, ProcessError) else {}
    told = _explain(error, work, system)
    raised = None if isinstance(error, _TimeLimitError) else Raised.by(error)
    return Outcome(work, None, max(0.0, latency), told, spent=spent, raised=raised)


def _explain(error: BaseException, work: Work, system: Any) -> str:
    if isinstance(error, _TimeLimitError):
        return str(error)
    if isinstance(error, CBError):
        return f"{type(error).__name__}: {error.message}"
    missing = error.args[0] if isinstance(error, KeyError) and error.args else None
    if missing in TEXT_FIELDS and missing not in work.example:
        return (
            f"KeyError: example {work.example_id!r} has no {missing!r}, "
            f"which system {system.name!r} asked for"
        )
    return describe_exception(error)
