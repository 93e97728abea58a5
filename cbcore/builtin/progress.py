"""The progress of a run on standard error: a live line on a terminal, else a line now and then."""

from __future__ import annotations

import atexit
import contextlib
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from cbcore._logging import log_progress
from cbcore.texts import visible

if TYPE_CHECKING:
    from cbcore.protocols import Run
    from cbcore.results import EvalRow

LINE_EVERY_S = 30.0
"""The time between two lines without a terminal. A shorter run prints none."""

_WINDOW_S = 30.0
"""The time over which the rate is taken: cached rows say nothing about those to come."""


def cb_run_started(run: Run) -> None:
    """Show the progress of this run, if that is wanted."""
    if run.settings.progress and not run.settings.pdb:
        run.hooks.register(Progress(run))


class Progress:
    """Counts the rows of one run and shows them until the run is finished."""

    def __init__(self, run: Run, clock: Callable[[], float] = time.monotonic) -> None:
        self._systems = [system.name for system in run.systems]
        self._total = run.total
        self._n_first: int | None = None  # rows of the first system when another one began
        self._limit_usd = run.settings.budget_usd
        self._clock = clock
        self._rows = Counter[str]()
        self._counts = Counter[str]()
        self._usd = 0.0
        self._last: EvalRow | None = None
        self._seen: deque[tuple[float, int]] = deque([(clock(), 0)])
        self._display = contextlib.ExitStack()
        show = _draw if sys.stderr.isatty() else _log
        self._display.enter_context(show(self.line))
        atexit.register(self._display.close)  # a hidden cursor must not outlive the process

    def cb_row_finished(self, row: EvalRow) -> None:
        """Count the row."""
        if self._n_first is None and row.system != self._systems[0]:
            self._n_first = self._rows[self._systems[0]]
        self._rows[row.system] += 1
        self._counts["failed"] += row.error is not None
        self._counts["cached"] += row.cached
        self._counts["tokens"] += row.output_tokens + row.response_tokens
        if row.metadata and not row.cached:
            for key in ("cost_usd", "scoring_usd"):
                cost = row.metadata.get(key)
                self._usd += cost if isinstance(cost, int | float) else 0.0
        self._last = row

    def cb_run_finished(self) -> None:
        """Remove the display."""
        atexit.unregister(self._display.close)
        self._display.close()

    def line(self) -> str:
        """How far the run is. Only for the thread that shows it."""
        n_rows, total, rate = self._rows.total(), self._find_total(), self._measure_rate()
        facts = [f"{n_rows:,} rows"]
        if total:
            share = min(1.0, n_rows / total)
            facts = [f"{n_rows:,} of {total:,} rows {share:.0%}"]
        if rate is not None:
            facts.append(f"{rate:,.1f}/s")
            if total:
                left_s = max(0, total - n_rows) / rate
                facts.append(f"{timedelta(seconds=round(left_s))} left")
        facts += [f"{count:,} {noun}" for noun, count in self._counts.items() if count]
        if self._limit_usd is not None:
            facts.append(f"${self._usd:.4f} of ${self._limit_usd:g}")
        elif self._usd:
            facts.append(f"${self._usd:.4f}")
        if last := self._last:
            facts.append(visible(f"{last.system} on {last.dataset or 'dataset'}"))
        return " · ".join(facts)

    def _find_total(self) -> int | None:
        """The length of the data or, once the first system is through, the rows it had."""
        if self._total is not None or self._n_first is None:
            return self._total
        is_through = self._rows[self._systems[0]] == self._n_first  # else both run at the same time
        total = self._n_first * len(self._systems)
        return total if is_through and total >= self._rows.total() else None

    def _measure_rate(self) -> float | None:
        now, rows = self._clock(), self._rows.total()
        self._seen.append((now, rows))
        while len(self._seen) > 2 and self._seen[1][0] < now - _WINDOW_S:
            self._seen.popleft()
        began, before = self._seen[0]
        return (rows - before) / (now - began) if now > began and rows > before else None


@contextlib.contextmanager
def _draw(line: Callable[[], str]) -> Iterator[None]:
    """A live line on the terminal. What does not fit is cut off."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    def render() -> Text:
        return Text(line(), no_wrap=True, overflow="ellipsis")

    console = Console(stderr=True)
    with Live(console=console, get_renderable=render, refresh_per_second=4, transient=True):
        yield


@contextlib.contextmanager
def _log(line: Callable[[], str]) -> Iterator[None]:
    """A log line now and then."""
    over = threading.Event()

    def log() -> None:
        while not over.wait(LINE_EVERY_S):
            log_progress(line())

    logger = threading.Thread(target=log, name="cb-progress", daemon=True)
    logger.start()
    try:
        yield
    finally:
        over.set()
        logger.join(1.0)  # so that no line comes after the report
