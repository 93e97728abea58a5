"""Ranking texts by a question: BM25 and the cosine of TF-IDF vectors.

Texts and questions come as lists of terms. A term of the question counts once, however often
it is asked.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from cb_baselines.wordlists import words
from cbcore.scoring import Bm25Index

_TERM = re.compile(r"[^\W_]+")

STOP_WORDS = words(
    """
    a about after all also am an and any are as at be because been before being both but by can
    could did do does doing during each for from further had has have having he her here hers
    him his how i if in into is it its itself just me more most my no nor not of off on once
    only or other our out over own s same she should so some such t than that the their them
    then there these they this those through to too under until up very was we were what when
    where which while who whom whose why will with would you your
    """
)


def terms(text: str) -> list[str]:
    """The words of a text in lower case, stop words left out."""
    return [word for word in _TERM.findall(text.lower()) if word not in STOP_WORDS]


def rank_by_bm25(
    question: Sequence[str], texts: Sequence[Sequence[str]], *, k1: float, b: float
) -> list[int]:
    """The indices of texts, best first; those that share no term with the question in order."""
    index = Bm25Index(k1, b)
    for text in texts:
        index.add(text)
    best = [number for number, _ in index.rank(sorted(set(question)))]
    return list(dict.fromkeys([*best, *range(len(texts))]))


def tfidf_scores(question: Sequence[str], texts: Sequence[Sequence[str]]) -> list[float]:
    """The cosine between the TF-IDF vectors of the question and of each text.

    A term weighs tf · ln(N / df) (Manning, Raghavan & Schütze, "Introduction to Information
    Retrieval", 2008, chapter 6). Terms that no text has are left out; a text all of whose
    terms weigh nothing scores 0.
    """
    counts = [Counter(text) for text in texts]
    df = Counter(term for count in counts for term in count)
    idf = {term: math.log(len(texts) / n) for term, n in df.items()}
    asked = {term: idf[term] for term in sorted(set(question)) if term in idf}
    asked_norm = math.sqrt(sum(weight**2 for weight in asked.values()))
    scores = []
    for count in counts:
        norm = math.sqrt(sum((tf * idf[term]) ** 2 for term, tf in count.items()))
        product = sum(weight * count[term] * idf[term] for term, weight in asked.items())
        scores.append(product / (norm * asked_norm) if norm and asked_norm else 0.0)
    return scores
