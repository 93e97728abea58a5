"""How certain the Pareto front is: draw the examples again. Seeded, so repeatable."""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Mapping, Sequence

N_DRAWS = 2_000
MOST_UNITS = 500
"""More examples are dealt into this many groups, so that a draw has a fixed price."""


def front_shares(
    points: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    groups: Sequence[Hashable] | None = None,
    *,
    seed: int = 0,
) -> dict[str, float]:
    """Return the share of draws in which each system is on the Pareto front.

    `points` are the scores and the costs of each system, on the same examples in the same order.
    A draw takes the same examples for all systems, and whole groups if there are groups. A system
    is on the front if no other is at least as good at no more cost, and better in one of the two.
    """
    columns = [column for point in points.values() for column in point]
    examples = list(zip(*columns, strict=True))
    if not examples:
        return {}
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    units = _sum_units(examples, range(len(examples)) if groups is None else groups, chance)
    counts = [0] * len(points)
    for _ in range(N_DRAWS):
        size, *sums = map(sum, zip(*chance.choices(units, k=len(units)), strict=True))
        # Means that differ by rounding alone are equal.
        quality = [round(total / size, 12) for total in sums[::2]]
        cost = [round(total / size, 9) for total in sums[1::2]]
        for place in _find_front(quality, cost):
            counts[place] += 1
    return {system: count / N_DRAWS for system, count in zip(points, counts, strict=True)}


def _sum_units(
    examples: Sequence[tuple[float, ...]], groups: Sequence[Hashable], chance: random.Random
) -> list[tuple[float, ...]]:
    """Return what is drawn as a whole: its number of examples, and the sum of each column.

    Independent groups that are dealt together at random stay independent of each other, so the
    means vary from draw to draw as they do without dealing.
    """
    members: dict[Hashable, list[tuple[float, ...]]] = {}
    for group, values in zip(groups, examples, strict=True):
        members.setdefault(group, []).append((1, *values))
    dealt = list(members.values())
    if len(dealt) > MOST_UNITS:
        chance.shuffle(dealt)
        dealt = [[row for rows in dealt[i::MOST_UNITS] for row in rows] for i in range(MOST_UNITS)]
    return [tuple(map(sum, zip(*rows, strict=True))) for rows in dealt]


def _find_front(quality: Sequence[float], cost: Sequence[float]) -> list[int]:
    """Return the places of the points that no other point dominates."""
    front: list[int] = []
    best, cheapest = math.nan, math.inf
    for place in sorted(range(len(quality)), key=lambda i: (-quality[i], cost[i])):
        if cost[place] < cheapest or (quality[place], cost[place]) == (best, cheapest):
            front.append(place)
            best, cheapest = quality[place], cost[place]
    return front
