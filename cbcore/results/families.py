"""Families: the systems of a run that are one system at several settings.

A sweep writes into the record of each of its points what it belongs to, and how all of them were
asked for: `{"family": {"name": "bm25", "values": {"max_tokens": 150}, "spec": "bm25:…"}}`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

__all__ = ("Family", "families_of")


@attrs.frozen
class Family:
    """Systems that differ in one number: `parameter`, which `points` have in ascending order.

    Where a sweep is a grid, everything but its first number tells one family from another, and
    is part of the name.
    """

    name: str
    parameter: str
    points: tuple[tuple[float, str], ...]

    @property
    def systems(self) -> list[str]:
        """Its systems, the smallest first."""
        return [system for _, system in self.points]

    @property
    def n_looks(self) -> int:
        """How many points a bisection runs at most."""
        return len(self.points).bit_length()


def families_of(systems: Iterable[Mapping[str, Any]]) -> list[Family]:
    """The families among records of systems, as `EvalResult.config["systems"]` has them.

    Points without a number to order them by are no family, and neither is a single one.
    """
    found: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for record in systems:
        told = record.get("family")
        values = told.get("values") if isinstance(told, Mapping) else None
        if not isinstance(told, Mapping) or not isinstance(values, Mapping):
            continue
        numbers = [key for key, value in values.items() if _is_number(value)]
        if not numbers:
            continue
        others = [f"{value}" for key, value in values.items() if key != numbers[0]]
        name = " ".join([str(told.get("name")), *others])
        point = (float(values[numbers[0]]), str(record.get("name")))
        found.setdefault((name, numbers[0]), []).append(point)
    return [
        Family(name, parameter, tuple(sorted(points)))
        for (name, parameter), points in found.items()
        if len(points) > 1
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
