"""What the tokens bought: how many were saved, and which systems are worth theirs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import cb_metrics
from cbcore.results import EvalRow
from context_bench.metrics.cost_of_pass import CostOfPass
from context_bench.metrics.quality import MeanScore


class CompressionRatio(cb_metrics.CompressionRatio):
    """Share of the input tokens that the system saved, with the mean tokens per row."""

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """Add up the tokens of one system's rows; 0.0 without rows."""
        rows = list(rows)
        values = super().compute(rows)
        return values if rows else dict.fromkeys(values, 0.0)


class ParetoRank:
    """Rank of each system by mean quality and cost together; 1 is the Pareto front.

    `cost_field` is `cost_of_pass`, for which a score of `threshold` passes, or
    `mean_output_tokens`. In a run the systems are ranked against each other; one alone is first.
    """

    name = "pareto_rank"

    def __init__(
        self,
        quality_field: str = "score",
        cost_field: str = "cost_of_pass",
        threshold: float = 0.7,
    ) -> None:
        if cost_field not in ("cost_of_pass", "mean_output_tokens"):
            raise ValueError(
                f"cost_field is {cost_field!r}: it must be cost_of_pass or mean_output_tokens"
            )
        self.quality_field = quality_field
        self.cost_field = cost_field
        self.threshold = threshold

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """The rank of a system that is compared with none."""
        return self.compare({"": rows})[""]

    def compare(
        self, rows_by_system: Mapping[str, Iterable[EvalRow]]
    ) -> dict[str, dict[str, float]]:
        """Rank the systems against each other."""
        summary = {system: self._measured(list(rows)) for system, rows in rows_by_system.items()}
        ranks = self.rank_systems(summary, "mean_score", self.cost_field)
        return {system: {"pareto_rank": float(rank)} for system, rank in ranks.items()}

    def _measured(self, rows: list[EvalRow]) -> dict[str, float]:
        return {
            **MeanScore(self.quality_field).compute(rows),
            **CostOfPass(self.threshold, self.quality_field).compute(rows),
            **CompressionRatio().compute(rows),
        }

    @staticmethod
    def rank_systems(
        summary: Mapping[str, Mapping[str, float | None]],
        quality_field: str = "mean_score",
        cost_field: str = "cost_of_pass",
    ) -> dict[str, int]:
        """The rank of each system of a summary: one plus the number of those that dominate it.

        A quality that is missing is the worst there is, and a cost that is missing the highest.
        """
        return cb_metrics.rank(
            {
                system: (
                    _finite(values.get(quality_field), -math.inf),
                    _finite(values.get(cost_field), math.inf),
                )
                for system, values in summary.items()
            }
        )


def _finite(value: float | None, otherwise: float) -> float:
    return otherwise if value is None or math.isnan(value) else float(value)
