"""The answer scores, between one response and one reference answer.

An empty reference gives 1.0, then an empty response gives 0.0. A reference of which the
normalization leaves nothing, such as "(A)" or "?!", is compared with its articles or, failing
that, with its punctuation, and so is the response.
"""

from __future__ import annotations

import functools
import re

from cb_answerquality.normalization import fold, raw_tokens, tokens, tokens_with_articles
from cbcore.scoring import overlap_scores

# Letters of scripts written without spaces: Thai to Burmese, Khmer, kana, Chinese characters.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
_UNSPACED += "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
_LETTER = rf"(?:[^\W{_UNSPACED}]|[\u0300-\u036f])"


@functools.cache  # compiling it takes 2 ms, and few answers need it
def _inside() -> re.Pattern[str]:
    """Matches, empty, at a position inside a word or inside a number such as 4.5 or 1,000."""
    return re.compile(rf"(?<={_LETTER})(?={_LETTER})|(?<=\d[.,])(?=\d)|(?<=\d)(?=[.,]\d)")


def f1_score(response: str, reference: str) -> float:
    """Harmonic mean of token precision and token recall; repeated tokens count as often."""
    return compare(response, reference)[0]


def exact_match(response: str, reference: str) -> float:
    """1.0 if both are equal after normalization, otherwise 0.0."""
    return compare(response, reference)[1]


def recall_score(response: str, reference: str) -> float:
    """The fraction of the reference's tokens that the response has."""
    return compare(response, reference)[2]


def contains_score(response: str, reference: str) -> float:
    """1.0 if the reference is a substring of the response, ignoring case, otherwise 0.0."""
    return compare(response, reference)[3]


def contains_word_score(response: str, reference: str) -> float:
    """1.0 if the response has the reference in it as whole words and numbers, otherwise 0.0.

    Case does not matter, and neither does what normalization removes. Scripts written without
    spaces, such as Chinese and Japanese, need no word boundary.
    """
    wanted, given = _comparable_tokens(response, reference)
    if wanted == given:
        return 1.0
    if not given:
        return 0.0
    found = f" {' '.join(wanted)} " in f" {' '.join(given)} "
    return 1.0 if found or _occurs(reference, response) else 0.0


def compare(response: str, reference: str) -> tuple[float, float, float, float]:
    """F1, exact match, recall and containment in one pass."""
    wanted, given = _comparable_tokens(response, reference)
    if not wanted:
        return 1.0, 1.0, 1.0, 1.0
    if not given:
        return 0.0, 0.0, 0.0, 0.0
    contained = 1.0 if fold(reference.strip()) in fold(response) else 0.0
    if wanted == given:
        return 1.0, 1.0, 1.0, contained
    f1, _, recall = overlap_scores(given, wanted)
    return f1, 0.0, recall, contained


def _comparable_tokens(response: str, reference: str) -> tuple[list[str], list[str]]:
    """The tokens of reference and response; both empty for an empty reference."""
    wanted = tokens(reference)
    if wanted:
        return wanted, tokens(response)
    if not reference or reference.isspace():
        return [], []
    wanted = tokens_with_articles(reference)
    if wanted:
        return wanted, tokens_with_articles(response)
    return raw_tokens(reference), raw_tokens(response)


def _occurs(reference: str, response: str) -> bool:
    """Whether the reference stands in the response without cutting a word or a number."""
    text, wanted = fold(response), fold(reference.strip())
    start = text.find(wanted)
    while start >= 0:
        is_inside = _inside().match
        if not (is_inside(text, start) or is_inside(text, start + len(wanted))):
            return True
        start = text.find(wanted, start + 1)
    return False
