"""OpenAI-compatible endpoints for cb: the system `openai`, and the client behind it.

What is named here is imported when it is first used: settings are light, a client is not.
"""

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cb_openai.client import ChatClient as ChatClient
    from cb_openai.embeddings import EmbeddingClient as EmbeddingClient
    from cb_openai.errors import BadReplyError as BadReplyError
    from cb_openai.errors import EndpointError as EndpointError
    from cb_openai.errors import NoAnswerError as NoAnswerError
    from cb_openai.errors import Outcome as Outcome
    from cb_openai.errors import StatusError as StatusError
    from cb_openai.errors import TransportError as TransportError
    from cb_openai.messages import Prompting as Prompting
    from cb_openai.prices import Price as Price
    from cb_openai.prices import Pricing as Pricing
    from cb_openai.replies import Reply as Reply
    from cb_openai.retrying import Retry as Retry
    from cb_openai.settings import Access as Access
    from cb_openai.settings import Connection as Connection
    from cb_openai.settings import Generation as Generation
    from cb_openai.settings import Limits as Limits
    from cb_openai.system import OpenAI as OpenAI

_HOMES = {
    "Access": "settings",
    "BadReplyError": "errors",
    "ChatClient": "client",
    "Connection": "settings",
    "EmbeddingClient": "embeddings",
    "EndpointError": "errors",
    "Generation": "settings",
    "Limits": "settings",
    "NoAnswerError": "errors",
    "OpenAI": "system",
    "Outcome": "errors",
    "Price": "prices",
    "Pricing": "prices",
    "Prompting": "messages",
    "Reply": "replies",
    "Retry": "retrying",
    "StatusError": "errors",
    "TransportError": "errors",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return resolve_name(f"{__name__}.{_HOMES[name]}:{name}")
