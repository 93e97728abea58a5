"""OpenAI-compatible endpoints for cb: the system `openai`, and the client behind it."""

from cb_openai.client import ChatClient
from cb_openai.errors import (
    BadReplyError,
    EndpointError,
    NoAnswerError,
    Outcome,
    StatusError,
    TransportError,
)
from cb_openai.replies import Reply
from cb_openai.system import OpenAI

__all__ = [
    "BadReplyError",
    "ChatClient",
    "EndpointError",
    "NoAnswerError",
    "OpenAI",
    "Outcome",
    "Reply",
    "StatusError",
    "TransportError",
]
