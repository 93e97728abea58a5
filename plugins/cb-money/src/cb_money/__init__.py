"""Money instead of tokens: what a context system does to the bill."""

from cb_money.agreement import AnswerAgreement
from cb_money.blocks import PromptBlocks
from cb_money.caching import CACHE_MODELS, CacheModel, Request
from cb_money.metric import NetCost
from cb_money.traffic import Traffic

__all__ = [
    "CACHE_MODELS",
    "AnswerAgreement",
    "CacheModel",
    "NetCost",
    "PromptBlocks",
    "Request",
    "Traffic",
]
