"""Metrics for cb: what the rows of a system amount to.

Rows with an error are left out of everything. A row without the score is missing: it is
never a zero, and how many there are is reported beside the value, as `<key>_missing`.

A metric is imported when it is first used.
"""

from typing import TYPE_CHECKING

from cbcore.lazy import lazy_names

if TYPE_CHECKING:
    from cb_metrics.latency import Latency as Latency
    from cb_metrics.latency import StageLatency as StageLatency
    from cb_metrics.money import Spending as Spending
    from cb_metrics.pareto import ParetoRank as ParetoRank
    from cb_metrics.pareto import rank as rank
    from cb_metrics.quality import MeanScore as MeanScore
    from cb_metrics.quality import PassRate as PassRate
    from cb_metrics.quality import PerDatasetBreakdown as PerDatasetBreakdown
    from cb_metrics.repeats import PassAtK as PassAtK
    from cb_metrics.repeats import pass_at_k as pass_at_k
    from cb_metrics.repeats import pass_hat_k as pass_hat_k
    from cb_metrics.statistics import ScoreStatistics as ScoreStatistics
    from cb_metrics.tokens import CompressionRatio as CompressionRatio
    from cb_metrics.tokens import CostOfPass as CostOfPass

_HOMES = {
    "CompressionRatio": "tokens",
    "CostOfPass": "tokens",
    "Latency": "latency",
    "MeanScore": "quality",
    "ParetoRank": "pareto",
    "PassAtK": "repeats",
    "PassRate": "quality",
    "PerDatasetBreakdown": "quality",
    "ScoreStatistics": "statistics",
    "Spending": "money",
    "StageLatency": "latency",
    "pass_at_k": "repeats",
    "pass_hat_k": "repeats",
    "rank": "pareto",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
