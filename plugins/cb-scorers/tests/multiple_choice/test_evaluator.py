"""`MultipleChoiceAccuracy`: the gold choice, the score, and when there is none."""

from __future__ import annotations

import re
from typing import Any

import pytest

from cb_scorers.multiple_choice import MultipleChoiceAccuracy
from cbcore.exceptions import MissingScoreError
from cbcore.protocols import Evaluator

CITIES = ["Paris", "London", "Rome"]


def accuracy(original: dict[str, Any], response: Any) -> float:
    found = MultipleChoiceAccuracy().score(original, {"response": response})
    assert tuple(found.scores) == MultipleChoiceAccuracy.emits
    return found.scores["mc_accuracy"]


def test_it_declares_what_it_emits() -> None:
    """Wired to multiple choice alone."""
    evaluator = MultipleChoiceAccuracy()
    assert isinstance(evaluator, Evaluator)
    assert (evaluator.name, evaluator.emits) == ("multiple_choice", ("mc_accuracy",))
    assert evaluator.applies_to == ("multiple-choice",)


@pytest.mark.parametrize(
    "gold",
    [
        {"answer": "B"},
        {"answer": "b"},
        {"answer": "(B)"},
        {"answer": "London"},
        {"answer": " london. "},
        {"answer": 1},
        {"answer": "1"},
        {"label": 1},
        {"label": "B"},
        {"correct_letter": "B", "answer": None},
        {"answers": ["C", "B"], "answer": "C"},
        {"answers": [], "answer": "B"},
    ],
)
def test_the_gold_is_a_letter_a_text_or_a_number_from_0(gold: dict[str, Any]) -> None:
    """Whatever way an example names its gold, the right choice scores 1 and a wrong one 0."""
    example = {"choices": CITIES, **gold}
    assert accuracy(example, "The answer is B.") == accuracy(example, "London") == 1.0
    assert accuracy(example, "A") == accuracy(example, "Paris") == 0.0


@pytest.mark.parametrize(
    ("gold", "response", "score"),
    [("(D)", "So the answer is (D).", 1.0), ("A", "B", 0.0), ("P", "C", 0.0)],
)
def test_choices_may_be_shown_in_the_question_only(gold: str, response: str, score: float) -> None:
    """Without `choices` letters are compared."""
    assert accuracy({"answer": gold}, response) == score


def test_digits_that_are_a_choice_are_its_text() -> None:
    """The text comes before the number of a choice."""
    assert accuracy({"choices": ["1", "0"], "answer": "0"}, "B") == 1.0


def test_the_details_say_what_was_read() -> None:
    """The choice and the rule that found it are kept in the row."""
    found = MultipleChoiceAccuracy().score({"answer": "A"}, {"response": "(D) because"})
    assert found.details == {"choice": "D", "rule": "leading"}


NO_ANSWER = [
    ("I cannot tell", "no answer: the response mentions no choice, or only to rule it out"),
    ("Paris or Rome", "no answer: the response mentions A, C and settles on none"),
    ("So the answer is (A) and (B).", "no answer: the response settles on A and B at once"),
    ("", "no answer: the response is empty"),
]


@pytest.mark.parametrize(("response", "reason"), NO_ANSWER)
def test_a_response_without_an_answer_is_wrong(response: str, reason: str) -> None:
    """It was given and does not settle on the gold; the details say why."""
    found = MultipleChoiceAccuracy().score(
        {"choices": CITIES, "answer": "A"}, {"response": response}
    )
    assert found.scores == {"mc_accuracy": 0.0}
    assert found.missing == {}
    assert found.details == {"choice": None, "reason": reason}


@pytest.mark.parametrize(("response", "reason"), NO_ANSWER)
def test_a_response_without_an_answer_can_be_left_out(response: str, reason: str) -> None:
    """With `unreadable="missing"` there is no score, for the same reason."""
    with pytest.raises(MissingScoreError, match=re.escape(reason)):
        MultipleChoiceAccuracy(unreadable="missing").score(
            {"choices": CITIES, "answer": "A"}, {"response": response}
        )


def test_unreadable_is_one_of_two_words() -> None:
    """Another value is refused when the evaluator is made."""
    with pytest.raises(ValueError, match="'wrong' or 'missing', not 'zero'"):
        MultipleChoiceAccuracy(unreadable="zero")  # type: ignore[arg-type]


def test_the_question_that_was_asked_tells_its_answer_from_others() -> None:
    """A response that repeats it among other questions is read behind it."""
    asked = "Which of these cities is the capital of Italy?"
    example = {"choices": CITIES, "answer": "C", "question": asked}
    other = "Question: Which lies on the Thames?\nThe answer is (B).\n\n"
    own = f"Question: {asked}\n(A) Paris (B) London (C) Rome\nThe answer is (C).\n\n"
    assert accuracy(example, f"{other}{own}{other}") == 1.0


def test_an_accuracy_is_the_published_one() -> None:
    """BIG-Bench Hard's hyperbaton as code-davinci-002 answered it; published accuracy: 66.4.

    Of 250 answers 166 are right, 19 wrong, and 65 name both choices. 89.7 leaves those out.
    """
    responses = ["So the answer is (A)."] * 166 + ["So the answer is (B)."] * 19
    responses += ["So the answer is (A) and (B)."] * 65
    example = {"choices": ["big old hat", "old big hat"], "answer": "(A)"}
    assert sum(accuracy(example, response) for response in responses) / 250 == 0.664


@pytest.mark.parametrize(
    ("original", "response", "reason"),
    [
        ({"choices": CITIES, "answer": "A"}, None, "no response"),
        ({"choices": CITIES, "answer": "A"}, 7, "response is a int"),
        ({"choices": CITIES}, "A", "no gold choice"),
        ({"choices": CITIES, "answer": " "}, "A", "no gold choice"),
        ({"choices": CITIES, "answer": "D"}, "A", "'D' in `answer` is none of the choices"),
        ({"choices": CITIES, "answer": 3}, "A", "3 in `answer` is none of the choices"),
        ({"choices": CITIES, "answer": True}, "A", "True in `answer` is none"),
        ({"choices": ["x", "x"], "answer": "x"}, "A", "text of several choices"),
        ({"choices": "Paris", "answer": "A"}, "A", "not a list of 2 to 26"),
        ({"choices": ["Paris"], "answer": "A"}, "A", "not a list of 2 to 26"),
        ({"answer": 1}, "A", "none of the choices"),
    ],
)
def test_no_score_without_a_response_or_a_gold(
    original: dict[str, Any], response: Any, reason: str
) -> None:
    """What cannot be judged has no score, and the reason."""
    with pytest.raises(MissingScoreError, match=reason):
        accuracy(original, response)
