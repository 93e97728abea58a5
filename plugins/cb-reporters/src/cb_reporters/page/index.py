"""The rows of a result as compact columns, by example: what is filtered, sorted and counted."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

from cb_reporters.page.reading import line_of
from cbcore.results import EvalResult, EvalRow, Texts

SCORED, MISSING, ERROR = 0, 1, 2
"""The states of a row with regard to a score."""


class ExampleIndex:
    """Of every row the numbers, and of every example where its rows stand.

    It keeps numbers and ids, never a text. Rows may be added while a run goes on; systems,
    datasets and scores are numbered in the order in which they are met. A row's position is the
    number of rows that were added before it; where it stands in its result is told by `where`.
    """

    def __init__(self, score: str | None = None, systems: Iterable[str] = ()) -> None:
        self.main_score = score
        self.systems: dict[str, int] = {name: i for i, name in enumerate(systems)}
        self.datasets: dict[str, int] = {}
        self.scores: dict[str, array[float]] = {}
        self.system_of = array("l")
        self.place_of = array("q")
        self.starts: dict[int, int] = {}
        self.example_of = array("l")
        self.input_tokens = array("q")
        self.output_tokens = array("q")
        self.latency = array("d")
        self.errored = bytearray()
        self.keys: list[tuple[int, str | int, int]] = []
        self.rows_of: list[array[int]] = []
        self._places: dict[tuple[int, str | int, int], int] = {}

    @classmethod
    def of(cls, result: EvalResult) -> ExampleIndex:
        """Go through the rows of a result once."""
        index = cls(result.config.get("score_field"), result.summary)
        for row in result.rows:
            index.add(row)
        return index

    def add(self, row: EvalRow, place: int | None = None) -> None:
        """Take the next row. Its place is where it stands, from the start of its system's on."""
        position = len(self.system_of)
        self.place_of.append(position if place is None else place)
        dataset = self.datasets.setdefault(row.dataset, len(self.datasets))
        key = (dataset, row.example_id, row.repeat)
        example = self._places.setdefault(key, len(self.keys))
        if example == len(self.keys):
            self.keys.append(key)
            self.rows_of.append(array("l"))
        self.example_of.append(example)
        self.system_of.append(self.systems.setdefault(row.system, len(self.systems)))
        self.input_tokens.append(row.input_tokens)
        self.output_tokens.append(row.output_tokens)
        self.latency.append(row.latency)
        self.errored.append(row.error is not None)
        self._add_scores(row, position)
        # Last: who looks meanwhile, in another thread, finds whole rows only.
        self.rows_of[example].append(position)

    def _add_scores(self, row: EvalRow, position: int) -> None:
        for name, value in row.scores.items():
            if name not in self.scores:
                self.scores[name] = array("d", [math.nan]) * position
            if row.error is None:
                self.scores[name].append(value)
        for values in self.scores.values():
            if len(values) == position:
                values.append(math.nan)

    def where(self, position: int) -> int:
        """Where the row stands among the rows and texts of its result."""
        return self.starts.get(self.system_of[position], 0) + self.place_of[position]

    # -- one example ---------------------------------------------------------------------------

    def locate(
        self, example_id: str, dataset: str | None = None, repeat: int | None = None
    ) -> int | None:
        """The first example with this id, as an address writes it; None where there is none."""
        wanted = None if dataset is None else self.datasets.get(dataset, -1)
        for example, (of_dataset, key, of_repeat) in enumerate(self.keys):
            if (
                str(key) == example_id
                and wanted in (None, of_dataset)
                and repeat in (None, of_repeat)
            ):
                return example
        return None

    def rows_by_system(self, example: int) -> dict[int, int]:
        """Where the row of each system stands, the first where a system has several."""
        found: dict[int, int] = {}
        for position in self.rows_of[example]:
            found.setdefault(self.system_of[position], position)
        return found

    def state(self, position: int, score: str | None) -> int:
        """Whether a row has the score, lacks it, or is an error."""
        if self.errored[position]:
            return ERROR
        return MISSING if self.value(position, score) is None else SCORED

    def value(self, position: int, score: str | None) -> float | None:
        """A score of a row, or None."""
        values = self.scores.get(score or "")
        if values is None or math.isnan(values[position]):
            return None
        return values[position]

    def line(
        self, example: int, score: str | None = None, texts: Sequence[Texts] | None = None
    ) -> dict[str, Any]:
        """One example in a list: who it is, how its text begins, and each system's cell."""
        score = score or self.main_score
        dataset, example_id, repeat = self.keys[example]
        rows = self.rows_by_system(example)
        return {
            "example": example,
            "dataset": list(self.datasets)[dataset],
            "id": example_id,
            "repeat": repeat,
            "text": line_of(self._given(map(self.where, rows.values()), texts)),
            "cells": [self._cell(rows.get(system), score) for system in self.systems.values()],
        }

    def _cell(self, position: int | None, score: str | None) -> list[Any] | None:
        if position is None:
            return None
        tokens = None if self.errored[position] else self.output_tokens[position]
        return [self.value(position, score), self.state(position, score), tokens]

    @staticmethod
    def _given(places: Iterable[int], texts: Sequence[Texts] | None) -> Any:
        if texts is None:
            return None
        found = (texts[place].example for place in places)
        return next((example for example in found if example is not None), None)
