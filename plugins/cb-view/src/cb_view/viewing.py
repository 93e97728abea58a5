"""A run that somebody looks at: its result, an index of its rows, and what the page asks for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from cb_reporters.page import ExampleIndex, Query, find, opened, render
from cbcore.results import EvalResult

_MOST_OPEN = 4
"""Runs whose index is kept; the one that was not asked for longest goes first."""


_ROWS_AT_ONCE = 2000


class Viewed:
    """One run, opened. It is brought up to date when its version is another.

    The index holds numbers and ids, no texts: rows and texts are read when they are shown. Of a
    run that goes on, only the rows that are new are gone through.
    """

    def __init__(
        self, read: Callable[[], EvalResult], state: Callable[[], tuple[str, bool]]
    ) -> None:
        self._read = read
        self._state = state
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
        version, live = self._state()
        return {"version": version, "live": live}

    def _fresh(self) -> tuple[EvalResult, ExampleIndex]:
        version, live = self._state()
        if self._result is None or self._index is None or version != self._version:
            result = self._read()
            index = self._index
            if index is None or not self._live or len(index.system_of) > len(result.rows):
                index = ExampleIndex(result.config.get("score_field"), result.systems)
            for start in range(len(index.system_of), len(result.rows), _ROWS_AT_ONCE):
                for row in result.rows[start : start + _ROWS_AT_ONCE]:
                    index.add(row)
            self._result, self._index, self._version, self._live = result, index, version, live
        return self._result, self._index


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
