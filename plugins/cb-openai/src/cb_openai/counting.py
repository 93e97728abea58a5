"""Tokens of requests that nobody has counted yet, by the default encoding."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from cbcore.contexts import as_json, content_of
from cbcore.tokens import Encoding, TokenCounter

_PER_REQUEST, _PER_MESSAGE = 3, 4
"""What chat templates add."""


@functools.cache
def _counter() -> TokenCounter:
    return TokenCounter(Encoding())


def count_text(text: str) -> int:
    """The tokens of a text."""
    return _counter().count(text)


def count_visible(example: Mapping[str, Any]) -> int:
    """The tokens of all text in an example that a model may see."""
    return _counter().visible(example)


def count_prompt(messages: Sequence[Mapping[str, Any]], more: Any = None) -> int:
    """The tokens of messages, and of `more` that is sent with them, such as tools."""
    texts = [content_of(message) for message in messages]
    if more:
        texts.append(as_json(more))
    return _PER_REQUEST + _PER_MESSAGE * len(messages) + sum(map(count_text, texts))
