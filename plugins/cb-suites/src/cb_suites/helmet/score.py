"""The evaluator of HELMET: whether an answer is in the response, or how good a ranking is."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from cbcore.protocols import Scores
from cbcore.scoring import golds_of, response_of, squad_tokens

_TOP = 10
_RANKING = re.compile(r"\d+(?:\s*>\s*\d+)*")


class HelmetScore:
    """The score of a HELMET task, as its authors compute it.

    An example with `relevance`, grades of passages by their numbers, is a ranking: NDCG@10 of the
    longest row of numbers with `>` between them. Any other is right if one of its answers is part
    of the response, both in small letters, without punctuation and articles.
    """

    name = "helmet_score"
    emits = ("helmet",)
    applies_to = ()
    needs = ("answer",)

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """The score `helmet`. Raises `MissingScoreError` without an answer or a response."""
        response = response_of(processed, text_only=True)
        grades = original.get("relevance")
        if isinstance(grades, Mapping):
            return {"helmet": ndcg(read_ranking(response), grades)}
        golds = golds_of(original, ("answer",))
        said = _normalized(response)
        return {"helmet": float(any(_normalized(gold) in said for gold in golds))}


def _normalized(text: str) -> str:
    return " ".join(squad_tokens(text))


def read_ranking(response: str) -> list[str]:
    """The numbers of the longest ranking in a text, each once."""
    plain = re.sub(r"[\[\]:]", "", response).lower().replace("id", "")
    longest = max(_RANKING.findall(plain), key=len, default="")
    return list(dict.fromkeys(number.strip() for number in longest.split(">") if number.strip()))


def ndcg(ranked: Sequence[str], grades: Mapping[str, int]) -> float:
    """Discounted gain of the first ten, divided by that of the best order."""
    gained = _gain([grades.get(number, 0) for number in ranked])
    best = _gain(sorted(grades.values(), reverse=True))
    return gained / best if best else 0.0


def _gain(grades: Sequence[int]) -> float:
    return math.fsum(g / math.log2(i + 2) for i, g in enumerate(grades[:_TOP]) if g > 0)
