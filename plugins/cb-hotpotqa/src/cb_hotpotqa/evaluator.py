"""The scores of HotpotQA's own evaluation: answer, supporting facts, and both together.

The definitions are those of `hotpot_evaluate_v1.py` in the repository hotpotqa/hotpot, for
one example; the means over a dataset are the business of metrics.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from cbcore.exceptions import MissingScoreError
from cbcore.protocols import Scores
from cbcore.scoring import golds_of, overlap_scores, response_of, squad_tokens

_CLOSED_ANSWERS = (["yes"], ["no"], ["noanswer"])


class HotpotJoint:
    """Answer, supporting facts, and both at once, as HotpotQA scores them.

    A system names the sentences it relied on in `predicted_supporting_facts` or
    `supporting_facts`, a list of [title, sentence number]. Where it names none, only the
    answer is scored. Of several gold answers the one that fits best counts.
    """

    name = "hotpot_joint"
    emits = (
        "answer_em",
        "answer_f1",
        "sp_em",
        "sp_f1",
        "sp_precision",
        "sp_recall",
        "joint_em",
        "joint_f1",
    )
    applies_to = ("retrieval",)
    automatic = True
    needs = ("answer", "supporting_facts")

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """The scores. Raises `MissingScoreError` for absent or malformed answers and facts."""
        response = response_of(processed)
        answer = max(
            (_match_answer(response, gold) for gold in golds_of(original, ("answer",))),
            key=lambda match: (match.exact, match.f1),
        )
        scores = {"answer_em": answer.exact, "answer_f1": answer.f1}
        named = _named_facts(original, processed)
        if named is not None:
            facts = _match_facts(
                _facts(named, "the system's"),
                _facts(original.get("supporting_facts"), "the gold"),
            )
            joint = _Match.of(
                facts.exact * answer.exact,
                facts.precision * answer.precision,
                facts.recall * answer.recall,
            )
            scores["sp_em"] = facts.exact
            scores["sp_f1"] = facts.f1
            scores["sp_precision"] = facts.precision
            scores["sp_recall"] = facts.recall
            scores["joint_em"] = joint.exact
            scores["joint_f1"] = joint.f1
        return scores


class _Match(NamedTuple):
    exact: float
    precision: float
    recall: float
    f1: float

    @classmethod
    def of(cls, exact: float, precision: float, recall: float) -> _Match:
        both = precision + recall
        return cls(exact, precision, recall, 2 * precision * recall / both if both else 0.0)


def _match_answer(response: str, answer: str) -> _Match:
    given, wanted = squad_tokens(response), squad_tokens(answer)
    exact = float(given == wanted)
    if not exact and (given in _CLOSED_ANSWERS or wanted in _CLOSED_ANSWERS):
        return _Match.of(0.0, 0.0, 0.0)  # "yes" against "yes, it is" earns no partial credit
    _, precision, recall = overlap_scores(given, wanted)
    return _Match.of(exact, precision, recall)


def _match_facts(named: set[tuple[str, int]], gold: set[tuple[str, int]]) -> _Match:
    common = len(named & gold)
    return _Match.of(
        float(named == gold),
        common / len(named) if named else 0.0,
        common / len(gold) if gold else 0.0,
    )


def _named_facts(original: Mapping[str, Any], processed: Mapping[str, Any]) -> Any:
    """The facts a system named, or None.

    `predicted_supporting_facts` are always the system's own. Under the name of the gold field
    they may only be the example handed back: then the gold answer came back untouched too.
    """
    predicted = processed.get("predicted_supporting_facts")
    if predicted is not None:
        return predicted
    handed_back = all(processed.get(field) == original.get(field) for field in HotpotJoint.needs)
    return None if handed_back else processed.get("supporting_facts")


def _facts(value: Any, whose: str) -> set[tuple[str, int]]:
    if not isinstance(value, list | tuple):
        raise MissingScoreError(
            f"{whose} supporting facts are a {type(value).__name__}, not a list"
        )
    facts = set()
    for fact in value:
        match fact:
            case [str(title), int(number)] if not isinstance(number, bool):
                facts.add((title, number))
            case _:
                raise MissingScoreError(
                    f"{whose} supporting facts hold {reprlib.repr(fact)}, "
                    "not [title, sentence number]"
                )
    return facts
