"""Shortening a context to its first sentences."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

from cbcore import DataError

_SENTENCE = re.compile(r"\S.*?(?:[.!?…]+(?=\s)|(?=\n)|\Z)", re.DOTALL)
_WORD = re.compile(r"\S+")


class {{ cookiecutter.__class }}:
    """Keeps the first sentences of the context that fit into a number of words.

    When not even the first sentence fits, its first words are kept.
    """

    # The name changes nothing of what it returns, so that renaming it calls nothing again.
    name_is_label = True

    def __init__(self, max_words: int = 100, *, name: str | None = None) -> None:
        if max_words < 1:
            raise ValueError(f"max_words is {max_words}: it must be at least 1")
        self.max_words = max_words
        # Rows are told apart by the name, so it says how the system was made.
        self.name = name or f"{{ cookiecutter.__name }}:max_words={max_words}"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """Return the new context; all other fields of the example stay as they are."""
        context = example.get("context")
        if not isinstance(context, str):
            raise DataError(f"'context' is {type(context).__name__}, not a text to be shortened")
        return {"context": self._shortened(context)}

    def _shortened(self, text: str) -> str:
        end = 0
        for sentence_end, n_words in _sentence_ends(text):
            if n_words > self.max_words:
                break
            end = sentence_end
        if not end:
            words = list(itertools.islice(_WORD.finditer(text), self.max_words))
            end = words[-1].end() if words else 0
        return text[:end]


def _sentence_ends(text: str) -> Iterator[tuple[int, int]]:
    """Where each sentence ends, and how many words there are up to that place."""
    n_words = 0
    for sentence in _SENTENCE.finditer(text):
        n_words += len(sentence[0].split())
        yield sentence.end(), n_words
