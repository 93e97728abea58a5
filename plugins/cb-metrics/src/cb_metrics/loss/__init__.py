"""Loss analysis: the evidence that a compressor dropped, and the cause of each wrong answer.

Each component is imported when it is first used.
"""

from typing import TYPE_CHECKING

from cbcore.lazy import lazy_names

if TYPE_CHECKING:
    from cb_metrics.loss.attribution import CAUSES as CAUSES
    from cb_metrics.loss.attribution import LossAttribution as LossAttribution
    from cb_metrics.loss.attribution import attributions_of as attributions_of
    from cb_metrics.loss.attribution import cause_of as cause_of
    from cb_metrics.loss.budgets import AchievedBudget as AchievedBudget
    from cb_metrics.loss.quality_retained import QualityRetained as QualityRetained
    from cb_metrics.loss.retention import ContextRetention as ContextRetention

_HOMES = {
    "AchievedBudget": "budgets",
    "CAUSES": "attribution",
    "ContextRetention": "retention",
    "LossAttribution": "attribution",
    "QualityRetained": "quality_retained",
    "attributions_of": "attribution",
    "cause_of": "attribution",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
