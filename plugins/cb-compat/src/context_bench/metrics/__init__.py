"""The seven metrics, with the parameters in the order of context-bench."""

from context_bench.metrics.cost_of_pass import CostOfPass
from context_bench.metrics.latency import Latency
from context_bench.metrics.per_dataset import PerDatasetBreakdown
from context_bench.metrics.quality import MeanScore, PassRate
from context_bench.metrics.token_stats import CompressionRatio, ParetoRank

__all__ = [
    "CompressionRatio",
    "CostOfPass",
    "Latency",
    "MeanScore",
    "ParetoRank",
    "PassRate",
    "PerDatasetBreakdown",
]
