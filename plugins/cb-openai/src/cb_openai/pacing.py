"""How fast requests go out: how many at once, and how many in a minute.

All of it belongs to one event loop, so that no locks are needed.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable

import attrs

_ROUND = 8
"""How many replies are judged together, at least."""
_MEMORY = 256
"""Over about so many replies an endpoint's usual share of refusals is forgotten."""


@attrs.define
class Round:
    """The requests that entered at one limit, as far as they were replied to."""

    n_concurrent: int = 0
    n_replies: int = 0
    n_refused: int = 0


class AdaptiveLimit:
    """Allows at most `most` concurrent requests, and fewer while that saves refusals.

    The requests that entered at one limit are judged together. If all are served, the limit
    grows: by one, by two after the next such round, and so on. If some are refused, the limit is
    halved. If a halved limit saves less than half of the refusals, they have another reason: the
    limit is restored, and that share of refusals counts as usual, which does not lower it again.
    `is_serving` says whether at least half of the last round was served; `times_refused` and
    `lowest` are for the report at the end.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.current = most
        self.under_way = 0
        self.is_serving = True
        self.times_refused = 0
        self.lowest = most
        self._round = Round()
        self._step = 0
        self._usual = 0.0  # the share of refusals that a lower limit does not save
        self._halved: Round | None = None  # the round before, while the limit is on trial
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def is_full(self) -> bool:
        """Whether the next request has to wait."""
        return self.under_way >= self.current

    async def enter(self) -> Round:
        """Wait for a place. Returns the round for `succeeded` and `refused`."""
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

    def enter_now(self) -> Round:
        """Take a place that is free."""
        self.under_way += 1
        entered = self._round
        entered.n_concurrent = max(entered.n_concurrent, self.under_way)
        return entered

    def leave(self) -> None:
        """Give the place back."""
        self.under_way -= 1
        self._wake()

    def succeeded(self, entered: Round) -> None:
        """Count a request that was served."""
        self._judge(entered)

    def refused(self, entered: Round) -> None:
        """Count a request that the endpoint refused for now."""
        self.times_refused += 1
        entered.n_refused += 1
        self._judge(entered)

    def lower(self, entered: Round) -> None:
        """Lower the limit for good: this side has no room for more requests."""
        if entered is self._round:
            self._round = Round()
            self.most = max(1, min(self.most, self.under_way) // 2)
            self.current = min(self.current, self.most)

    def _judge(self, entered: Round) -> None:
        """Count a reply, and choose the next limit if the present round is complete."""
        entered.n_replies += 1
        n, halved = entered.n_replies, self._halved
        enough = 0 if halved is None else 3 * halved.n_replies / halved.n_refused
        if entered is not self._round or n < max(_ROUND, entered.n_concurrent, enough):
            return
        self._round, self._halved = Round(), None
        share, usual = entered.n_refused / n, self._usual * n
        self.is_serving = share <= 1 / 2
        if halved and share > halved.n_refused / halved.n_replies / 2:
            self._usual = halved.n_refused / halved.n_replies
            self.current = min(halved.n_concurrent, self.most)
        elif entered.n_refused <= usual + 3 * math.sqrt(usual):  # as many as by chance
            self._step += 1
            self.current = min(self.most, self.current + self._step)
            self._usual -= max(0.0, self._usual - share) * n / (n + _MEMORY)
        else:
            self._halved, self._step = entered if self.is_serving else None, 0
            self.current = max(1, entered.n_concurrent // 2)
            self.lowest = min(self.lowest, self.current)

    def _wake(self) -> None:
        free = self.current - self.under_way
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
