"""The evaluator: does a response come to the gold answer, however it is written?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cb_math._workers import Workers
from cb_math.answers import final_answer
from cb_math.comparison import decided, is_percentage
from cbcore.exceptions import MissingScoreError
from cbcore.results import Scored

_workers = Workers()


class MathEquivalence:
    """Whether a response comes to the gold answer, as mathematics and not as text."""

    name = "math_equivalence"
    emits = ("math_equiv",)
    applies_to = ("math",)
    needs = ("answer",)

    def __init__(self, timeout_s: float = 5.0) -> None:
        if timeout_s <= 0:
            raise ValueError(f"timeout_s is a positive number of seconds, not {timeout_s}")
        self.timeout_s = timeout_s

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scored:
        """Compare the response's last answer with each gold; one that is equal is enough."""
        golds = _golds(original)
        response = processed.get("response")
        if not isinstance(response, str) or not response.strip():
            raise MissingScoreError("there is no response to look at")
        answer = final_answer(response)
        if answer is None:
            raise MissingScoreError("no answer was found in the response")
        equal = any(self.equivalent(gold, answer) for gold in golds)
        return Scored({"math_equiv": float(equal)}, {}, {"answer": answer})

    def equivalent(self, gold: str, answer: str) -> bool:
        """Whether two answers are equal; raises `MissingScoreError` when it takes too long."""
        sure = decided(gold, answer)
        if sure is not None:
            return sure
        if is_percentage(gold) != is_percentage(answer) and "%" in gold + answer:
            # math-verify takes 50% for 50 as well as for 0.5.
            gold, answer = _per_hundred(gold), _per_hundred(answer)
        return _workers.equal(gold, answer, self.timeout_s)


def _per_hundred(text: str) -> str:
    if not is_percentage(text):
        return text
    return f"({text.replace('$', '').rstrip('. ').removesuffix('%').removesuffix(chr(92))})/100"


def _golds(original: Mapping[str, Any]) -> list[str]:
    found = original.get("answers") or original.get("answer")
    listed = found if isinstance(found, list | tuple) else [found]
    golds = [
        final_answer(str(gold)) or str(gold).strip()
        for gold in listed
        if isinstance(gold, str | int | float) and not isinstance(gold, bool) and str(gold).strip()
    ]
    if not golds:
        raise MissingScoreError("the example has no gold answer")
    return golds
