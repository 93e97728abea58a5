"""Keeping what was found within a number of tokens."""

from __future__ import annotations

import functools
from collections.abc import Iterable

from cb_memory.nouns import Item, Retrieved
from cbcore.tokens import DEFAULT_ENCODING, Encoding


@functools.lru_cache(maxsize=1)
def _encoding() -> Encoding:
    return Encoding(DEFAULT_ENCODING)


def n_tokens(text: str) -> int:
    """The tokens of a text, as runs count them unless told otherwise."""
    return _encoding().count(text)


def fitting(found: Iterable[Retrieved], budget: int | None) -> list[Retrieved]:
    """The first of what was found that fit, each with its line; what does not is passed over."""
    if budget is None:
        return list(found)
    kept, left = [], budget
    for one in found:
        needed = n_tokens(one.text) + 1
        if needed <= left:
            kept.append(one)
            left -= needed
    return kept


def retrieved(item: Item, score: float | None = None) -> Retrieved:
    """An item as something that was found."""
    return Retrieved(item.text, id=item.id or None, score=score)


def check_positive(name: str, value: int) -> int:
    """A number that is at least one. Raises `ValueError`."""
    if value < 1:
        raise ValueError(f"{name} is {value}: it must be at least 1")
    return value
