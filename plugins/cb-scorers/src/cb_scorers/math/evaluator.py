"""The evaluator: does a response come to the gold answer, however it is written?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cb_scorers._extras import require_extra
from cb_scorers._responses import Unreadable, check_unreadable
from cb_scorers.math._workers import Workers
from cb_scorers.math.answers import final_answer, marked_answer
from cb_scorers.math.comparison import decided, for_algebra, in_tex
from cbcore.exceptions import MissingScoreError
from cbcore.results import Scored
from cbcore.scoring import response_of

PACKAGES = {"math_verify": "math-verify", "antlr4": "antlr4-python3-runtime"}
"""What algebra needs: the modules, and the packages that bring them."""

_workers = Workers()


class MathEquivalence:
    """Whether a response comes to the gold answer, as mathematics and not as text.

    `timeout_s` limits one comparison. A response without an answer is wrong; with
    `unreadable="missing"` it has no score instead.
    """

    name = "math_equivalence"
    emits = ("math_equiv",)
    applies_to = ("math",)
    automatic = True
    needs = ("answer",)

    def __init__(self, timeout_s: float = 5.0, unreadable: Unreadable = "wrong") -> None:
        """Raises `MissingExtraError` without math-verify."""
        require_extra("math", self.name, PACKAGES)
        if timeout_s <= 0:
            raise ValueError(f"timeout_s is a positive number of seconds, not {timeout_s}")
        self.timeout_s = timeout_s
        self.unreadable = check_unreadable(unreadable)

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scored:
        """Compare the response's last answer with each gold; one that is equal is enough."""
        golds = _golds(original)
        response = response_of(processed, text_only=True)
        answer = final_answer(response)
        if answer is None:
            return self._without_answer(response)
        equal = any(self.equivalent(gold, answer) for gold in golds)
        return Scored({"math_equiv": float(equal)}, {}, {"answer": answer})

    def equivalent(self, gold: str, answer: str) -> bool:
        """Whether two answers are equal; raises `MissingScoreError` when it takes too long."""
        gold, answer = in_tex(gold), in_tex(answer)
        sure = decided(gold, answer)
        if sure is not None:
            return sure
        pairs = for_algebra(gold, answer)
        return any(_workers.equal(*pair, self.timeout_s) for pair in pairs)

    def _without_answer(self, response: str) -> Scored:
        said = (
            "no answer was found in the response" if response.strip() else "the response is empty"
        )
        if self.unreadable == "missing":
            raise MissingScoreError(said)
        return Scored({"math_equiv": 0.0}, {}, {"answer": None, "reason": said})


def _golds(original: Mapping[str, Any]) -> list[str]:
    """The golds as they are; of a worked solution, the answer that it marks."""
    found = original.get("answers") or original.get("answer")
    listed = found if isinstance(found, list | tuple) else [found]
    golds = [
        marked_answer(str(gold)) or str(gold).strip()
        for gold in listed
        if isinstance(gold, str | int | float) and not isinstance(gold, bool) and str(gold).strip()
    ]
    if not golds:
        raise MissingScoreError("the example has no gold answer")
    return golds
