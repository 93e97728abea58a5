"""What a call waited: as it said itself, and as threads make each other wait."""

from __future__ import annotations

import contextvars
import functools
import math
import sys
import threading
import time
from collections.abc import Callable
from typing import TypeVar

Argument = TypeVar("Argument")
Result = TypeVar("Result")


_LOCK = threading.Lock()
"""A call may wait in several threads. One lock for all: waiting is rare, and calls are many."""


class Waits:
    """Seconds that one call spent waiting. Waits that overlap count once."""

    seconds = 0.0
    _under_way = 0
    _since = 0.0

    def begin(self) -> None:
        """From now on, or still, it is waiting."""
        with _LOCK:
            if not self._under_way:
                self._since = time.perf_counter()
            self._under_way += 1

    def end(self) -> None:
        """The other end of `begin`."""
        with _LOCK:
            self._under_way -= 1
            if not self._under_way:
                self.seconds += time.perf_counter() - self._since

    def so_far(self) -> float:
        """What was waited, with what is still being waited."""
        with _LOCK:
            under_way = time.perf_counter() - self._since if self._under_way else 0.0
            return self.seconds + under_way

    def add(self, seconds: float) -> None:
        """Seconds that were found to have been waiting afterwards."""
        with _LOCK:
            self.seconds += seconds


of_this_call: contextvars.ContextVar[Waits | None] = contextvars.ContextVar(
    "cb_waits", default=None
)
"""What the call under way here has waited; None as long as it has not."""


def new_waits() -> Waits:
    """What a call that begins now will have waited; the call and its tasks share it."""
    made = Waits()
    of_this_call.set(made)
    return made


def current_waits() -> Waits:
    """What the call that is under way here has waited."""
    return of_this_call.get() or new_waits()


def waited_so_far() -> float:
    """What the call that is under way here has waited; nothing before it first did."""
    waits = of_this_call.get()
    return 0.0 if waits is None else waits.seconds


def taken_waits() -> float:
    """What was waited in this thread since it was last asked."""
    waits = of_this_call.get()
    if waits is None:
        return 0.0
    of_this_call.set(None)
    return waits.seconds


# -- several threads -------------------------------------------------------------------------------

_COMPUTING = 0.9
"""From this share of the time on, the process counts as computing throughout."""
_WORTH_MEASURING_S = 0.0002
"""A thread whose last call was shorter is not looked at: that would take longer than the call."""
_SAMPLE_S = 0.001
"""How often the time of the whole process is asked for, at most: with many threads it is dear."""

_inside: dict[int, None] = {}
"""The threads that are inside a call. Each writes its own key only, so that none needs a lock."""
_last_took: dict[int, float] = {}
"""What the last call of each thread took."""
_sample = (0.0, 0.0)
"""When the process was last asked for the time it has computed, and what it said."""


def alone(function: Callable[[Argument], Result], argument: Argument) -> tuple[Result, float]:
    """What the function returns, and what it said that it waited."""
    taken_waits()  # those of a call that failed
    return function(argument), taken_waits()


def among_threads(
    function: Callable[[Argument], Result], argument: Argument
) -> tuple[Result, float]:
    """As `alone`, with an estimate of what the thread waited for others of the process.

    Threads that compute take turns, since only one holds the interpreter at a time: eight of
    them take eight times as long as one, and it is not the system that got slower. Where the
    process was computing throughout, a thread that did not compute is taken to have waited for
    its turn: as often as it gave way, and each time as long as threads let each other wait. A
    thread that slept for something else gave way rarely, so that its time stays its own. Where
    the process had time to spare, nothing is taken for waiting.
    """
    thread = threading.get_ident()
    if _last_took.get(thread, 1.0) < _WORTH_MEASURING_S:
        started = time.perf_counter()
        try:
            return alone(function, argument)
        finally:
            _last_took[thread] = time.perf_counter() - started
    taken_waits()
    _inside[thread] = None
    threads = len(_inside)
    since, computed = _process_sample()
    given_way, cpu = _times_given_way(), time.thread_time()
    started = time.perf_counter()
    try:
        result = function(argument)
    finally:
        wall = _last_took[thread] = time.perf_counter() - started
        threads = max(threads, len(_inside))
        _inside.pop(thread, None)
    said = taken_waits()
    until, computed_then = _process_sample()
    processors = (computed_then - computed) / (until - since) if until > since else 0.0
    if threads == 1 or processors < _COMPUTING:
        return result, said
    cpu, given_way = time.thread_time() - cpu, _times_given_way() - given_way
    return result, said + _waited(wall - said, cpu, given_way, threads / processors)


def _process_sample() -> tuple[float, float]:
    """Now, or a moment ago, and the time that the process had computed then."""
    global _sample  # noqa: PLW0603 - of the process, as what it measures
    if time.perf_counter() - _sample[0] > _SAMPLE_S:
        _sample = (time.perf_counter(), time.process_time())
    return _sample


def _waited(wall: float, cpu: float, given_way: float, rivals: float) -> float:
    """Seconds of `wall` in which a thread waited for others, while the process was computing.

    `rivals` is how many threads there were for each processor in use.
    """
    if math.isnan(given_way):
        # What is missing to its fair share of the processors, it did not ask for.
        waited = min(wall, rivals * cpu) - cpu
    else:
        waited = min(given_way * sys.getswitchinterval(), wall - cpu)
    return max(0.0, waited)


def _counter_of_switches() -> Callable[[], float]:
    """What tells how often this thread gave way; NaN where the system does not count that."""
    try:
        import resource

        usage_of_this_thread = functools.partial(resource.getrusage, resource.RUSAGE_THREAD)
    except (ImportError, AttributeError):
        return lambda: math.nan
    return lambda: usage_of_this_thread().ru_nvcsw


_times_given_way = _counter_of_switches()
