"""`NLILabelMatch`: the gold label, the score, and when there is none."""

from __future__ import annotations

from typing import Any

import pytest

from cb_scorers.nli import NLILabelMatch
from cbcore.exceptions import MissingScoreError
from cbcore.protocols import Evaluator

SCIFACT = ["SUPPORT", "CONTRADICT", "NOT_ENOUGH_INFO"]


def accuracy(original: dict[str, Any], response: Any) -> float:
    found = NLILabelMatch().score(original, {"response": response})
    assert tuple(found.scores) == NLILabelMatch.emits
    return found.scores["nli_accuracy"]


def test_it_declares_what_it_emits() -> None:
    """Wired to inference alone."""
    evaluator = NLILabelMatch()
    assert isinstance(evaluator, Evaluator)
    assert (evaluator.name, evaluator.emits) == ("nli_label", ("nli_accuracy",))
    assert evaluator.applies_to == ("nli",)


@pytest.mark.parametrize(
    ("gold", "response", "score"),
    [
        ("Entailment", "Yes, this is true.", 1.0),
        ("Entailment", "Not entailment", 0.0),
        ("entailment", "Entailment. There is no contradiction.", 1.0),
        ("contradiction", "Entailment. There is no contradiction.", 0.0),
        ("contradiction", "It is not entailment; it is a contradiction", 1.0),
        ("SUPPORTS", "Yes", 1.0),
        ("SUPPORTS", "supported", 1.0),
        ("REFUTES", "supported", 0.0),
        ("Not mentioned", "The contract does not say; not mentioned.", 1.0),
    ],
)
def test_what_context_bench_gets_wrong(gold: str, response: str, score: float) -> None:
    """Negation, the label that is denied, and aliases of the gold's label set."""
    assert accuracy({"answer": gold}, response) == score


@pytest.mark.parametrize(
    "gold",
    [
        {"label": "CONTRADICT"},
        {"answer": "contradict"},
        {"answer": "refuted"},
        {"label": 1},
        {"answers": ["CONTRADICT", "NOT_ENOUGH_INFO"]},
        {"label": None, "answer": "", "answers": ["CONTRADICT"]},
    ],
)
def test_the_gold_is_a_text_an_alias_or_a_number_from_0(gold: dict[str, Any]) -> None:
    """Whatever way an example names its gold, the right label scores 1 and a wrong one 0."""
    example = {"labels": SCIFACT, **gold}
    assert accuracy(example, "The claim is refuted.") == 1.0
    assert accuracy(example, "Supported") == 0.0


def test_the_details_say_what_was_read() -> None:
    """The label, and the labels that were ruled out, are kept in the row."""
    found = NLILabelMatch().score({"label": "neutral"}, {"response": "Neutral, not entailment."})
    assert found.details == {"label": "neutral", "ruled_out": ["entailment"]}


NO_LABEL = ["Not entailment", "I cannot help", "", "entailment or neutral"]
REASON = "no answer: the response gives none of the labels entailment, contradiction, neutral"


@pytest.mark.parametrize("response", NO_LABEL)
def test_a_response_without_a_label_is_wrong(response: str) -> None:
    """It was given and is not the gold; the details say why."""
    found = NLILabelMatch().score({"label": "neutral"}, {"response": response})
    assert found.scores == {"nli_accuracy": 0.0}
    assert found.missing == {}
    assert (found.details["label"], found.details["reason"]) == (None, REASON)


@pytest.mark.parametrize("response", NO_LABEL)
def test_a_response_without_a_label_can_be_left_out(response: str) -> None:
    """With `unreadable="missing"` there is no score, for the same reason."""
    evaluator = NLILabelMatch(unreadable="missing")
    with pytest.raises(MissingScoreError, match=REASON):
        evaluator.score({"label": "neutral"}, {"response": response})
    ruled_out = evaluator.score({"label": "entailment"}, {"response": "Not entailment"})
    assert ruled_out.scores == {"nli_accuracy": 0.0}


def test_unreadable_is_one_of_two_words() -> None:
    """Another value is refused when the evaluator is made."""
    with pytest.raises(ValueError, match="'wrong' or 'missing', not 'zero'"):
        NLILabelMatch(unreadable="zero")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("original", "response", "reason"),
    [
        ({"label": "neutral"}, None, "no response"),
        ({"label": "neutral"}, 1, "response is a int"),
        ({}, "neutral", "no gold label"),
        ({"answer": "", "label": None}, "neutral", "no gold label"),
        ({"label": "purple"}, "neutral", "'purple' in `label` is none of the labels"),
        ({"label": -1}, "neutral", "-1 in `label` is none of the labels"),
        ({"label": True}, "neutral", "True in `label` is none of the labels"),
        ({"label": "neutral", "labels": ["neutral"]}, "neutral", "2 to 100 texts"),
        ({"label": "neutral", "labels": "neutral"}, "neutral", "2 to 100 texts"),
        ({"label": "a", "labels": ["a", ""]}, "a", "2 to 100 texts"),
    ],
)
def test_no_score_without_a_response_or_a_gold(
    original: dict[str, Any], response: Any, reason: str
) -> None:
    """What cannot be judged has no score, and the reason."""
    with pytest.raises(MissingScoreError, match=reason):
        accuracy(original, response)
