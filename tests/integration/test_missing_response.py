"""Evaluators of installed plugins give one reason for a missing response, with the next step."""

from __future__ import annotations

from importlib.metadata import entry_points

from cbcore.exceptions import MissingScoreError
from cbcore.scoring import NO_RESPONSE

EXAMPLE = {
    "question": "Which letter?",
    "context": "A comes first.",
    "answer": "A",
    "answers": ["A"],
    "answer_spans": [["A"]],
    "category_code": 4,
    "choices": ["A", "B"],
    "infinitebench_task": "passkey",
    "instruction_id_list": ["punctuation:no_comma"],
    "kwargs": [{}],
    "label": "neutral",
    "supporting_facts": [["A", 0]],
    "test": "assert True",
}
"""What any of them needs besides the response."""

NEED_A_MODEL = {
    "context_utilization",
    "llm_judge",
    "longmemeval_judge",
    "memory_judge",
    "semantic_similarity",
}


def test_evaluators_give_one_reason_for_a_missing_response():
    reasons = {}
    for point in entry_points(group="cb.evaluators"):
        if point.name in NEED_A_MODEL:
            continue
        evaluator = point.load()()
        if hasattr(evaluator, "score"):
            try:
                evaluator.score(EXAMPLE, {"context": "A"})
            except MissingScoreError as error:
                reasons[point.name] = str(error)
    about_response = {name: told for name, told in reasons.items() if "no response" in told}
    assert len(about_response) >= 12, reasons
    assert set(about_response.values()) == {NO_RESPONSE}
