"""Which systems are worth their cost: quality and cost weighed against each other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import attrs

from cb_metrics.scores import check_name, finite, mean, measured, note_missing, score_of
from cbcore.results import EvalRow


@attrs.frozen
class ParetoRank:
    """Rank of each system by quality and cost together; 1 is the Pareto front.

    Emits `pareto_rank`: one plus the number of systems that dominate this one, by being at
    least as good in mean quality and mean cost and better in one of them. `cost` is
    `output_tokens`, `latency`, or a key of the rows' metadata that holds a number. Both
    means rest on the same rows, those that have score and cost; NaN where there are none.
    A system with only scores of 0 has no rank: it costs little and does nothing.
    """

    name = "pareto_rank"
    automatic = "several-systems"

    score_field: str = attrs.field(default="f1", validator=check_name)
    cost: str = attrs.field(default="output_tokens", validator=check_name)

    def compare(
        self, rows_by_system: Mapping[str, Iterable[EvalRow]]
    ) -> dict[str, dict[str, float]]:
        """Rank the systems against each other."""
        points: dict[str, tuple[float, float]] = {}
        missing: dict[str, int] = {}
        for system, rows in rows_by_system.items():
            point, missing[system] = self._point(rows)
            if point is not None:
                points[system] = point
        ranks = rank(points)
        return {
            system: note_missing(
                {"pareto_rank": float(ranks.get(system, math.nan))}, "pareto_rank", n_missing
            )
            for system, n_missing in missing.items()
        }

    def _point(self, rows: Iterable[EvalRow]) -> tuple[tuple[float, float] | None, int]:
        """Mean quality and cost of one system, and the number of rows lacking either."""
        scores: list[float] = []
        costs: list[float] = []
        missing = 0
        for row in measured(rows):
            score, cost = score_of(row, self.score_field), self._cost_of(row)
            if score is None or cost is None:
                missing += 1
            else:
                scores.append(score)
                costs.append(cost)
        return ((mean(scores), mean(costs)) if any(scores) else None), missing

    def _cost_of(self, row: EvalRow) -> float | None:
        if self.cost == "output_tokens":
            return float(row.output_tokens)
        if self.cost == "latency":
            return finite(row.latency)
        return finite(row.metadata.get(self.cost))


def rank(points: Mapping[str, tuple[float, float]]) -> dict[str, int]:
    """Pareto ranks of named (quality, cost) points: one plus the number of dominating points.

    Higher quality is better, lower cost is better. Equal points do not dominate each other.
    """
    for name, point in points.items():
        if any(map(math.isnan, point)):
            raise ValueError(f"{name!r} cannot be ranked: quality and cost are {point!r}")
    return {
        name: 1 + sum(_dominates(other, point) for other in points.values())
        for name, point in points.items()
    }


def _dominates(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one != other and one[0] >= other[0] and one[1] <= other[1]
