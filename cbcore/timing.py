"""The waiting time of a call: the part of its time that is not the system's own.

Latency is the time inside the system. A system that waits for its turn (a slot, a rate limit)
says so with `waiting()`. That time is left out of the latency and kept in the row as
`metadata["waited_s"]`.
"""

from __future__ import annotations

import contextvars
import threading
import time
from types import TracebackType

__all__ = ("waiting",)


class Waits:
    """Seconds that one call spent waiting. Waits that overlap count once."""

    seconds = 0.0
    _since = 0.0
    _n_under_way = 0
    _lock = threading.Lock()  # of all: a call may wait in several threads, and waits are rare

    def begin(self) -> None:
        with self._lock:
            if not self._n_under_way:
                self._since = time.perf_counter()
            self._n_under_way += 1

    def end(self) -> None:
        with self._lock:
            self._n_under_way -= 1
            if not self._n_under_way:
                self.seconds += time.perf_counter() - self._since

    def so_far(self) -> float:
        """The seconds up to now, including a wait that has not ended."""
        with self._lock:
            return self.seconds + (time.perf_counter() - self._since) * bool(self._n_under_way)


NO_WAITS = Waits()
"""Of a call that does not wait for a turn."""

_current: contextvars.ContextVar[Waits | None] = contextvars.ContextVar("cb_waits", default=None)


def start_waits() -> Waits:
    """The waits of a call that begins now. The call and the tasks that it starts share them."""
    waits = Waits()
    _current.set(waits)
    return waits


def current_waits() -> Waits:
    """The waits of the call under way here."""
    return _current.get() or start_waits()


class waiting:  # noqa: N801 - used like a function
    """`with waiting():` says that a system is not working but waiting for its turn.

    You may use it around `await`. It holds for the call in which it is used: in the thread or
    task of the call, in tasks started there, and in `asyncio.to_thread`. Outside a run it does
    nothing.
    """

    @staticmethod
    def take_off(seconds: float) -> None:
        """Count seconds as time of the system: those of an earlier call whose output is used."""
        current_waits().seconds -= seconds

    def __enter__(self) -> None:
        self._waits = current_waits()
        self._waits.begin()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._waits.end()
