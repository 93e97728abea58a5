"""A run that somebody looks at: its result, a survey of its rows, and what the page asks for."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from cb_reporters.page.document import render
from cb_reporters.page.finding import Query, find, search
from cb_reporters.page.opening import open_example
from cb_reporters.page.survey import Survey
from cbcore.boundary import contained
from cbcore.results import EvalResult


@attrs.frozen(eq=False)
class Opened:
    """A run as it was read, and as far as it was; its numbers are of `n_summed_up` of its rows."""

    version: str
    live: bool
    result: EvalResult
    survey: Survey
    n_summed_up: int | None

    @property
    def is_whole(self) -> bool:
        return self.n_summed_up is not None and self.survey.is_whole(self.result)

    @property
    def grows(self) -> bool:
        """Whether the survey is not yet what it will be."""
        return self.live or not self.is_whole

    @property
    def shown(self) -> str:
        """The version of its page, which changes when all rows were read."""
        if self.is_whole:
            return self.version
        is_read = self.survey.is_whole(self.result)
        return f"{self.version} {'read' if is_read else 'reading'}"

    def rendered(self) -> str:
        return render(self.result, self.survey, remote=True, live=self.live, version=self.shown)


def carry_numbers(before: EvalResult, now: EvalResult, n_summed_up: int) -> EvalResult:
    """A result with the numbers of an earlier look, which says so."""
    remark = f"{n_summed_up:,} of {len(now.rows):,} rows are summed up"
    reason = now.config.get("state_reason")
    return dataclasses.replace(
        now,
        config={
            **now.config,
            "metrics": before.config.get("metrics") or (),
            "state_reason": f"{reason}, and {remark}" if reason else remark,
        },
        summary={**now.summary, **before.summary},
        estimates=before.estimates,
        undecided=before.undecided,
        verdicts=before.verdicts,
        problems=before.problems,
    )


# -- a run that somebody looks at ----------------------------------------------------------------


_MOST_OPEN = 4
"""Runs whose survey is kept; the one that was not asked for longest goes first."""

_ROWS_FIRST = 20_000
"""Rows that are read before the first answer; the others are read while it is looked at."""
_ROWS_AT_ONCE = 4000
_PAUSE_S = 0.002
"""Between such portions, so that whoever waits for an answer has his turn."""
_PATIENCE_S = 3.0
"""How long a browser waits for a page before it is told how far that is."""
_REST = 5
"""How many times as long as it took to look at a run that goes on, it is left alone."""
_GROWN = 1.1
"""How many times as many rows a large run that goes on has when its numbers are made anew. All rows
are read for them: so, over a whole run, each is read about eleven times, however often one looks."""


class Viewed:
    """One run, opened. It is brought up to date when its version is another.

    The survey holds numbers and ids, no texts: rows and texts are read when they are shown. A
    large run is shown as soon as some of its rows were read, and the rest is read meanwhile. Of a
    run that goes on, only the rows that are new are gone through; and it is looked at again only
    so often that most of the time is left for other things. A `glance` gives it without its
    numbers, which take all rows: those of a large run are made meanwhile, and anew when it has
    grown by a good part. Until then those of before stay.
    """

    def __init__(
        self,
        read: Callable[[], EvalResult],
        state: Callable[[], tuple[str, bool]],
        *,
        glance: Callable[[], EvalResult] | None = None,
        rows_first: int = _ROWS_FIRST,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._state = state
        self._glance = glance
        self._rows_first = rows_first
        self._clock = clock
        self._rest_until = 0.0
        self._page: _Page | None = None
        self._making: threading.Thread | None = None
        self._reading: threading.Thread | None = None
        self._renewing: threading.Thread | None = None
        self._lock = threading.Lock()
        self._opened: Opened | None = None
        self._searched: tuple[tuple[Any, ...], set[int]] | None = None

    def page(self, wait_s: float = _PATIENCE_S) -> str | None:
        """The whole page; None where it takes longer than that to make, and is still being made.

        It is made once, and again when there is something new; until then the one before is given.
        """
        if self._page is None or self._page.version != self._shown():
            making = self._making
            if making is None or not making.is_alive():
                making = self._making = threading.Thread(target=self._make_page, daemon=True)
                making.start()
            making.join(wait_s)
        made = self._page
        if made is None:
            return None
        if made.error is not None:
            self._page = None  # to be tried again when it is asked for again
            raise made.error
        return made.text

    def _make_page(self) -> None:
        text = version = ""
        with contained() as tried:
            with self._lock:
                run = self._fresh()
                began = self._clock()
                version = run.shown
                if run.grows:  # nobody may add to it meanwhile
                    text = run.rendered()
                    self._rest(began)
            if not run.grows:
                text = run.rendered()
        self._page = _Page(version, text, tried.error)

    def progress(self) -> str:
        """How far a page is that is being made."""
        run = self._opened
        if run is None:
            return "the run is being opened"
        return f"{run.survey.n_read:,} rows read, the page is being made"

    def examples(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        """Those that a query finds, a page of them."""
        query = Query.read(parameters)
        with self._lock:
            run = self._fresh()
            if not query.terms:
                return find(run.survey.index, query, run.result)
        hits = self._hits(run, query.terms)
        with self._lock:
            return find(run.survey.index, query, run.result, hits)

    def _hits(self, run: Opened, terms: Sequence[str]) -> set[int]:
        """The examples that a search finds. It takes a while in a large run, without the lock."""
        key = (run.shown, run.survey.n_read, tuple(terms))
        known = self._searched
        if known is None or known[0] != key:
            known = self._searched = (key, search(run.survey.index, run.result, terms))
        return known[1]

    def example(self, parameters: Mapping[str, str]) -> dict[str, Any] | None:
        """One example, opened; None where there is none. It may be among rows yet to be read."""
        repeat = parameters.get("repeat")
        number = int(repeat) if repeat and repeat.isascii() and repeat.isdigit() else None
        while True:
            with self._lock:
                run = self._fresh()
                index = run.survey.index
                found = index.locate(parameters.get("id", ""), parameters.get("dataset"), number)
                if found is not None:
                    return open_example(run.result, index, found)
                if run.is_whole:
                    return None
                reading = self._reading
            if reading is not None:
                reading.join(_PATIENCE_S)

    def state(self) -> dict[str, Any]:
        """The state of the run, for a page that follows it or whose rows are still being read."""
        _, live = self._now()
        run = self._opened
        self._renew(run)
        if run is None or run.is_whole:
            return {"version": self._shown(), "live": live, "told": ""}
        told = f"{run.survey.n_read:,} of {len(run.result.rows):,} rows are read"
        if run.survey.is_whole(run.result):
            told = f"{run.survey.n_read:,} rows are being summed up"
        return {"version": self._shown(), "live": True, "told": told}

    def _now(self) -> tuple[str, bool]:
        """The version to show, and whether the run goes on."""
        version, live = self._state()
        run = self._opened
        rests = self._clock() < self._rest_until
        if live and run is not None and (rests or self._is_large(run)):
            return run.version, live
        return version, live

    def _is_large(self, run: Opened) -> bool:
        """Whether it takes long to sum a run up that goes on, so that nobody is to wait for it."""
        return self._glance is not None and run.live and len(run.result.rows) > self._rows_first

    def _shown(self) -> str:
        """The version of the page that could be shown now."""
        version, _ = self._now()
        run = self._opened
        return version if run is None or run.version != version else run.shown

    def _fresh(self) -> Opened:
        """The run as it is now. Only for who holds the lock."""
        version, live = self._now()
        run = self._opened
        if run is None or run.version != version:
            began = self._clock()
            result = self._first_look() if live and run is None else None
            if result is None:
                result = self._read()
                run = self._taken(version, live, result, len(result.rows))
            else:
                run = self._taken(version, live, result, None)
            self._rest(began)
        if not run.is_whole and (self._reading is None or not self._reading.is_alive()):
            self._reading = threading.Thread(target=self._read_on, daemon=True)
            self._reading.start()
        return run

    def _first_look(self) -> EvalResult | None:
        """A run that goes on, without its numbers; None where it is small enough to wait for them."""
        result = None if self._glance is None else self._glance()
        return result if result is not None and len(result.rows) > self._rows_first else None

    def _taken(
        self, version: str, live: bool, result: EvalResult, n_summed_up: int | None
    ) -> Opened:
        """The run as it was read just now. Only for who holds the lock."""
        run = self._opened
        goes_on = run is not None and run.live and run.survey.fits(result)
        survey = run.survey if run is not None and goes_on else Survey.begun(result)
        survey.read(result, self._rows_first)
        self._opened = Opened(version, live, result, survey, n_summed_up)
        return self._opened

    def _rest(self, began: float) -> None:
        now = self._clock()
        self._rest_until = max(self._rest_until, now + _REST * (now - began))

    def _renew(self, run: Opened | None) -> None:
        """Look whether there is more of a large run that goes on; what is shown stays until then."""
        if run is None or not run.is_whole or not self._is_large(run):
            return
        is_busy = self._renewing is not None and self._renewing.is_alive()
        version, live = self._state()
        if live and version != run.version and self._clock() >= self._rest_until and not is_busy:
            self._renewing = threading.Thread(target=self._look_again, daemon=True)
            self._renewing.start()

    def _look_again(self) -> None:
        """Read on in a run that goes on, while others look at it as it was."""
        with contained():  # what cannot be read now is tried again, and told when the run is over
            began, (version, live) = self._clock(), self._state()
            run = self._opened
            result, n_summed_up = self._with_numbers(run, live)
            with self._lock:
                run = self._taken(version, live, result, n_summed_up)
                run.survey.read(run.result)
                self._rest(began)

    def _with_numbers(self, run: Opened | None, live: bool) -> tuple[EvalResult, int]:
        """The run as it is now, with the numbers of before where it has hardly grown since."""
        if live and self._glance is not None and run is not None and run.n_summed_up is not None:
            result = self._glance()
            if len(result.rows) < _GROWN * run.n_summed_up:
                return carry_numbers(run.result, result, run.n_summed_up), run.n_summed_up
        result = self._read()
        return result, len(result.rows)

    def _read_on(self) -> None:
        """Read what is left of the rows, in portions, and then the numbers where there are none."""
        paused = threading.Event()
        with contained() as tried:
            while True:
                with self._lock:
                    run = self._opened
                    if run is None or run.is_whole:
                        return
                    is_read = run.survey.is_whole(run.result)
                    if not is_read:
                        run.survey.read(run.result, _ROWS_AT_ONCE)
                if is_read:
                    self._look_again()
                    return
                paused.wait(_PAUSE_S)
        if tried.error is not None:
            self._opened = None  # whoever asks next opens it again, and is told


@attrs.frozen
class _Page:
    """A page that was made, or why it could not be."""

    version: str
    text: str
    error: BaseException | None = None


class Views:
    """The runs that are open, by what they are called in addresses."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, Viewed] = {}

    def get(self, name: str, make: Callable[[], Viewed]) -> Viewed:
        """The run of that name, opened if it was not."""
        with self._lock:
            viewed = self._open.pop(name, None) or make()
            self._open[name] = viewed
            while len(self._open) > _MOST_OPEN:
                self._open.pop(next(iter(self._open)))
            return viewed
