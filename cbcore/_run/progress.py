"""A live line while a run is under way: rate, time left, errors, tokens and cost so far."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cbcore._run.observers import Observers
from cbcore.events import RowFinished, RunStarted
from cbcore.texts import visible

if TYPE_CHECKING:
    from rich.progress import Progress


@contextlib.contextmanager
def live(*, enabled: bool) -> Iterator[Observers]:
    """Observers that draw on the terminal; none of them when standard error is not one."""
    if not enabled or not sys.stderr.isatty():
        yield Observers()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeLeft(),
        TextColumn("{task.fields[spent]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        display = _Display(progress)
        yield Observers(
            started=[("progress", display.started)], row=[("progress", display.row_finished)]
        )


class _Display:
    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: Any = progress.add_task("starting", total=None, rate="", spent="")
        self._errors = self._tokens = 0
        self._usd = 0.0

    def started(self, event: RunStarted) -> None:
        self._progress.update(self._task, total=event.total)

    def row_finished(self, event: RowFinished) -> None:
        row = event.row
        self._errors += row.error is not None
        self._tokens += row.output_tokens + row.response_tokens
        cost = row.metadata.get("cost_usd")
        self._usd += cost if isinstance(cost, int | float) else 0.0
        spent = f"{self._tokens:,} tokens"
        if self._usd:
            spent += f" · ${self._usd:.4f}"
        if self._errors:
            spent += f" · {self._errors} errors"
        speed = self._progress.tasks[self._task].speed
        self._progress.update(
            self._task,
            advance=1,
            description=visible(f"{row.system} on {row.dataset or 'dataset'}"),
            rate=f"{speed:,.0f} rows/s" if speed else "",
            spent=spent,
        )
