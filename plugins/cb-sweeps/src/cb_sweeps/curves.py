"""A curve through the points of a sweep: straight lines between them, nothing beyond them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import attrs

from cb_sweeps.samples import Sample
from cb_sweeps.sweeps import Sweep
from cbcore.stats import Estimate, Terms


@attrs.frozen
class Curve:
    """A sweep on a sample: for each point its budget, what it spent, and its scores.

    Points are in the order of what they spent. `scores` are those of every example, so that what
    is read off the curve can be read off for each of them, and knows how sure it is.
    """

    name: str
    budgets: Sequence[float]
    systems: Sequence[str]
    costs: Sequence[float]
    scores: Sequence[Sequence[float]]

    @classmethod
    def of(cls, sweep: Sweep, sample: Sample) -> Curve:
        points = sorted(
            (sample.mean_cost(system), budget, system) for budget, system in sweep.points
        )
        return cls(
            sweep.name,
            [budget for _, budget, _ in points],
            [system for _, _, system in points],
            [cost for cost, _, _ in points],
            [sample.scores[system] for _, _, system in points],
        )

    @property
    def means(self) -> list[float]:
        return [math.fsum(scores) / len(scores) for scores in self.scores]

    def of_each(self, example: int) -> list[float]:
        """The curve of one example."""
        return [scores[example] for scores in self.scores]


def at(x: float, xs: Sequence[float], ys: Sequence[float]) -> float:
    """The height of a curve at x; NaN beyond its ends. Of points at one place, the mean counts."""
    here = [y for place, y in zip(xs, ys, strict=True) if place == x]
    if here:
        return math.fsum(here) / len(here)
    for (x0, y0), (x1, y1) in itertools.pairwise(zip(xs, ys, strict=True)):
        if x0 < x < x1:
            return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
    return math.nan


def area(xs: Sequence[float], ys: Sequence[float], low: float, high: float) -> float:
    """The mean height of a curve between two places, both on it."""
    inner = [(x, y) for x, y in zip(xs, ys, strict=True) if low < x < high]
    points = [(low, at(low, xs, ys)), *inner, (high, at(high, xs, ys))]
    total = math.fsum(
        (x1 - x0) * (y0 + y1) / 2 for (x0, y0), (x1, y1) in itertools.pairwise(points)
    )
    return total / (high - low)


def shared_range(curves: Sequence[Curve]) -> tuple[float, float] | None:
    """The costs that all curves cover; None where there are none."""
    low = max(curve.costs[0] for curve in curves)
    high = min(curve.costs[-1] for curve in curves)
    return (low, high) if low < high else None


def areas(curve: Curve, low: float, high: float) -> list[float]:
    """The mean height of each example's curve. Their mean is that of the curve."""
    n = len(curve.scores[0])
    return [area(curve.costs, curve.of_each(i), low, high) for i in range(n)]


def quality_at(curve: Curve, cost: float, sample: Sample) -> Estimate | None:
    """The score at a cost, with its interval; None where the curve does not reach it."""
    values = [at(cost, curve.costs, curve.of_each(i)) for i in range(len(sample.keys))]
    return (
        None
        if not values or math.isnan(values[0])
        else Terms(values).estimate_grouped(sample.groups)
    )


def knee(xs: Sequence[float], ys: Sequence[float]) -> int | None:
    """The point after which more buys least: the farthest above the line from end to end.

    Both axes count from 0 to 1 between the ends. None with fewer than three points, or where no
    point lies above the line, as when the curve does not bend.
    """
    if len(xs) < 3 or xs[-1] <= xs[0] or ys[-1] <= ys[0]:
        return None
    above = [
        (y - ys[0]) / (ys[-1] - ys[0]) - (x - xs[0]) / (xs[-1] - xs[0])
        for x, y in zip(xs, ys, strict=True)
    ]
    best = max(range(len(above)), key=above.__getitem__)
    return best if above[best] > 1e-9 else None
