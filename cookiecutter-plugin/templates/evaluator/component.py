"""How much of a response is made of words from a list."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from cbcore import MissingScoreError
from cbcore.scoring import response_of

HEDGES = ("apparently", "maybe", "might", "perhaps", "possibly", "probably")
"""The words that are counted when none are given."""

_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")


class {{ cookiecutter.__class }}:
    """The share of a response's words that are on a list, from 0 to 1.

    Case does not matter. A response without words has no score.
    """

    name = "{{ cookiecutter.__name }}"
    emits = ("{{ cookiecutter.__snake }}",)
    # The tasks of the datasets it can score. Runs use it if they name it with --evaluator, or if
    # the user enables it: automatic_evaluators = ["{{ cookiecutter.__name }}"] in [tool.cb].
    applies_to = ("qa", "summarization")

    def __init__(self, words: Sequence[str] = HEDGES) -> None:
        listed = [words] if isinstance(words, str) else words
        self.words = tuple(sorted({_single_word(word) for word in listed}))
        if not self.words:
            raise ValueError("words is empty: give at least one word to count")

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        """Score one output. What cannot be scored is missing, never zero."""
        found = _words(response_of(processed, text_only=True))
        if not found:
            raise MissingScoreError("the response has no words")
        n_listed = sum(word in self.words for word in found)
        return {"{{ cookiecutter.__snake }}": n_listed / len(found)}


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold().replace("\u2019", "'"))


def _single_word(text: str) -> str:
    found = _words(text)
    if len(found) != 1:
        raise ValueError(f"{text!r} is not a single word")
    return found[0]
