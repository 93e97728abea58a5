"""Curves: scores by how long a history is, or by how far back its evidence stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from cb_memory.reporting.facts import Asked, Findings

EDGES = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
"""Where the bins of a curve end, in items of the history."""

MEASURES: dict[str, Callable[[Asked], int | None]] = {
    "length of history": lambda one: one.items,
    "distance to the evidence": lambda one: one.distance,
}


def binned(asked: Iterable[Asked], measure: Callable[[Asked], int | None]) -> list[list[Asked]]:
    """Questions by how large something is, the smallest first; nothing where all are alike."""
    bins: dict[int, list[Asked]] = {}
    for one in asked:
        if (size := measure(one)) is not None:
            bins.setdefault(_place(size), []).append(one)
    return [bins[place] for place in sorted(bins)] if len(bins) > 1 else []


def bin_name(size: int) -> str:
    """What the bin that holds a size is called."""
    place = _place(size)
    low = EDGES[place - 1] + 1 if place else 1
    return f"{low}–{EDGES[place]} items" if place < len(EDGES) else f"{low} items and more"


def _place(size: int) -> int:
    return next((i for i, edge in enumerate(EDGES) if size <= edge), len(EDGES))


def chart_of(findings: Findings, score: str | None) -> dict[str, Any] | None:
    """The score of every memory by the distance to the evidence, or else by length, if it varies.

    Of questions that can be answered, those of all datasets together.
    """
    asked = [one for one in findings.questions.values() if not one.abstention]
    for name in reversed(MEASURES):
        bins = binned(asked, MEASURES[name])
        if bins and score is not None:
            series = [
                {"name": system, "points": _points(findings, system, score, bins, MEASURES[name])}
                for system in findings.answers
            ]
            return {"kind": "curves", "x": f"{name}, items", "y": score, "series": series}
    return None


def _points(
    findings: Findings,
    system: str,
    score: str,
    bins: Sequence[Sequence[Asked]],
    measure: Callable[[Asked], int | None],
) -> list[dict[str, Any]]:
    points = []
    for some in bins:
        found = findings.estimate(system, score, {one.key for one in some})
        if found is None:
            continue
        sizes = [size for one in some if (size := measure(one)) is not None]
        low, high = found.interval or (None, None)
        points.append(
            {
                "x": sum(sizes) / len(sizes),
                "y": found.value,
                "low": low,
                "high": high,
                "label": f"{system}, {bin_name(sizes[0])}",
            }
        )
    return points
