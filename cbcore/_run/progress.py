"""What is told while a run is under way: a live line, or now and then one for the log."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator

from cbcore._logging import log_progress
from cbcore._run.observers import Observers
from cbcore._run.tally import Standing, Watched
from cbcore.texts import visible

LINE_EVERY_S = 30.0
"""How often a line is written where there is no terminal; a shorter run is silent."""

_LONGEST_WAIT_S = 1.0
_PER_SECOND = 4
_BAR = 20
_LEAST_BAR = 4
_LEAST_NAME = 12


@contextlib.contextmanager
def live(*, enabled: bool) -> Iterator[Observers]:
    """Observers of a run whose progress is shown: drawn on a terminal, else told in lines."""
    if not enabled:
        yield Observers()
        return
    watched = Watched()
    observers = Observers(started=[("progress", watched.started)], watched=watched)
    with _drawn(watched) if sys.stderr.isatty() else _told(watched):
        yield observers


@contextlib.contextmanager
def _drawn(watched: Watched) -> Iterator[None]:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(stderr=True)

    def line() -> Text:
        text = fitted(watched.standing(), console.width - 1)
        return Text(text, no_wrap=True, overflow="ellipsis")

    with Live(console=console, get_renderable=line, refresh_per_second=_PER_SECOND, transient=True):
        yield


@contextlib.contextmanager
def _told(watched: Watched) -> Iterator[None]:
    over = threading.Event()

    def tell() -> None:
        while not over.wait(LINE_EVERY_S):
            standing = watched.standing()
            facts = (_done(standing), *_facts(standing), _where(standing))
            log_progress(" · ".join(" ".join(fact.split()) for fact in facts))

    teller = threading.Thread(target=tell, name="cb-progress", daemon=True)
    with contextlib.suppress(RuntimeError):  # where no thread can be started, nothing is told
        teller.start()
    try:
        yield
    finally:
        over.set()
        if teller.is_alive():
            teller.join(_LONGEST_WAIT_S)  # so that no line comes after what follows the run


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
