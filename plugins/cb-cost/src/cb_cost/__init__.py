"""What a context system costs in dollars, with the provider's prompt cache."""

from cb_cost.agreement import AnswerAgreement
from cb_cost.blocks import PromptBlocks
from cb_cost.caching import CACHE_MODELS, CacheModel, Request
from cb_cost.metric import NetCost
from cb_cost.traffic import Traffic

__all__ = [
    "CACHE_MODELS",
    "AnswerAgreement",
    "CacheModel",
    "NetCost",
    "PromptBlocks",
    "Request",
    "Traffic",
]
