"""How far a run is, counted beside it: nothing is done for it row by row."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from cbcore._store.tally import Tally
from cbcore.events import RunStarted
from cbcore.results import EvalRow

_WINDOW_S = 30.0
"""What the rate is taken over: rows that came from the store say nothing of those to come."""


class Standing(NamedTuple):
    """How far a run is. `total` and `left_s` are None where nobody can tell."""

    tally: Tally
    total: int | None
    rate: float | None

    @property
    def left_s(self) -> float | None:
        """The seconds it will take at the present rate."""
        if self.total is None or not self.rate:
            return None
        return max(0.0, (self.total - self.tally.rows) / self.rate)


class Watched:
    """Looks at the rows of a run when it is asked how far that is, and counts those that are new."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.rows: Mapping[str, Sequence[EvalRow]] = {}
        self._clock = clock
        self._total: int | None = None
        self._systems: tuple[str, ...] = ()
        self._by_system: dict[str, Tally] = {}
        self._seen: deque[tuple[float, int]] = deque()

    def started(self, event: RunStarted) -> None:
        """What is known of the run before its first row."""
        self._total, self._systems = event.total, event.systems
        self._seen.append((self._clock(), 0))

    def standing(self) -> Standing:
        """How far the run is by now. Only to be asked by one thread."""
        for system, rows in list(self.rows.items()):
            self._by_system[system] = _caught_up(rows, self._by_system.get(system) or Tally())
        found = Tally(
            **{
                name: sum(getattr(tally, name) for tally in self._by_system.values())
                for name in ("rows", "errored", "recalled", "tokens", "usd")
            }
        )
        begun = [tally for tally in self._by_system.values() if tally.last is not None]
        found.last = begun[-1].last if begun else None
        return Standing(found, self._known_total(), self._rate(found.rows))

    def _known_total(self) -> int | None:
        """What the data said or, once the first system is through, what it has shown."""
        counts = [self._by_system[s].rows for s in self._systems if s in self._by_system]
        if len(counts) > 1 and any(counts[1:]):
            return counts[0] * len(self._systems)
        return self._total

    def _rate(self, rows: int) -> float | None:
        now = self._clock()
        self._seen.append((now, rows))
        while len(self._seen) > 2 and self._seen[1][0] < now - _WINDOW_S:
            self._seen.popleft()
        began, before = self._seen[0]
        return (rows - before) / (now - began) if now > began and rows > before else None


def _caught_up(rows: Any, tally: Tally) -> Tally:
    """The tally of these rows, where `tally` is that of an earlier look."""
    if isinstance(own := getattr(rows, "tally", None), Tally):
        return own
    if isinstance(rows, list):
        for row in rows[tally.rows :]:
            tally.add(row)
    else:
        tally.rows = len(rows)
    return tally
