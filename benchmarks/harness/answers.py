"""Three systems that both programs are given: always right, always wrong, and in between.

What each says depends on the prompt alone, so that a prompt which differs by one character gets
no answer at all.
"""

from __future__ import annotations

import hashlib
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


def text(mode: str, prompt: str, gold: str) -> str:
    """What a system says to a prompt whose right answer is known."""
    if mode == "perfect":
        return gold
    if mode == "wrong":
        return "I do not know"
    said = (gold, f"So the answer is {gold}.", "Perhaps (B), or 7.", f" {gold}\n\nQ: and then?")
    return said[_number(prompt) % len(said)]


def likelihood(mode: str, context: str, continuation: str, *, is_gold: bool) -> tuple[float, bool]:
    """The logarithm of a probability, and whether the continuation is the likeliest."""
    number = _number(context, continuation)
    noise = (number % 1000) / 10_000
    if mode == "middling":
        return -0.5 - (number % 977) / 50, number % 3 == 0
    likely = is_gold == (mode == "perfect")
    return (-1.0 - noise if likely else -30.0 - noise - len(continuation)), likely
