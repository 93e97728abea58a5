"""LoCoMo's own score, as `task_eval/evaluation.py` of its repository computes it."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from typing import Any

from cb_scorers.rouge.stemming import stem
from cbcore.exceptions import MissingScoreError
from cbcore.protocols import Scores
from cbcore.scoring import overlap_scores, response_of

_LEFT_OUT = re.compile(r"\b(a|an|the|and)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_SAYS_UNANSWERABLE = ("no information available", "not mentioned")


def locomo_f1(prediction: str, answer: object, category: int) -> float:
    """The score of one answer by the rules of its category.

    2 and 4 are the F1 of stemmed tokens. 1 has several parts, with commas between them: the mean
    over the gold's of the best of the prediction's. 3 counts the gold up to its first semicolon.
    5 is right if it says that there is no information, whatever the answer is.
    """
    if category == 5:
        said = prediction.lower()
        return float(any(phrase in said for phrase in _SAYS_UNANSWERABLE))
    gold = str(answer)
    if category == 1:
        return _of_parts(prediction, gold)
    if category == 3:
        gold = gold.split(";", maxsplit=1)[0].strip()
    if category not in (2, 3, 4):
        raise ValueError(f"category is {category!r}: LoCoMo has 1 to 5")
    return token_f1(prediction, gold)


def token_f1(prediction: str, gold: str) -> float:
    """The harmonic mean of precision and recall of stemmed tokens, with their counts."""
    return overlap_scores(_tokens(prediction), _tokens(gold)).f1


def _of_parts(prediction: str, gold: str) -> float:
    predicted = [part.strip() for part in prediction.split(",")]
    wanted = [part.strip() for part in gold.split(",")]
    best = [max(token_f1(one, part) for one in predicted) for part in wanted]
    return sum(best) / len(best)


def _tokens(text: str) -> list[str]:
    plain = text.replace(",", "").lower().translate(_PUNCTUATION)
    return [stem(word) for word in _LEFT_OUT.sub(" ", plain).split()]


class LocomoF1:
    """LoCoMo's score: token F1 by the rules of the question's category; 5 by what is said."""

    name = "locomo_f1"
    emits = ("locomo_f1",)
    applies_to = ("locomo",)
    automatic = True
    needs = ("answer", "category_code")
    reads = ("answer", "category_code", "response")

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """The score. Raises `MissingScoreError` without a response, a gold or a category."""
        response = response_of(processed)
        category, answer = original.get("category_code"), original.get("answer")
        if category not in (1, 2, 3, 4, 5):
            raise MissingScoreError(f"'category_code' is {category!r}, not 1 to 5 as in LoCoMo")
        if answer is None and category != 5:
            raise MissingScoreError("the example has no gold answer")
        return {"locomo_f1": locomo_f1(response, answer, category)}
