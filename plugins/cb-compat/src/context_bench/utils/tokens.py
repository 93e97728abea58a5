"""Counting tokens, offline: by default those of the encoding cl100k_base."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Any

from cbcore.tokens import Encoding

ENCODING = "cl100k_base"


def count_tokens(text: str, tokenizer: Callable[[str], int] | None = None) -> int:
    """The number of tokens in a text. `<|endoftext|>` is text like any other."""
    return tokenizer(text) if tokenizer is not None else _encoding().count(text)


def count_tokens_dict(
    d: Mapping[str, Any],
    text_fields: Collection[str] | None = None,
    tokenizer: Callable[[str], int] | None = None,
) -> int:
    """The number of tokens in the strings of a dict, or in those of `text_fields`."""
    return sum(
        count_tokens(value, tokenizer)
        for key, value in d.items()
        if isinstance(value, str) and (text_fields is None or key in text_fields)
    )


@lru_cache(maxsize=1)
def _encoding() -> Encoding:
    return Encoding(ENCODING)
