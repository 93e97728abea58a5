"""Metrics for cb: what the rows of a system amount to.

Rows with an error are left out of everything. A row without the score is missing: it is
never a zero, and how many there are is reported beside the value, as `<key>_missing`.
"""

from cb_metrics.latency import Latency, StageLatency
from cb_metrics.money import Spending
from cb_metrics.pareto import ParetoRank, rank
from cb_metrics.quality import MeanScore, PassRate, PerDatasetBreakdown
from cb_metrics.repeats import PassAtK, pass_at_k, pass_hat_k
from cb_metrics.statistics import ScoreStatistics
from cb_metrics.tokens import CompressionRatio, CostOfPass

__all__ = [
    "CompressionRatio",
    "CostOfPass",
    "Latency",
    "MeanScore",
    "ParetoRank",
    "PassAtK",
    "PassRate",
    "PerDatasetBreakdown",
    "ScoreStatistics",
    "Spending",
    "StageLatency",
    "pass_at_k",
    "pass_hat_k",
    "rank",
]
