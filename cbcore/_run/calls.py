"""One call of a system on one example: a private copy in, an output or an explained error out."""

from __future__ import annotations

import asyncio
import functools
import queue
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from queue import SimpleQueue
from typing import Any

from cbcore._run.scorers import Outcome
from cbcore._run.work import Work, private_copy
from cbcore.components import describe_exception
from cbcore.exceptions import CBError, ProcessError
from cbcore.timing import _waits
from cbcore.tokens import TEXT_FIELDS

_of_this_call = _waits.of_this_call
_FAILURES = (Exception, SystemExit, asyncio.CancelledError)
"""What a system may raise without ending the run: the plugin boundary."""


def is_async(system: Any) -> bool:
    """Whether the system is awaited rather than called."""
    return hasattr(system, "aprocess")


class SyncCaller:
    """Calls a system that blocks. With a time limit, in threads that can be left behind.

    `shared` says that several threads call at once, and wait for each other.
    """

    def __init__(
        self, system: Any, timeout_s: float | None = None, *, shared: bool = False
    ) -> None:
        self._system = system
        self._timeout_s = timeout_s
        self._shared = shared
        # One call after another, in this very thread, needs nobody to measure it from inside.
        self._is_plain = timeout_s is None and not shared
        self._single = self._measured(system.process)
        conversation = getattr(system, "process_conversation", None)
        self._conversation = self._measured(conversation) if conversation else self._single

    def _measured(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """What is called: the function itself, or one that also returns what it waited."""
        if self._is_plain:
            return function
        measure: Any = _waits.among_threads if self._shared else _waits.alone
        measured = functools.partial(measure, function)
        return measured if self._timeout_s is None else _TimedCalls(measured, self._timeout_s)

    def __call__(self, work: Work) -> Outcome:
        settled = _settled(work)
        if settled is not None:
            return settled
        example = private_copy(work.example)
        call = self._conversation if "turns" in example else self._single
        if self._is_plain and _of_this_call.get() is not None:
            _waits.taken_waits()  # of an evaluator, the dataset or a warm-up in this thread
        started = time.perf_counter()
        try:
            if self._is_plain:
                output = call(example)
                took = time.perf_counter() - started
                waited = _waits.taken_waits() if _of_this_call.get() is not None else 0.0
            else:
                output, waited = call(example)
                took = time.perf_counter() - started
        except _FAILURES as error:
            took = time.perf_counter() - started - _waits.taken_waits()
            return _failed(error, work, self._system, took)
        return _checked(output, work, took, waited)


class AsyncCaller:
    """Awaits a system. With a time limit, a call that exceeds it is cancelled."""

    def __init__(self, system: Any, timeout_s: float | None = None) -> None:
        self._system = system
        self._timeout_s = timeout_s
        self._single = system.aprocess
        self._conversation = getattr(system, "aprocess_conversation", self._single)

    async def __call__(self, work: Work) -> Outcome:
        settled = _settled(work)
        if settled is not None:
            return settled
        example = private_copy(work.example)
        call = self._conversation if "turns" in example else self._single
        waits = _waits.new_waits()
        started = time.perf_counter()
        try:
            if self._timeout_s is None:
                output = await call(example)
            else:
                output = await self._limited(call(example))
        except _FAILURES as error:
            if isinstance(error, asyncio.CancelledError) and _is_cancelled():
                raise
            took = time.perf_counter() - started - waits.seconds
            return _failed(error, work, self._system, took)
        return _checked(output, work, time.perf_counter() - started, waits.seconds)

    async def _limited(self, awaitable: Awaitable[Any]) -> Any:
        try:
            output, error = await asyncio.wait_for(_outcome(awaitable), self._timeout_s)
        except asyncio.TimeoutError as late:
            raise _TimeLimitError(self._timeout_s) from late
        if error is not None:
            raise error
        return output


async def _outcome(awaitable: Awaitable[Any]) -> tuple[Any, BaseException | None]:
    """What came of it. Raised inside a task, some exceptions would end the whole event loop."""
    try:
        return await awaitable, None
    except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 - raised outside
        return None, error


def _is_cancelled() -> bool:
    """Whether the run cancelled this task; else a `CancelledError` is the system's own.

    Python 3.10 cannot tell: there it always counts as the run's.
    """
    cancelling = getattr(asyncio.current_task(), "cancelling", None)
    return cancelling is None or cancelling() > 0


class _TimeLimitError(Exception):
    def __init__(self, timeout_s: float | None) -> None:
        super().__init__(f"timed out after {timeout_s:g} s")


class _TimedCalls:
    """Runs calls in a companion thread of each calling thread; one that hangs is abandoned."""

    def __init__(self, function: Callable[[Any], Any], timeout_s: float) -> None:
        self._function = function
        self._timeout_s = timeout_s
        self._local = threading.local()

    def __call__(self, example: Any) -> Any:
        companion = getattr(self._local, "companion", None)
        if companion is None:
            companion = self._local.companion = _Companion(self._function)
        companion.inbox.put(example)
        try:
            value, error = companion.outbox.get(timeout=self._timeout_s)
        except queue.Empty:
            # A thread cannot be stopped. Should it ever return, it finds that it may leave; what
            # it puts into its outbox nobody reads.
            companion.inbox.put(_LEAVE)
            self._local.companion = None
            raise _TimeLimitError(self._timeout_s) from None
        if error is not None:
            raise error
        return value


_LEAVE = object()


class _Companion:
    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.inbox: SimpleQueue[Any] = SimpleQueue()
        self.outbox: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()
        thread = threading.Thread(
            target=_serve,
            args=(function, self.inbox, self.outbox),
            name="cb-timed-call",
            daemon=True,
        )
        thread.start()

    def __del__(self) -> None:
        self.inbox.put(_LEAVE)


def _serve(
    function: Callable[[Any], Any],
    inbox: SimpleQueue[Any],
    outbox: SimpleQueue[tuple[Any, BaseException | None]],
) -> None:
    while (example := inbox.get()) is not _LEAVE:
        try:
            outbox.put((function(example), None))
        except BaseException as error:  # noqa: BLE001 - raised again in the calling thread
            outbox.put((None, error))


def _settled(work: Work) -> Outcome | None:
    """What is known without a call: a problem of the example, or an output of the store."""
    if work.problem is not None:
        return Outcome(work, None, 0.0, work.problem)
    if work.recalled is not None:
        return Outcome(work, work.recalled.output(), work.recalled.latency)
    return None


def _checked(output: Any, work: Work, took: float, waited: float) -> Outcome:
    """An output with its latency: the time inside the system, without what it waited."""
    if waited:
        took = max(0.0, took - waited)
    if not isinstance(output, dict):
        kind = type(output).__name__
        return Outcome(work, None, took, f"the system returned {kind}, not a dict")
    if waited:
        metadata = output.get("metadata")
        known = metadata if isinstance(metadata, Mapping) else {}
        output = {**output, "metadata": {**known, "waited_s": waited}}
    return Outcome(work, output, took)


def _failed(error: BaseException, work: Work, system: Any, latency: float) -> Outcome:
    spent = error.spent if isinstance(error, ProcessError) else {}
    return Outcome(work, None, max(0.0, latency), _explain(error, work, system), spent)


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
