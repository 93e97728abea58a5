"""`AnswerQuality`: what it reads from examples and outputs, and when it gives no score."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_answerquality import AnswerQuality, ContainsWord
from cbcore.exceptions import MissingScoreError
from cbcore.protocols import Evaluator

FULL = {"f1": 1.0, "exact_match": 1.0, "recall": 1.0, "contains": 1.0}
ZERO = dict.fromkeys(FULL, 0.0)

WORDS = st.lists(st.sampled_from(["the", "a", "cat", "Cat.", "4", "(A)", "漢"]), min_size=1)
TEXTS = WORDS.map(" ".join) | st.text()
ANSWERS = st.none() | TEXTS | st.integers() | st.floats() | st.lists(TEXTS | st.none())
RESPONSES = st.none() | TEXTS | st.integers() | st.lists(st.integers())


def score(answer: Any, response: Any) -> dict[str, float]:
    return AnswerQuality().score({"answer": answer}, {"response": response})


def test_the_documented_example() -> None:
    """The example of the reference page, under the paths it imports from."""
    from cb_answerquality.evaluators import AnswerQuality as Evaluated
    from cb_answerquality.metrics.quality import exact_match, f1_score, recall_score

    found = Evaluated().score({"answer": "Paris"}, {"response": "The capital is Paris."})
    assert found == {"f1": 0.5, "exact_match": 0.0, "recall": 1.0, "contains": 1.0}
    functions = (f1_score, exact_match, recall_score)
    assert [f("The capital is Paris.", "Paris") for f in functions] == [0.5, 0.0, 1.0]


def test_contains_word_takes_the_best_alternative() -> None:
    """Whole words count; without a gold answer the score is missing."""
    evaluator = ContainsWord()
    gold = {"answer": ["cat", "dog"]}
    assert evaluator.score(gold, {"response": "concatenate"}) == {"contains_word": 0.0}
    assert evaluator.score(gold, {"response": "A dog."}) == {"contains_word": 1.0}
    with pytest.raises(MissingScoreError):
        evaluator.score({}, {"response": "A dog."})


def test_it_declares_what_it_emits() -> None:
    """The declared names are those scored, and the protocols are met."""
    evaluator = AnswerQuality()
    assert tuple(score("x", "x")) == evaluator.emits
    assert evaluator.name == "answer_quality"
    assert (evaluator.applies_to, evaluator.needs) == (("qa", "*"), ("answer",))
    assert isinstance(evaluator, Evaluator)


@pytest.mark.parametrize(
    ("answer", "response", "expected"),
    [
        ("", "anything", FULL),
        ("", "", FULL),
        ("Paris", "", ZERO),
        (42, "42", FULL),
        ("42", 42, FULL),
        (4.5, "4.5", FULL),
        (5.0, "5", FULL),
        (5.0, "6", ZERO),
        ("5", 5.0, FULL),
        (True, "true", FULL),
        ("None", "none", FULL),
        (["Paris", "Lutetia"], "lutetia", FULL),
        (("Paris", 75000), "75000", FULL),
        ([None, "Paris"], "Paris", FULL),
        (["", "Paris"], "London", ZERO),
        ([""], "London", FULL),
    ],
)
def test_answers_may_be_texts_numbers_or_alternatives(
    answer: Any, response: Any, expected: dict[str, float]
) -> None:
    """Numbers count as their text, and of alternatives the best counts."""
    assert score(answer, response) == expected


@pytest.mark.parametrize(
    ("gold", "response", "expected"),
    [
        ({"answer": [], "no_answer": True}, "", FULL),
        ({"answer": [], "no_answer": True}, "Paris", ZERO),
        ({"answers": [], "is_impossible": True}, "", FULL),
        ({"answers": [], "is_impossible": True}, "It cannot be told.", ZERO),
        ({"answer": "", "is_impossible": True}, "Paris", ZERO),
        ({"answer": "", "is_impossible": True}, "  ", FULL),
        ({"answer": None, "no_answer": "true"}, "The .", FULL),
        ({"answer": ["", "the"], "no_answer": 1}, "Paris", ZERO),
        ({"answer": [], "no_answer": True}, 0, ZERO),
        ({"answer": "Paris", "is_impossible": False}, "Paris", FULL),
        ({"answer": "Paris", "no_answer": True}, "Paris", FULL),
        ({"answer": ["Paris"], "no_answer": True}, "", ZERO),
        ({"answer": "", "is_impossible": False}, "Paris", FULL),
    ],
)
def test_a_question_without_an_answer_is_no_empty_gold(
    gold: dict[str, Any], response: Any, expected: dict[str, float]
) -> None:
    """Declining is right and answering is wrong, as SQuAD's `evaluate-v2.0.py` counts them.

    A gold text counts whatever else the example says, and so does that script.
    """
    assert AnswerQuality().score(gold, {"response": response}) == expected


def test_declining_takes_a_response() -> None:
    """A system that only compresses has not declined."""
    with pytest.raises(MissingScoreError, match="returned no response"):
        AnswerQuality().score({"answer": [], "no_answer": True}, {"context": "x"})


def test_each_score_has_its_own_best_alternative() -> None:
    """F1 may come from one alternative and recall from another."""
    found = score(["Paris", "capital is Rome"], "The capital is Paris")
    assert found == {"f1": 2 / 3, "exact_match": 0.0, "recall": 1.0, "contains": 1.0}


@pytest.mark.parametrize(
    ("original", "processed", "reason"),
    [
        ({}, {"response": "x"}, "no gold answer"),
        ({"answer": None}, {"response": "x"}, "no gold answer"),
        ({"answer": []}, {"response": "x"}, "no gold answer"),
        ({"answer": [None]}, {"response": "x"}, "no gold answer"),
        ({"answer": float("nan")}, {"response": "x"}, "no gold answer"),
        ({"answer": {"text": "x"}}, {"response": "x"}, "gold answer is a dict"),
        ({"answer": [["x"]]}, {"response": "x"}, "gold answer is a list"),
        ({"answer": "x"}, {}, "returned no response"),
        ({"answer": "x"}, {"response": None}, r"system \| reader"),
        ({"answer": ""}, {"context": "x"}, "returned no response"),
        ({"answer": "x"}, {"response": ["x"]}, "response is a list"),
        ({"answer": "x"}, {"response": {"text": "x"}}, "response is a dict"),
        ({"answer": "x"}, {"response": b"x"}, "response is a bytes"),
    ],
)
def test_no_score_without_data(
    original: dict[str, Any], processed: dict[str, Any], reason: str
) -> None:
    """A missing gold answer or response is said to be missing, never scored as zero."""
    with pytest.raises(MissingScoreError, match=reason):
        AnswerQuality().score(original, processed)


@given(st.lists(TEXTS.filter(str.strip), min_size=1, max_size=4), TEXTS)
def test_alternatives_are_at_least_as_good_as_each_alone(golds: list[str], response: str) -> None:
    """A list of answers scores the maximum over its members, score by score."""
    together = score(golds, response)
    alone = [score(gold, response) for gold in golds]
    assert together == {name: max(found[name] for found in alone) for name in together}


def test_inputs_are_left_as_they_are() -> None:
    """Scoring changes neither the example nor the output."""
    original, processed = {"answer": ["a", None, ""]}, {"response": " X "}
    AnswerQuality().score(original, processed)
    assert original == {"answer": ["a", None, ""]}
    assert processed == {"response": " X "}


def test_importing_is_light() -> None:
    """The package pulls in no heavy library."""
    heavy = "{'datasets', 'pandas', 'numpy', 'rich', 'pyarrow', 'structlog'}"
    code = f"import sys, cb_answerquality; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_public_names_are_pinned() -> None:
    """What the package root offers."""
    import cb_answerquality

    names = [
        "AnswerQuality",
        "ContainsWord",
        "contains_score",
        "contains_word_score",
        "exact_match",
        "f1_score",
        "normalize",
    ]
    assert sorted(cb_answerquality.__all__) == [*names, "recall_score"]
    assert all(hasattr(cb_answerquality, name) for name in cb_answerquality.__all__)
