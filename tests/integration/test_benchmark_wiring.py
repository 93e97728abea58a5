"""Benchmarks meet evaluators: who scores which dataset when nobody says so.

Runs every offline sample of cb-datasets with the evaluators that are installed beside it.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from cbcore import evaluate

cb_datasets = pytest.importorskip("cb_datasets")

EVALUATORS = {
    "multiple-choice": ("cb_multiple_choice", {"mc_accuracy"}),
    "math": ("cb_math", {"math_equiv"}),
    "summarization": ("cb_rouge", {"rouge_l_f1", "rouge_l_precision", "rouge_l_recall"}),
    "nli": ("cb_nli", {"nli_accuracy"}),
    "instruction-following": ("cb_ifeval", {"ifeval_prompt_strict", "ifeval_prompt_loose"}),
    "code": ("cb_code_execution", {"pass_at_1"}),
    "tool-use": ("cb_tool_use", {"tool_call_accuracy", "argument_recall"}),
}
WITHOUT_TESTS = {"swebench", "swebench-verified", "swebench-lite"}
WITHOUT_INSTRUCTIONS = {"alpaca-eval"}


class Gold:
    """Answers every example with its own gold, as a model would write it down."""

    name = "gold"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        if "answer_calls" in example:
            return {**example, "response": json.dumps(example["answer_calls"])}
        answer = example.get("answers", ["well then"])[0]
        return {**example, "response": example.get("canonical_solution", answer)}


def scored(name: str) -> list[Any]:
    result = evaluate(Gold(), f"{name}:sample", progress=False)
    assert [row.error for row in result.rows if row.error] == []
    return list(result.rows)


@pytest.mark.parametrize("name", sorted(cb_datasets.BENCHMARKS))
def test_a_sample_is_scored_by_the_evaluators_of_its_tasks(name: str) -> None:
    """The gold earns full marks from each of them, and no other evaluator scores the rows."""
    tasks = cb_datasets.dataset(name, "sample").tasks
    rows = scored(name)
    for task, (package, fields) in EVALUATORS.items():
        expected = task in tasks and name not in WITHOUT_TESTS | WITHOUT_INSTRUCTIONS
        if expected:
            pytest.importorskip(package)
        for row in rows:
            found = {**row.scores, **dict.fromkeys(row.missing)}
            assert fields <= found.keys() if expected else fields.isdisjoint(row.scores)
            if expected and task != "instruction-following" and not row.missing:
                assert {row.scores[field] for field in fields} == {1.0}


def test_a_mean_is_taken_over_the_rows_an_evaluator_applies_to() -> None:
    """context-bench made 0.333 of a perfect mmlu, counting the rows of other datasets as zero."""
    pytest.importorskip("cb_multiple_choice")
    specs = ["mmlu:sample", "natural-questions:sample", "ifeval:sample"]
    result = evaluate(Gold(), specs, score_field="mc_accuracy", progress=False)
    assert result.summary["gold"]["mean_score"] == 1.0
    assert len([row for row in result.rows if "mc_accuracy" in row.scores]) == 3
