"""What was lost, and whose fault it is. Each component is imported when it is first used."""

from typing import TYPE_CHECKING

from cbcore.lazy import lazy_names

if TYPE_CHECKING:
    from cb_loss.attribution import LossAttribution as LossAttribution
    from cb_loss.budgets import AchievedBudget as AchievedBudget
    from cb_loss.quality import QualityRetained as QualityRetained
    from cb_loss.retention import ContextRetention as ContextRetention

_HOMES = {
    "AchievedBudget": "budgets",
    "ContextRetention": "retention",
    "LossAttribution": "attribution",
    "QualityRetained": "quality",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
