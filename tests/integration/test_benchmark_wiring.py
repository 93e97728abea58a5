"""Benchmarks meet evaluators: who scores which dataset when nobody says so.

Runs every offline sample of cb-datasets with the evaluators that are installed beside it.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest

from cbcore import evaluate
from tests.tables import check_each

cb_datasets = pytest.importorskip("cb_datasets")

EVALUATORS = {
    "multiple-choice": ("cb_scorers.multiple_choice", {"mc_accuracy"}),
    "math": ("cb_scorers.math", {"math_equiv"}),
    "summarization": ("cb_scorers.rouge", {"rouge_l_f1", "rouge_l_precision", "rouge_l_recall"}),
    "nli": ("cb_scorers.nli", {"nli_accuracy"}),
    "instruction-following": ("cb_scorers.ifeval", {"ifeval_prompt_strict", "ifeval_prompt_loose"}),
    "code": ("cb_code_execution", {"pass_at_1"}),
    "tool-use": ("cb_scorers.tool_use", {"tool_call_accuracy", "argument_recall"}),
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


@functools.cache
def scored(name: str) -> list[Any]:
    result = evaluate(Gold(), f"{name}:sample", progress=False)
    assert [row.error for row in result.rows if row.error] == []
    return list(result.rows)


@check_each("name", sorted(cb_datasets.BENCHMARKS))
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


WITHOUT_GOLD = {"ifeval"}
WITH_SOME_GOLDS = {"mt-bench"}


@check_each("name", sorted(cb_datasets.BENCHMARKS))
def test_answer_quality_scores_every_dataset_that_has_a_gold(name: str) -> None:
    """Calls and programs have a text too, and none is made up where there is none."""
    pytest.importorskip("cb_answerquality")
    having = ["f1" in row.scores and "contains" in row.scores for row in scored(name)]
    if name in WITH_SOME_GOLDS:
        assert any(having)
        assert not all(having)
    else:
        assert set(having) == {name not in WITHOUT_GOLD}


@check_each("name", sorted(cb_datasets.BENCHMARKS))
def test_the_main_score_of_a_dataset_is_one_its_rows_get(name: str) -> None:
    """By the evaluators that are wired to it; of MT-Bench only where there is a reference."""
    main = cb_datasets.dataset(name, "sample").main_score
    rows = scored(name)
    found = {field for row in rows for field in (*row.scores, *row.missing)}
    assert main in found


@pytest.mark.parametrize("name", ["drop", "triviaqa", "infinitebench", "nolima"])
def test_a_published_score_joins_the_others(name: str) -> None:
    """The gold earns full marks by the publisher's rule, and by answer_quality too."""
    main = cb_datasets.dataset(name, "sample").main_score
    for row in scored(name):
        assert (row.scores[main], row.scores["f1"]) == (1.0, 1.0)


def test_one_bad_row_of_a_benchmark_is_one_errored_row(tmp_path: Path) -> None:
    """The row behind it is asked as if nothing had been."""
    good = {"question": "What is 1 + 1?", "answer": "#### 2"}
    rows = [good, {"question": "Why?", "answer": "because"}, good]
    (tmp_path / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = evaluate(Gold(), f"gsm8k:data_dir={tmp_path}", progress=False)
    errors = [row.error for row in result.rows]
    assert errors[0] is errors[2] is None
    assert "gsm8k row 1, field 'answer'" in str(errors[1])


def test_a_mean_is_taken_over_the_rows_an_evaluator_applies_to() -> None:
    """context-bench made 0.333 of a perfect mmlu, counting the rows of other datasets as zero."""
    pytest.importorskip("cb_scorers.multiple_choice")
    specs = ["mmlu:sample", "natural-questions:sample", "ifeval:sample"]
    result = evaluate(Gold(), specs, score_field="mc_accuracy", progress=False)
    assert result.summary["gold"]["mean_score"] == 1.0
    assert len([row for row in result.rows if "mc_accuracy" in row.scores]) == 3
