"""`hotpot_joint`: the scores of HotpotQA's own evaluation.

The tables were worked by hand from the definitions in `hotpot_evaluate_v1.py` (repository
hotpotqa/hotpot): `update_answer`, `update_sp`, and the joint scores in `eval`.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_hotpotqa import HotpotJoint
from cbcore.exceptions import MissingScoreError
from cbcore.protocols import Evaluator

GOLD = [["Ada Moss", 1], ["Tern", 0]]


def score(answer: Any, response: Any, named: Any = None, gold: Any = GOLD) -> dict[str, float]:
    original = {"answer": answer, "supporting_facts": gold}
    return HotpotJoint().score(original, {"response": response, "supporting_facts": named})


@pytest.mark.parametrize(
    ("answer", "response", "em", "f1"),
    [
        ("Bo Lund", "bo lund.", 1.0, 1.0),
        ("the Bo Lund", "Bo Lund", 1.0, 1.0),
        ("Bo Lund", "Captain Bo Lund", 0.0, 0.8),
        ("Bo Lund", "Lund", 0.0, 2 / 3),
        ("Bo Lund", "Ada Moss", 0.0, 0.0),
        ("yes", "Yes.", 1.0, 1.0),
        ("yes", "no", 0.0, 0.0),
        ("yes", "yes, both are", 0.0, 0.0),
        ("no peace treaty", "no", 0.0, 0.0),
        ("noanswer", "noanswer given", 0.0, 0.0),
        ("no way", "no way out", 0.0, 0.8),
        ("1897", 1897, 1.0, 1.0),
        ("Bo Lund", "", 0.0, 0.0),
        ("The", "a", 1.0, 0.0),
    ],
)
def test_answers_by_table(answer: str, response: Any, em: float, f1: float) -> None:
    """SQuAD's rules, except that yes, no and noanswer earn no partial credit."""
    found = score(answer, response)
    assert found == {"answer_em": em, "answer_f1": pytest.approx(f1)}


def test_of_several_gold_answers_the_best_counts() -> None:
    """As where a dataset, such as MuSiQue, has aliases."""
    assert score(["Ada", "Bo Lund"], "bo lund") == {"answer_em": 1.0, "answer_f1": 1.0}
    assert score(["Ada", "Bo Lund"], "Captain Bo Lund")["answer_f1"] == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("named", "em", "precision", "recall", "f1"),
    [
        ([["Tern", 0], ["Ada Moss", 1]], 1.0, 1.0, 1.0, 1.0),
        ([["Tern", 0], ["Tern", 0], ["Ada Moss", 1]], 1.0, 1.0, 1.0, 1.0),
        ([["Tern", 0]], 0.0, 1.0, 0.5, 2 / 3),
        ([["Tern", 0], ["Ada Moss", 0], ["Gull", 0], ["Gull", 1]], 0.0, 0.25, 0.5, 1 / 3),
        ([["Ada Moss", 1], ["Tern", 0], ["Gull", 0]], 0.0, 2 / 3, 1.0, 0.8),
        ([["Gull", 0]], 0.0, 0.0, 0.0, 0.0),
        ([], 0.0, 0.0, 0.0, 0.0),
        ((("Ada Moss", 1), ("Tern", 0)), 1.0, 1.0, 1.0, 1.0),
    ],
)
def test_supporting_facts_by_table(
    named: Any, em: float, precision: float, recall: float, f1: float
) -> None:
    """Facts are compared as sets of title and sentence number; an empty list names nothing."""
    found = score("Bo Lund", "Bo Lund", named)
    assert found["sp_em"] == em
    assert found["sp_precision"] == pytest.approx(precision)
    assert found["sp_recall"] == pytest.approx(recall)
    assert found["sp_f1"] == pytest.approx(f1)
    # With a perfect answer the joint scores are those of the facts.
    assert (found["joint_em"], found["joint_f1"]) == (em, pytest.approx(f1))


@pytest.mark.parametrize(
    ("response", "named", "em", "f1"),
    [
        # answer P 2/3, R 1; facts P 1, R 1/2: joint P 2/3, R 1/2
        ("Captain Bo Lund", [["Tern", 0]], 0.0, 4 / 7),
        # answer P 1, R 1/2; facts P 2/3, R 1: joint P 2/3, R 1/2
        ("Lund", [["Ada Moss", 1], ["Tern", 0], ["Gull", 0]], 0.0, 4 / 7),
        ("Bo Lund", GOLD, 1.0, 1.0),
        ("Ada Moss", GOLD, 0.0, 0.0),
        ("Bo Lund", [["Gull", 0]], 0.0, 0.0),
    ],
)
def test_joint_scores_by_table(response: str, named: Any, em: float, f1: float) -> None:
    """Precisions multiply, recalls multiply, exact matches multiply."""
    found = score("Bo Lund", response, named)
    assert found["joint_em"] == em
    assert found["joint_f1"] == pytest.approx(f1)


def test_a_system_without_facts_is_scored_on_its_answer() -> None:
    """The scores that cannot be given are left out; they are missing, not zero."""
    assert set(score("Bo Lund", "Lund")) == {"answer_em", "answer_f1"}
    example = {"answer": "Bo Lund", "supporting_facts": GOLD}
    assert set(HotpotJoint().score(example, {"response": "Lund"})) == {"answer_em", "answer_f1"}


def test_gold_that_comes_back_with_the_example_is_not_a_finding() -> None:
    """A system that returns its example with a response added has named no facts."""
    example = {"answer": "Bo Lund", "supporting_facts": GOLD, "context": "x"}
    found = HotpotJoint().score(example, {**example, "response": "Lund", "context": "y"})
    assert set(found) == {"answer_em", "answer_f1"}
    output = {**example, "response": "Lund", "supporting_facts": [["Tern", 0]]}
    assert HotpotJoint().score(example, output)["sp_precision"] == 1.0


def test_predicted_facts_are_the_systems_own_even_when_they_equal_the_gold() -> None:
    """A system that hands the example back can still be credited for finding all facts."""
    example = {"answer": "Bo Lund", "supporting_facts": GOLD, "context": "x"}
    output = {**example, "response": "Bo Lund", "predicted_supporting_facts": GOLD}
    assert HotpotJoint().score(example, output)["joint_em"] == 1.0


@pytest.mark.parametrize(
    ("original", "processed", "reason"),
    [
        ({"supporting_facts": GOLD}, {"response": "x"}, "no gold answer"),
        ({"answer": "x", "supporting_facts": GOLD}, {}, "returned no response"),
        ({"answer": "x"}, {"response": ["x"]}, "response is a list"),
        ({"answer": [["x"]]}, {"response": "x"}, "gold answer is a list"),
        ({"answer": []}, {"response": "x"}, "no gold answer"),
        ({"answer": "x"}, {"response": "x", "supporting_facts": []}, "gold .* a NoneType"),
    ],
)
def test_no_score_without_data(
    original: dict[str, Any], processed: dict[str, Any], reason: str
) -> None:
    """What is absent or of another type is said to be so."""
    with pytest.raises(MissingScoreError, match=reason):
        HotpotJoint().score(original, processed)


@pytest.mark.parametrize(
    ("named", "reason"),
    [
        ("Tern", "system's supporting facts are a str, not a list"),
        ({"title": ["Tern"], "sent_id": [0]}, "are a dict, not a list"),
        ([["Tern"]], r"hold \['Tern'\], not \[title, sentence number\]"),
        ([["Tern", "0"]], r"hold \['Tern', '0'\]"),
        ([["Tern", True]], "True"),
        (["Te"], "'Te'"),
        ([None], "None"),
        ([[3, "Tern"]], r"hold \[3, 'Tern'\]"),
    ],
)
def test_malformed_facts_are_no_score(named: Any, reason: str) -> None:
    """A system whose facts cannot be read is told what is wrong with them."""
    with pytest.raises(MissingScoreError, match=reason):
        score("Bo Lund", "Bo Lund", named)


FACTS = st.lists(st.tuples(st.sampled_from(["A", "B"]), st.integers(0, 2)), max_size=4)
ANSWERS = st.sampled_from(["yes", "no", "the cat", "cat sat", "a", "", "yes cat"])


@given(ANSWERS, ANSWERS, FACTS, FACTS)
def test_joint_never_exceeds_its_parts(answer: str, response: str, named: Any, gold: Any) -> None:
    """Every score is from 0 to 1 and joint scores are at most those of answer and facts."""
    found = score(answer, response, named, gold)
    assert tuple(found) == HotpotJoint.emits
    assert all(0.0 <= value <= 1.0 for value in found.values())
    assert found["joint_em"] <= min(found["answer_em"], found["sp_em"])
    assert found["joint_f1"] <= min(found["answer_f1"], found["sp_f1"]) + 1e-12


def test_it_keeps_the_evaluator_protocol() -> None:
    """Name, tasks and needs are declared for wiring."""
    evaluator = HotpotJoint()
    assert isinstance(evaluator, Evaluator)
    assert evaluator.name == "hotpot_joint"
    assert evaluator.applies_to == ("retrieval",)
    assert evaluator.needs == ("answer", "supporting_facts")
