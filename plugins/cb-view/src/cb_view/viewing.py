"""A run that somebody looks at: its result, an index of its rows, and what the page asks for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from cb_reporters.page import ExampleIndex, Query, find, opened, render
from cbcore.results import EvalResult

_MOST_OPEN = 4
"""Runs whose index is kept; the one that was not asked for longest goes first."""


_ROWS_AT_ONCE = 2000
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
        self._lock = threading.Lock()
        self._version: str | None = None
        self._live = False
        self._result: EvalResult | None = None
        self._index: ExampleIndex | None = None

    def page(self) -> str:
        """The whole page."""
        with self._lock:
            result, index = self._fresh()
            return render(result, index, remote=True, live=self._live)

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
            _add_new(index, result)
            self._result, self._index, self._version, self._live = result, index, version, live
            self._rest_until = self._clock() + _REST * (self._clock() - began)
        return self._result, self._index


def _add_new(index: ExampleIndex, result: EvalResult) -> None:
    for start in range(len(index.system_of), len(result.rows), _ROWS_AT_ONCE):
        for row in result.rows[start : start + _ROWS_AT_ONCE]:
            index.add(row)


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
