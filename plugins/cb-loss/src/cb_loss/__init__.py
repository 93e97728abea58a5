"""What was lost, and whose fault it is."""

from cb_loss.attribution import LossAttribution
from cb_loss.budgets import AchievedBudget
from cb_loss.quality import QualityRetained
from cb_loss.retention import ContextRetention

__all__ = ["AchievedBudget", "ContextRetention", "LossAttribution", "QualityRetained"]
