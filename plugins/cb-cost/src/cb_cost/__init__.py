"""What a context system costs in dollars, with the provider's prompt cache.

Every run imports the hooks of this package. The rest is imported when it is first used.
"""

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

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
    "CACHE_MODELS": "caching",
    "CacheModel": "caching",
    "NetCost": "metric",
    "PromptBlocks": "blocks",
    "Request": "caching",
    "Traffic": "traffic",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return resolve_name(f"{__name__}.{_HOMES[name]}:{name}")
