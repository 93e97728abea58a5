"""What a context system costs in dollars, with the provider's prompt cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cbcore.lazy import lazy_names

if TYPE_CHECKING:
    from cb_cost.agreement import AnswerAgreement as AnswerAgreement
    from cb_cost.blocks import PromptBlocks as PromptBlocks
    from cb_cost.caching import CACHE_MODELS as CACHE_MODELS
    from cb_cost.caching import CacheModel as CacheModel
    from cb_cost.caching import Request as Request
    from cb_cost.metric import NetCost as NetCost
    from cb_cost.traffic import Traffic as Traffic

_HOMES = {
    "AnswerAgreement": "agreement",
    "PromptBlocks": "blocks",
    "CACHE_MODELS": "caching",
    "CacheModel": "caching",
    "Request": "caching",
    "NetCost": "metric",
    "Traffic": "traffic",
}

__all__ = [*sorted(_HOMES)]  # noqa: PLE0604
__getattr__, __dir__ = lazy_names(__name__, _HOMES)
