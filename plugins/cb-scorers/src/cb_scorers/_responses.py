"""What the scorers share: reading the response of a system."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias, get_args

Unreadable: TypeAlias = Literal["wrong", "missing"]
"""How to score a response without an answer: as wrong, or not at all."""

_REASONING = re.compile(r"^.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)


def check_unreadable(value: Unreadable) -> Unreadable:
    """Return the value. Raises ValueError if it is not one of the two."""
    if value not in get_args(Unreadable):
        raise ValueError(f"unreadable is 'wrong' or 'missing', not {value!r}")
    return value


def strip_reasoning(text: str) -> str:
    """The text after the reasoning block, or all of it if there is no block."""
    return _REASONING.sub("", text)
