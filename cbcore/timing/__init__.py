"""What of a call is the system's own time, and what is waiting.

Latency is the time inside the system. A system that waits for its turn (a slot, a rate limit)
says so with `waiting()`: that time is left out of the latency and kept in the row as
`metadata["waited_s"]`.
"""

from __future__ import annotations

from types import TracebackType

from cbcore.timing._waits import current_waits as current_waits


class waiting:  # noqa: N801 - used like a function
    """`with waiting():` says that a system is not working but waiting for its turn.

    It may be used around `await`. It holds for the call that it is used in: in the thread or
    task of the call, in tasks started there, and in `asyncio.to_thread`. Outside a run it does
    nothing that anyone would notice.
    """

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
