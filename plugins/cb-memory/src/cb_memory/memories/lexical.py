"""BM25 over what was said: the baseline that beats most of what calls itself a memory."""

from __future__ import annotations

import re

from cb_memory.budgets import check_positive, fitting, retrieved
from cb_memory.nouns import QueryResult
from cb_memory.storing import Kept
from cbcore.scoring import Bm25Index

_WORD = re.compile(r"\b\w\w+\b")

_STOP_WORDS = """
    a an and are as at be but by for if in into is it no not of on or such that the their then
    there these they this to was will with
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""The words that Lucene leaves out of English."""


def words(text: str) -> list[str]:
    """The words of a text in lower case, of two letters or more, without stop words."""
    return [word for word in _WORD.findall(text.lower()) if word not in STOP_WORDS]


class Bm25(Kept):
    """The `k` items that BM25 ranks highest for the question.

    Within a budget it takes as many of these as fit.
    """

    def __init__(
        self, k: int = 10, k1: float = 1.5, b: float = 0.75, *, name: str | None = None
    ) -> None:
        super().__init__()
        self.k = check_positive("k", k)
        self.k1, self.b = float(k1), float(b)
        self.name = name or f"bm25:k={k}"
        self._index = Bm25Index(self.k1, self.b)

    def reset(self) -> None:
        """Forget everything."""
        super().reset()
        self._index = Bm25Index(self.k1, self.b)

    def _add(self, begin: int) -> None:
        for item in self.items[begin:]:
            self._index.add(words(item.text))

    def query(self, question: str, budget: int | None = None) -> QueryResult:
        """The best items, the best first."""
        best = self._index.rank(words(question))[: self.k]
        found = [retrieved(self.items[place], score) for place, score in best]
        return QueryResult(contexts=fitting(found, budget))
