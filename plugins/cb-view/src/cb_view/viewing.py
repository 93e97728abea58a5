"""A run that somebody looks at: its result, an index of its rows, and what the page asks for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from cb_reporters.page import ExampleIndex, Query, find, opened, render
from cbcore.boundary import contained
from cbcore.results import EvalResult

_MOST_OPEN = 4
"""Runs whose index is kept; the one that was not asked for longest goes first."""


_ROWS_AT_ONCE = 2000
_PATIENCE_S = 3.0
"""How long a browser waits for a page before it is told how far that is."""
_REST = 5
"""How many times as long as it took to look at a run that goes on, it is left alone."""


class Viewed:
    """One run, opened. It is brought up to date when its version is another.

    The index holds numbers and ids, no texts: rows and texts are read when they are shown. Of a
    run that goes on, only the rows that are new are gone through, where new ones come `at_end`;
    and it is looked at again only so often that most of the time is left for other things.
    """

    def __init__(
        self,
        read: Callable[[], EvalResult],
        state: Callable[[], tuple[str, bool]],
        *,
        at_end: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._read = read
        self._state = state
        self._at_end = at_end
        self._clock = clock
        self._rest_until = 0.0
        self._n_read = 0
        self._page: _Page | None = None
        self._making: threading.Thread | None = None
        self._lock = threading.Lock()
        self._version: str | None = None
        self._live = False
        self._result: EvalResult | None = None
        self._index: ExampleIndex | None = None

    def page(self, wait_s: float = _PATIENCE_S) -> str | None:
        """The whole page; None where it takes longer than that to make, and is still being made.

        One of a large run takes a while: every row is gone through for its charts and causes.
        It is made once, and again when there is something new.
        """
        version, _ = self._now()
        if self._page is None or self._page.version != version:
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
        text, version = "", ""
        with contained() as tried:
            with self._lock:
                result, index = self._fresh()
                version, live = self._version or "", self._live
                if live:  # whose index grows: nobody may add to it meanwhile
                    text = render(result, index, remote=True, live=True)
            if not live:
                # By a reader of its own: examples can be asked for while this takes its time.
                text = render(self._read(), index, remote=True)
        self._page = _Page(version, text, tried.error)

    def progress(self) -> str:
        """How far a page is that is being made."""
        index, result = self._index, self._result
        if index is None or result is None:
            return f"{self._n_read:,} rows read"
        return f"{len(index.system_of):,} rows read, the page is being made"

    def examples(self, parameters: Mapping[str, str]) -> dict[str, Any]:
        """Those that a query finds, a page of them."""
        query = Query.read(parameters)
        with self._lock:
            result, index = self._fresh()
            return find(index, query, result).to_json()

    def example(self, parameters: Mapping[str, str]) -> dict[str, Any] | None:
        """One example, opened; None where there is none."""
        repeat = parameters.get("repeat")
        number = int(repeat) if repeat and repeat.isascii() and repeat.isdigit() else None
        with self._lock:
            result, index = self._fresh()
            found = index.locate(parameters.get("id", ""), parameters.get("dataset"), number)
            return None if found is None else opened(result, index, found)

    def state(self) -> dict[str, Any]:
        """What a page that follows the run asks for."""
        version, live = self._now()
        return {"version": version, "live": live}

    def _now(self) -> tuple[str, bool]:
        """The version to show, and whether the run goes on."""
        version, live = self._state()
        if live and self._version is not None and self._clock() < self._rest_until:
            return self._version, live
        return version, live

    def _fresh(self) -> tuple[EvalResult, ExampleIndex]:
        version, live = self._now()
        if self._result is None or self._index is None or version != self._version:
            began = self._clock()
            result = self._read()
            index = self._index
            grown = self._live and self._at_end
            if index is None or not grown or len(index.system_of) > len(result.rows):
                index = ExampleIndex(result.config.get("score_field"), result.systems)
            self._add_new(index, result)
            self._result, self._index, self._version, self._live = result, index, version, live
            self._rest_until = self._clock() + _REST * (self._clock() - began)
        return self._result, self._index

    def _add_new(self, index: ExampleIndex, result: EvalResult) -> None:
        for start in range(len(index.system_of), len(result.rows), _ROWS_AT_ONCE):
            for row in result.rows[start : start + _ROWS_AT_ONCE]:
                index.add(row)
            self._n_read = len(index.system_of)


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
