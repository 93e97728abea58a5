"""The progress of a run on standard error: a live line on a terminal, else a line now and then."""

from __future__ import annotations

import atexit
import contextlib
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from cbcore._logging import log_progress
from cbcore._store.tally import Tally
from cbcore.texts import visible

if TYPE_CHECKING:
    from cbcore.protocols import Run
    from cbcore.results import EvalRow

LINE_EVERY_S = 30.0
"""The time between two lines without a terminal; a shorter run prints none."""

_WINDOW_S = 30.0
"""The time over which the rate is taken: cached rows say nothing about those to come."""
_LONGEST_WAIT_S = 1.0
_PER_SECOND = 4
_BAR = 20
_LEAST_BAR = 4
_LEAST_NAME = 12


def cb_run_started(run: Run) -> None:
    """Show the progress of this run, if that is wanted."""
    if run.show_progress:
        run.hooks.register(Progress(run))


class Standing(NamedTuple):
    """How far a run is. `total` and `rate` are None if they are unknown."""

    tally: Tally
    total: int | None
    rate: float | None

    @property
    def left_s(self) -> float | None:
        """The seconds that the rest takes at the present rate."""
        if self.total is None or not self.rate:
            return None
        return max(0.0, (self.total - self.tally.rows) / self.rate)


class Progress:
    """Counts the rows of one run and shows them until the run is finished."""

    def __init__(self, run: Run, clock: Callable[[], float] = time.monotonic) -> None:
        self._systems = run.system_names
        self._total = run.total
        self._clock = clock
        self._tally = Tally()
        self._rows = Counter[str]()
        self._seen: deque[tuple[float, int]] = deque([(clock(), 0)])
        self._display = contextlib.ExitStack()
        self._display.enter_context(_draw(self) if sys.stderr.isatty() else _log(self))
        atexit.register(self._display.close)  # a hidden cursor must not outlive the process

    def cb_row_finished(self, row: EvalRow) -> None:
        """Count the row."""
        self._tally.add(row)
        self._rows[row.system] += 1

    def cb_run_finished(self) -> None:
        """Remove the display."""
        atexit.unregister(self._display.close)
        self._display.close()

    def standing(self) -> Standing:
        """How far the run is. Only for the thread that shows it."""
        return Standing(self._tally, self._known_total(), self._rate())

    def _known_total(self) -> int | None:
        """The length of the data or, once the first system is through, the rows it had."""
        first, *others = self._systems or [""]
        if any(self._rows[system] for system in others):
            return self._rows[first] * len(self._systems)
        return self._total

    def _rate(self) -> float | None:
        now, rows = self._clock(), self._tally.rows
        self._seen.append((now, rows))
        while len(self._seen) > 2 and self._seen[1][0] < now - _WINDOW_S:
            self._seen.popleft()
        began, before = self._seen[0]
        return (rows - before) / (now - began) if now > began and rows > before else None


@contextlib.contextmanager
def _draw(progress: Progress) -> Iterator[None]:
    """A live line on the terminal."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(stderr=True)

    def line() -> Text:
        text = fitted(progress.standing(), console.width - 1)
        return Text(text, no_wrap=True, overflow="ellipsis")

    with Live(console=console, get_renderable=line, refresh_per_second=_PER_SECOND, transient=True):
        yield


@contextlib.contextmanager
def _log(progress: Progress) -> Iterator[None]:
    """A log line now and then."""
    over = threading.Event()

    def log() -> None:
        while not over.wait(LINE_EVERY_S):
            standing = progress.standing()
            facts = (_done(standing), *_facts(standing), _where(standing))
            log_progress(" · ".join(" ".join(fact.split()) for fact in facts))

    logger = threading.Thread(target=log, name="cb-progress", daemon=True)
    with contextlib.suppress(RuntimeError):  # without a thread, there are no lines
        logger.start()
    try:
        yield
    finally:
        over.set()
        if logger.is_alive():
            logger.join(_LONGEST_WAIT_S)  # so that no line comes after the report


def fitted(standing: Standing, columns: int) -> str:
    """One line of at most so many columns; what names take is what the numbers leave.

    Numbers have the same width from row to row, so that nothing jumps. Where there is no room for
    all of them, the bar is shorter, and the last ones are left out as a whole.
    """
    facts = [_done(standing), *_facts(standing)]
    line = "  ".join(facts)
    while len(line) > columns and len(facts) > 1:
        line = "  ".join(facts := facts[:-1])
    share, room = _share(standing), min(_BAR, columns - len(line) - 2)
    if share is not None and room >= _LEAST_BAR:
        full = round(share * room)
        line = f"{'━' * full}{'╌' * (room - full)}  {line}"
    if columns - len(line) - 2 < _LEAST_NAME:
        return line[:columns]
    return f"{line}  {_shortened(_where(standing), columns - len(line) - 2)}"


def _share(standing: Standing) -> float | None:
    return min(1.0, standing.tally.rows / standing.total) if standing.total else None


def _done(standing: Standing) -> str:
    rows, share = standing.tally.rows, _share(standing)
    if standing.total is None or share is None:
        return f"{rows:,} rows"
    total = f"{standing.total:,}"
    return f"{rows:{len(total)},} of {total} rows {share:4.0%}"


def _facts(standing: Standing) -> Iterator[str]:
    """Rate, time left, errors, rows recalled, tokens and cost, as far as there are any."""
    tally = standing.tally
    if standing.rate is not None:
        digits = 0 if standing.rate >= 10 else 1
        yield f"{standing.rate:5,.{digits}f}/s"
    if standing.left_s is not None:
        yield f"{_duration(standing.left_s):>7} left"
    if tally.errored:
        yield f"{tally.errored:,} error{'' if tally.errored == 1 else 's'}"
    if tally.recalled:
        yield f"{tally.recalled:,} recalled"
    if tally.tokens:
        yield f"{tally.tokens:,} tokens"
    if tally.usd:
        yield f"${tally.usd:.4f}"


def _where(standing: Standing) -> str:
    last = standing.tally.last
    return "starting" if last is None else visible(f"{last.system} on {last.dataset or 'dataset'}")


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02} min"
    return f"{whole // 3600}:{whole % 3600 // 60:02} h"


def _shortened(text: str, columns: int) -> str:
    """The text in so many characters, its middle left out: names differ at either end."""
    if len(text) <= columns:
        return text
    head = columns // 2
    return f"{text[:head]}…{text[-(columns - head - 1) :]}"
