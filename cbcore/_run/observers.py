"""Telling observers what happens, without letting them harm the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import attrs

from cbcore._run.tally import Watched
from cbcore.boundary import contained
from cbcore.events import RowFinished, RunFinished, RunStarted

Listener: TypeAlias = tuple[str, Callable[[Any], Any]]
"""Who listens (a plugin's name), and the function that is told."""


@attrs.define(eq=False, repr=False)
class Observers:
    """Who is told what happens. A listener that raises is reported once and left out.

    `watched` looks at the rows by itself, now and then, instead of being told of each.
    """

    started: Sequence[Listener] = ()
    row: Sequence[Listener] = ()
    finished: Sequence[Listener] = ()
    watched: Watched | None = None
    _silenced: list[Callable[[Any], Any]] = attrs.Factory(list)

    def tell(
        self, event: RunStarted | RowFinished | RunFinished, warn: Callable[[str], None]
    ) -> None:
        """Hand the event to everyone who listens for its kind, in order."""
        for owner, listener in self._listeners(event):
            # By what it is: a listener may be anything, also what cannot be hashed.
            if any(silenced is listener for silenced in self._silenced):
                continue
            with contained() as tried:
                listener(event)
            if tried.error is not None:
                self._silenced.append(listener)
                warn(f"an observer of {owner!r} failed: {tried.reason}")

    def _listeners(self, event: RunStarted | RowFinished | RunFinished) -> Sequence[Listener]:
        if isinstance(event, RowFinished):
            return self.row
        return self.started if isinstance(event, RunStarted) else self.finished
