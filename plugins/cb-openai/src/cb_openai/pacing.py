"""How fast requests go out: how many at once, and how many in a minute.

All of it belongs to one event loop, so that no locks are needed.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable

_SLOWER = 0.5


class AdaptiveLimit:
    """Lets at most `most` requests be under way, fewer after the endpoint said it is too many.

    Each refusal halves the limit, but requests that were under way at the last one do not
    halve it again. Each success adds a share of one, so that a full round of successes adds
    one request more, until `most` is reached. `times_refused` and `lowest` tell how it went.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.current = float(most)
        self.under_way = 0
        self.times_refused = 0
        self.lowest = most
        self._refusals = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def is_full(self) -> bool:
        """Whether the next one has to wait."""
        return self.under_way >= int(self.current)

    async def enter(self) -> int:
        """Wait for a place. Returns what `refused` wants to know."""
        while self.is_full:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._wake()  # the place given to this one goes to the next
                raise
        return self.enter_now()

    def enter_now(self) -> int:
        """As `enter`, when there is a place."""
        self.under_way += 1
        return self._refusals

    def leave(self) -> None:
        """Give the place back."""
        self.under_way -= 1
        self._wake()

    def succeeded(self) -> None:
        """One more request was served."""
        if self.current < self.most:
            self.current = min(self.most, self.current + 1 / self.current)

    def refused(self, entered: int) -> None:
        """The endpoint said it is too much, to a request that entered then."""
        self.times_refused += 1
        if entered == self._refusals:
            self._refusals += 1
            self.current = max(1.0, min(self.current, self.under_way) * _SLOWER)
            self.lowest = min(self.lowest, int(self.current))

    def lower(self, entered: int) -> None:
        """As `refused`, but for good: there is no room for more on this side."""
        if entered == self._refusals:
            self._refusals += 1
            self.most = max(1, min(self.most, self.under_way) // 2)
            self.current = min(self.current, self.most)

    def _wake(self) -> None:
        free = int(self.current) - self.under_way
        while free > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                free -= 1


class SlidingWindow:
    """Lets through at most `limit` in any period: requests, or tokens.

    First come, first served. What alone is larger than the limit is let through once nothing
    else is in the window: it could never fit.
    """

    def __init__(
        self,
        limit: int,
        period_s: float = 60.0,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.limit = limit
        self.period_s = period_s
        self._clock = clock
        self._sleep = sleep
        self._entries: deque[list[float]] = deque()
        self._total = 0.0
        self._turn = asyncio.Lock()

    async def enter(self, amount: float = 1) -> list[float]:
        """Wait until this much more fits. Returns the entry, for `correct`."""
        async with self._turn:
            while (wait_s := self._wait_for(amount)) > 0:
                await self._sleep(wait_s)
            entry = [self._clock(), amount]
            self._entries.append(entry)
            self._total += amount
            return entry

    def correct(self, entry: list[float], amount: float) -> None:
        """Replace an entry's estimate by what it really was."""
        if self._entries and entry[0] >= self._entries[0][0]:
            self._total += amount - entry[1]
        entry[1] = amount

    def _wait_for(self, amount: float) -> float:
        now = self._clock()
        while self._entries and self._entries[0][0] + self.period_s <= now:
            self._total -= self._entries.popleft()[1]
        if not self._entries or self._total + amount <= self.limit:
            return 0.0
        return self._entries[0][0] + self.period_s - now
