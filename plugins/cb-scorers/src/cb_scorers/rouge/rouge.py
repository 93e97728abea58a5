"""ROUGE-N and ROUGE-L between two lists of tokens, as the package rouge-score computes them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

_TOKEN = re.compile(r"[a-z0-9]+")


class Overlap(NamedTuple):
    """How much of a summary is in the gold summary, and the other way round."""

    precision: float
    recall: float

    @property
    def f1(self) -> float:
        """The harmonic mean of both; 0 where they share nothing."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total > 0 else 0.0


NOTHING = Overlap(0.0, 0.0)


def tokenize(text: str, use_stemmer: bool = False) -> list[str]:
    """The runs of ASCII letters and digits of the lower-cased text, in order.

    With a stemmer, those of more than three characters are replaced by their stems.
    """
    tokens: list[str] = _TOKEN.findall(text.lower())
    if not use_stemmer:
        return tokens
    from cb_scorers.rouge.stemming import stem

    return [stem(token) if len(token) > 3 else token for token in tokens]


def rouge_n(summary: Sequence[str], gold: Sequence[str], n: int) -> Overlap:
    """The overlap of n-grams; one that is repeated counts as often as in both."""
    if n < 1:
        raise ValueError(f"n is {n}; an n-gram has at least 1 token")
    found, wanted = _ngrams(summary, n), _ngrams(gold, n)
    if not found or not wanted:
        return NOTHING
    common = (found & wanted).total()
    return Overlap(common / found.total(), common / wanted.total())


def rouge_l(summary: Sequence[str], gold: Sequence[str]) -> Overlap:
    """The overlap by the longest common subsequence of tokens."""
    if not summary or not gold:
        return NOTHING
    from rapidfuzz.distance import LCSseq

    # Numbers in the place of tokens are compared exactly; of longer texts only the hash would be.
    numbers: dict[str, int] = {}
    found = [numbers.setdefault(token, len(numbers)) for token in summary]
    wanted = [numbers.setdefault(token, len(numbers)) for token in gold]
    common = LCSseq.similarity(found, wanted)
    return Overlap(common / len(found), common / len(wanted))


def _ngrams(tokens: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[start:] for start in range(n)), strict=False))
