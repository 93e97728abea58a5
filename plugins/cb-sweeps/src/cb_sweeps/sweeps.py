"""Sweeps in results: the systems of a run that are one system with several values of a number.

The record of each point names the sweep, its own values, and the spec of all points:
`{"sweep": {"name": "bm25", "values": {"max_tokens": 150}, "spec": "bm25:…"}}`. Of a sweep that
was searched, `n_points` is the number of points to choose from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

TAG = "sweep"
"""The key of a point's entry in the record of its component."""


@attrs.frozen
class Sweep:
    """Systems that differ in one number: `parameter`, which `points` have in ascending order.

    In a grid, all other values are part of the name. `n_points` is the number of points that a
    search chose these from; None if all of them ran.
    """

    name: str
    parameter: str
    points: tuple[tuple[float, str], ...]
    n_points: int | None = None

    @property
    def systems(self) -> list[str]:
        """The names of the systems, smallest value first."""
        return [system for _, system in self.points]

    @property
    def n_looks(self) -> int:
        """The number of results by which points were chosen; at most those of a bisection."""
        return 1 if self.n_points is None else self.n_points.bit_length()


def find_sweeps(systems: Iterable[Mapping[str, Any]]) -> list[Sweep]:
    """The sweeps in records of systems, as `EvalResult.config["systems"]` has them.

    Points need a number to order them by. One point alone is a sweep only if it was searched.
    """
    found: dict[tuple[str, str], list[tuple[float, str]]] = {}
    searched: dict[tuple[str, str], int | None] = {}
    for record in systems:
        tag = record.get(TAG)
        values = tag.get("values") if isinstance(tag, Mapping) else None
        if not isinstance(tag, Mapping) or not isinstance(values, Mapping):
            continue
        numbers = [key for key, value in values.items() if _is_number(value)]
        if not numbers:
            continue
        others = [f"{value}" for key, value in values.items() if key != numbers[0]]
        key = " ".join([str(tag.get("name")), *others]), numbers[0]
        found.setdefault(key, []).append((float(values[numbers[0]]), str(record.get("name"))))
        searched[key] = tag.get("n_points")
    return [
        Sweep(*key, tuple(sorted(points)), searched[key])
        for key, points in found.items()
        if len(points) > 1 or searched[key]
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
