"""All that a page says of rows, gathered in one go: of a large run, they are on the disk."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from cb_reporters.page.index import ExampleIndex
from cbcore.results import Counts, EvalResult, EvalRow, RowsBySystem
from cbcore.results.causes import Cause, Causes

_AT_ONCE = 512
"""Rows of one system that are read before those of the next; a store keeps as many together."""


class Survey:
    """Counts, causes of failures and an index of the rows of a result that were read.

    `unscored` counts, by dataset, those that lack the main score for no reason of their own:
    nothing that gives it was asked about them.

    `read` goes on where it stopped, some rows of every system in turn, so that the first examples
    are soon there with all their rows. A result to which rows were added since is read on
    likewise; one that has fewer than before needs a survey of its own.
    """

    def __init__(self, score: str | None = None, systems: Iterable[str] = ()) -> None:
        self.index = ExampleIndex(score, systems)
        self.scores: set[str] = set()
        self._causes = Causes()
        self._counts: dict[str, list[int]] = {system: [0, 0, 0, 0] for system in self.index.systems}
        self._costs: dict[str, array[float]] = {}
        self._without_cost: set[str] = set()
        self.unscored: dict[str, int] = {}
        self._read: dict[str, int] = {}

    @classmethod
    def begun(cls, result: EvalResult) -> Survey:
        """One that has read nothing yet."""
        return cls(result.config.get("score_field"), result.summary)

    @classmethod
    def of(cls, result: EvalResult) -> Survey:
        """One that has read everything."""
        survey = cls.begun(result)
        survey.read(result)
        return survey

    @property
    def n_read(self) -> int:
        return sum(self._read.values())

    def is_whole(self, result: EvalResult) -> bool:
        """Whether all rows of the result were read."""
        return self.n_read == len(result.rows)

    def fits(self, result: EvalResult) -> bool:
        """Whether the result begins, system by system, with the rows that were read."""
        parts = _parts(result)
        return all(len(parts.get(system, ())) >= n for system, n in self._read.items())

    def read(self, result: EvalResult, at_most: int | None = None) -> None:
        """Read on: all rows, or so many, rounded up to what is read together."""
        parts = _parts(result)
        self._read = {**dict.fromkeys(parts, 0), **self._read}
        wanted = math.inf if at_most is None else self.n_read + at_most
        while self.n_read < wanted:
            behind = [system for system, part in parts.items() if self._read[system] < len(part)]
            if not behind:
                break
            system = min(behind, key=self._read.__getitem__)
            self._read_some(system, parts[system])
        self._place(result, parts)

    def _read_some(self, system: str, part: Sequence[EvalRow]) -> None:
        start = self._read[system]
        rows = part[start : start + _AT_ONCE]
        for place, row in enumerate(rows, start):
            self._add(row, place)
        self._read[system] += len(rows)

    def _place(self, result: EvalResult, parts: Mapping[str, Sequence[EvalRow]]) -> None:
        """Note where the rows of each system begin, which moves while those before it grow."""
        if isinstance(result.rows, RowsBySystem):
            begins = accumulate(map(len, parts.values()), initial=0)
            for system, start in zip(parts, begins, strict=False):
                if (number := self.index.systems.get(system)) is not None:
                    self.index.starts[number] = start

    def _add(self, row: EvalRow, place: int) -> None:
        self.index.add(row, place)
        self._causes.add(row)
        self.scores.update(row.scores, row.missing)
        counts = self._counts.setdefault(row.system, [0, 0, 0, 0])
        counts[0] += 1
        main = self.index.main_score
        if row.error is not None:
            counts[2] += 1
        elif main in row.scores if main else row.scores:
            counts[1] += 1
        elif main and main not in row.missing:
            self.unscored[row.dataset] = self.unscored.get(row.dataset, 0) + 1
        counts[3] += row.cached
        cost = row.metadata.get("cost_usd")
        if isinstance(cost, int | float) and math.isfinite(cost):
            self._costs.setdefault(row.system, array("d")).append(cost)
        elif row.error is None:
            self._without_cost.add(row.system)

    def counts(self) -> dict[str, Counts]:
        """The counts of the main score, like `EvalResult.counts`."""
        return {system: Counts(*numbers) for system, numbers in self._counts.items()}

    def causes(self) -> list[Cause]:
        """The causes of failures, like `causes_of`."""
        return self._causes.group()

    def mean_costs(self) -> dict[str, float]:
        """The mean cost of an example, for systems whose rows all have a cost."""
        return {
            system: math.fsum(costs) / len(costs)
            for system, costs in self._costs.items()
            if system not in self._without_cost and any(costs)
        }


def _parts(result: EvalResult) -> dict[str, Sequence[EvalRow]]:
    """The rows that stand together, by their system; those that do not by no name."""
    return result.rows_by_system() if isinstance(result.rows, RowsBySystem) else {"": result.rows}
