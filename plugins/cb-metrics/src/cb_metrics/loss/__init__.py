"""Loss analysis: the evidence that a compressor dropped, and the cause of each wrong answer."""

from cb_metrics.loss.attribution import CAUSES, LossAttribution, attributions_of, cause_of
from cb_metrics.loss.budgets import AchievedBudget
from cb_metrics.loss.quality_retained import QualityRetained
from cb_metrics.loss.retention import ContextRetention

__all__ = [
    "CAUSES",
    "AchievedBudget",
    "ContextRetention",
    "LossAttribution",
    "QualityRetained",
    "attributions_of",
    "cause_of",
]
