"""BM25 over what was said: the baseline that beats most of what calls itself a memory."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict

from cb_memory.budgets import check_positive, fitting, retrieved
from cb_memory.nouns import QueryResult
from cb_memory.storing import Kept

_WORD = re.compile(r"\b\w\w+\b")

STOP_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "but",
        "by",
        "for",
        "if",
        "in",
        "into",
        "is",
        "it",
        "no",
        "not",
        "of",
        "on",
        "or",
        "such",
        "that",
        "the",
        "their",
        "then",
        "there",
        "these",
        "they",
        "this",
        "to",
        "was",
        "will",
        "with",
    ]
)
"""The words that Lucene leaves out of English."""


def words(text: str) -> list[str]:
    """The words of a text in lower case, of two letters or more, without stop words."""
    return [word for word in _WORD.findall(text.lower()) if word not in STOP_WORDS]


class Index:
    """An inverted index that grows item by item, scored by BM25 as Lucene has it.

        score(d, q) = Σ_{t ∈ q} idf(t) · tf / (tf + k1 · (1 − b + b · |d| / avg|d|))
        idf(t)      = ln(1 + (N − df + 0.5) / (df + 0.5))

    Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), and
    Kamphuis et al., "Which BM25 Do You Mean?" (2020), for the form without (k1 + 1).
    """

    def __init__(self, k1: float, b: float) -> None:
        self._k1, self._b = k1, b
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._lengths: list[int] = []
        self._total = 0

    def add(self, text: str) -> None:
        """Make one more text known; they are numbered from 0."""
        found = words(text)
        place = len(self._lengths)
        for word, count in Counter(found).items():
            self._postings[word].append((place, count))
        self._lengths.append(len(found))
        self._total += len(found)

    def scores(self, question: str) -> dict[int, float]:
        """The score of each text that shares a word with the question."""
        n_texts = len(self._lengths)
        mean_length = self._total / n_texts if self._total else 1.0
        found: dict[int, float] = defaultdict(float)
        for word, asked in Counter(words(question)).items():
            postings = self._postings.get(word, ())
            idf = math.log(1 + (n_texts - len(postings) + 0.5) / (len(postings) + 0.5))
            for place, count in postings:
                length = self._lengths[place] / mean_length
                damping = self._k1 * (1 - self._b + self._b * length)
                found[place] += asked * idf * count / (count + damping)
        return found

    def best(self, question: str, k: int) -> list[tuple[int, float]]:
        """The `k` best texts with their scores; of equal ones the earlier comes first."""
        scores = self.scores(question)
        return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:k]


class Bm25(Kept):
    """The `k` items that BM25 ranks highest for the question.

    Within a budget it takes as many of these as fit.
    """

    name_is_label = True

    def __init__(
        self, k: int = 10, k1: float = 1.5, b: float = 0.75, *, name: str | None = None
    ) -> None:
        super().__init__()
        if not 0 <= k1 < math.inf:
            raise ValueError(f"k1 is {k1!r}: it must be 0 or more")
        if not 0 <= b <= 1:
            raise ValueError(f"b is {b!r}: it must lie between 0 and 1")
        self.k = check_positive("k", k)
        self.k1, self.b = float(k1), float(b)
        self.name = name or f"bm25:k={k}"
        self._index = Index(self.k1, self.b)

    def reset(self) -> None:
        """Forget everything."""
        super().reset()
        self._index = Index(self.k1, self.b)

    def _add(self, begin: int) -> None:
        for item in self.items[begin:]:
            self._index.add(item.text)

    def query(self, question: str, budget: int | None = None) -> QueryResult:
        """The best items, the best first."""
        best = self._index.best(question, self.k)
        found = [retrieved(self.items[place], score) for place, score in best]
        return QueryResult(contexts=fitting(found, budget))
