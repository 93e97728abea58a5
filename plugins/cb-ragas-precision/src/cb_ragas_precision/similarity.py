"""How alike two texts are, from 0 to 1."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from cbcore.scoring import overlap_scores

MEASURES = ("levenshtein", "jaro", "jaro_winkler", "hamming", "token_overlap")
"""The measures by name. Texts are compared as they are: case, accents and spaces count.

The first four are those of rapidfuzz, each divided by the longer length where it is a
distance; `token_overlap` is the harmonic mean of the shares of words the texts have in common,
in lower case, repeated words counted.
"""

_WORD = re.compile(r"\w+")
Measure = Callable[..., float]


def check_measure(measure: str, threshold: float) -> str:
    """The measure's own name. Raises ValueError for what is none, or for a bad threshold."""
    known = str(measure).replace("-", "_")
    if known not in MEASURES:
        raise ValueError(f"measure is {measure!r}: it is one of {', '.join(MEASURES)}")
    if isinstance(threshold, bool) or not 0 <= threshold <= 1:
        raise ValueError(f"threshold is {threshold!r}: it lies between 0 and 1")
    return known


@cache
def measure_called(name: str) -> Measure:
    """The function of a measure: two texts and `score_cutoff`, under which it may give 0."""
    if name == "token_overlap":
        return _token_overlap
    from rapidfuzz import distance

    measures: dict[str, Measure] = {
        "levenshtein": distance.Levenshtein.normalized_similarity,
        "jaro": distance.Jaro.normalized_similarity,
        "jaro_winkler": distance.JaroWinkler.normalized_similarity,
        "hamming": distance.Hamming.normalized_similarity,
    }
    return measures[name]


def similarity(one: str, other: str, measure: str = "levenshtein") -> float:
    """How alike two texts are, from 0 to 1."""
    return float(measure_called(check_measure(measure, 0.0))(one, other))


def _token_overlap(one: str, other: str, *, score_cutoff: float = 0.0) -> float:
    first, second = _WORD.findall(one.lower()), _WORD.findall(other.lower())
    shared = overlap_scores(first, second).f1 if first or second else float(one == other)
    return shared if shared >= score_cutoff else 0.0
