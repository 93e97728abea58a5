"""Three systems that both programs are given: always right, always wrong, and in between.

What each says depends on the prompt alone, so that a prompt which differs by one character gets
no answer at all.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

MODES = ("perfect", "wrong", "middling")


def key(*texts: str) -> str:
    """A short name of a prompt."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:24]


def steady_shuffle(items: list[Any]) -> None:
    """An order that does not depend on what was drawn before."""
    items.sort(key=lambda item: key(str(item)))


def _number(*texts: str) -> int:
    return int(key(*texts)[:8], 16)


def text(mode: str, prompt: str, gold: str, turn: int = 0) -> str:
    """What a system says to a prompt whose right answer is known, and when it is asked again."""
    if mode == "perfect":
        return gold
    if mode == "wrong":
        return "I do not know"
    numeral = (re.findall(r"\d+", gold) or ["0"])[-1]
    said = (
        *(gold, f"So the answer is {gold}.", "Perhaps (B), or 7.", f" {gold}\n\nQ: and then?"),
        *(f"The answer is {numeral}.", f"\n{gold}\n```\nDone."),
    )
    return said[_number(prompt, *([str(turn)] if turn else [])) % len(said)]


def likelihood(mode: str, context: str, continuation: str, *, is_gold: bool) -> tuple[float, bool]:
    """The logarithm of a probability, and whether the continuation is the likeliest."""
    number = _number(context, continuation)
    noise = (number % 1000) / 10_000
    if mode == "middling":
        return -0.5 - (number % 977) / 50, number % 3 == 0
    likely = is_gold == (mode == "perfect")
    return (-1.0 - noise if likely else -30.0 - noise - len(continuation)), likely
