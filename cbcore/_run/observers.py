"""Telling observers what happens, without letting them harm the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import attrs

from cbcore.components import describe_exception
from cbcore.events import RowFinished, RunFinished, RunStarted

Listener: TypeAlias = tuple[str, Callable[[Any], Any]]
"""Who listens (a plugin's name), and the function that is told."""


@attrs.define
class Observers:
    """Who is told what happens. A listener that raises is reported once and left out."""

    started: Sequence[Listener] = ()
    row: Sequence[Listener] = ()
    finished: Sequence[Listener] = ()
    _silenced: list[Callable[[Any], Any]] = attrs.Factory(list)

    def tell(
        self, event: RunStarted | RowFinished | RunFinished, warn: Callable[[str], None]
    ) -> None:
        """Hand the event to everyone who listens for its kind, in order."""
        for owner, listener in self._listeners(event):
            # By what it is: a listener may be anything, also what cannot be hashed.
            if any(silenced is listener for silenced in self._silenced):
                continue
            try:
                listener(event)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - the plugin boundary
                self._silenced.append(listener)
                warn(f"an observer of {owner!r} failed: {describe_exception(error)}")

    def _listeners(self, event: RunStarted | RowFinished | RunFinished) -> Sequence[Listener]:
        if isinstance(event, RowFinished):
            return self.row
        return self.started if isinstance(event, RunStarted) else self.finished
