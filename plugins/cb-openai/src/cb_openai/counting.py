"""Tokens of requests that nobody has counted yet, by the default encoding."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from cbcore.contexts import content_of
from cbcore.tokens import Encoding

_PER_REQUEST, _PER_MESSAGE = 3, 4
"""Tokens that chat templates add."""


@functools.cache
def _encoding() -> Encoding:
    return Encoding()


def count_tokens(value: Any) -> int:
    """The tokens of a text, or about those of other data."""
    return _encoding().count(value if isinstance(value, str) else str(value))


def count_prompt(messages: Sequence[Mapping[str, Any]], more: Any = None) -> int:
    """The tokens of messages, and of `more` that is sent with them, such as tools."""
    n_more = count_tokens(more) if more else 0
    n_messages = sum(_PER_MESSAGE + count_tokens(content_of(message)) for message in messages)
    return _PER_REQUEST + n_messages + n_more
