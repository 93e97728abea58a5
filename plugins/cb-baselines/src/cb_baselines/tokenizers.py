"""The tokenizers a budget can be counted with, loaded once per process."""

from __future__ import annotations

from functools import lru_cache

from cbcore.tokens import Encoding, Words


@lru_cache(maxsize=8)
def load(name: str) -> Words | Encoding:
    """`words`, or the exact encoding of that name. Raises ValueError for an unknown one.

    The systems keep the name and ask here, so that they stay plain data: comparable,
    printable, and fit to be sent to another process.
    """
    if name == Words.name:
        return Words()
    try:
        return Encoding(name)
    except (ValueError, KeyError) as error:
        raise ValueError(
            f"tokenizer {name!r} is not known: use 'words' or an encoding such as 'o200k_base'"
        ) from error


def check_budget(max_tokens: int, tokenizer: str) -> None:
    """Raise ValueError unless this is a budget that can be counted."""
    if isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 1:
        raise ValueError(f"max_tokens is {max_tokens!r}: it must be a whole number, 1 or more")
    load(tokenizer)
