"""How the scores and the latencies of each system are spread."""

from __future__ import annotations

import contextlib
import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from cb_reporters import formats
from cb_reporters.page.index import ExampleIndex
from cbcore.stats import quantile_at

N_BINS = 20
MOST_SCORES = 24


class Distribution(NamedTuple):
    """One score of one system: its values in order, and how many measured rows have none."""

    system: str
    values: Sequence[float]
    missing: int

    def figures(self) -> list[tuple[str, float | None]]:
        """Mean, median, standard deviation (of a sample), minimum and maximum.

        None for one that cannot be had: of too few values, or of more than a number can hold.
        """
        values = self.values
        if not values:
            return [(name, None) for name in ("mean", "median", "std", "min", "max")]
        return [
            ("mean", mean(values)),
            ("median", quantile_at(values, 0.5)),
            ("std", deviation(values)),
            ("min", values[0]),
            ("max", values[-1]),
        ]

    def bins(self, low: float, high: float) -> list[int]:
        """How many values fall into each of equal parts; the last one is closed above."""

        def part(value: float) -> int:
            return int((value - low) / (high - low) * N_BINS)

        # They are in order, so that only where a part begins has to be looked for.
        begins = [bisect_left(self.values, number, key=part) for number in range(N_BINS)]
        return [end - begin for begin, end in pairwise((*begins, len(self.values)))]


class ScoreSpread(NamedTuple):
    """One score of all systems."""

    score: str
    systems: list[Distribution]

    def drawn(self) -> dict[str, Any] | None:
        """The data of the chart; None without a value, or if no axis can hold all values."""
        shown = [one for one in self.systems if one.values]
        if not shown:
            return None
        low = min(0.0, *(one.values[0] for one in shown))
        high = max(1.0, *(one.values[-1] for one in shown))
        if not math.isfinite(high - low):
            return None
        step = (high - low) / N_BINS
        return {
            "score": self.score,
            "edges": [*(round(low + i * step, 9) for i in range(N_BINS)), high],
            "systems": [
                {
                    "system": one.system,
                    "counts": one.bins(low, high),
                    "mean": mean(one.values),
                    "median": quantile_at(one.values, 0.5),
                }
                for one in shown
            ],
        }


def score_spreads(index: ExampleIndex) -> list[ScoreSpread]:
    """Every score, that of the run first."""
    names = sorted(index.scores, key=lambda name: name != index.main_score)
    rows = _rows_by_system(index)
    return [
        ScoreSpread(
            name,
            [
                _distribution(system, [index.scores[name][position] for position in of_system])
                for system, of_system in rows.items()
            ],
        )
        for name in names[:MOST_SCORES]
    ]


def _distribution(system: str, values: Sequence[float]) -> Distribution:
    present = sorted(value for value in values if math.isfinite(value))
    return Distribution(system, present, len(values) - len(present))


def latencies(index: ExampleIndex) -> list[dict[str, Any]]:
    """The spread of latencies of each system that was called; nothing where no time passed."""
    found = []
    for system, positions in _rows_by_system(index).items():
        times = sorted(t for p in positions if (t := formats.finite(index.latency[p])) and t > 0)
        if times:
            shares = {"p5": 0.05, "q1": 0.25, "median": 0.5, "q3": 0.75, "p95": 0.95}
            figures = {name: quantile_at(times, share) for name, share in shares.items()}
            found.append({"system": system, **figures})
    return found


def _rows_by_system(index: ExampleIndex) -> dict[str, list[int]]:
    """The measured rows of each system."""
    found: dict[str, list[int]] = {name: [] for name in index.systems}
    names = list(index.systems)
    for position, system in enumerate(index.system_of):
        if not index.errored[position]:
            found[names[system]].append(position)
    return found


def mean(values: Sequence[float]) -> float | None:
    """The mean; None where the sum is more than a number can hold."""
    with contextlib.suppress(OverflowError):
        return math.fsum(values) / len(values)
    return None


def deviation(values: Sequence[float]) -> float | None:
    """The standard deviation of a sample; None of one value, or where no number can hold it."""
    middle = mean(values)
    if middle is None or len(values) < 2:
        return None
    with contextlib.suppress(OverflowError):
        squares = math.fsum((value - middle) ** 2 for value in values)
        return math.sqrt(squares / (len(values) - 1))
    return None
