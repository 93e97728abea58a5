"""Statements of the pages that `cb` began with: each holds, or is listed as a deliberate difference.

One table for each page: what a statement says, and a function that shows it. The page of
deliberate differences is read, so that a difference cannot be dropped from it.
"""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from types import SimpleNamespace

import pytest

import context_bench
import context_bench.runner
from cb_answerquality import AnswerQuality
from cb_metrics import MeanScore, PassRate, PerDatasetBreakdown
from cb_ragas_precision import ContextPrecision
from cb_suites import TaskManager
from cbcore import EvalResult, EvalRow, components, evaluate, names
from cbcore.exceptions import CBError, MissingScoreError

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "deliberate-differences.md"
EXAMPLES = [
    {"id": 1, "context": "c", "question": "q", "answer": "a"},
    {"id": 2, "context": "c", "question": "q", "answer": "b"},
]


class Answering:
    name = "kompact"

    def process(self, example):
        return {"response": "a"}


class Memory:
    name = "memory"

    def reset(self): ...

    def ingest(self, items): ...

    def query(self, question, budget=None):
        return "x"


def row(number, scores, dataset="gsm8k"):
    return EvalRow(
        system="s", example_id=number, scores=scores, input_tokens=1, output_tokens=1,
        metadata={}, latency=0.1, dataset=dataset,
    )  # fmt: skip


def refusal(call):
    """The message and the hint of the error that a call raises."""
    with pytest.raises(CBError) as caught:
        call()
    return f"{caught.value.message}\n{caught.value.hint}"


# -- a mean for each dataset ---------------------------------------------------------------------


def values_of(metric):
    return metric.compute([row(1, {"f1": 0.5}), row(2, {"f1": 1.0}, "hotpotqa")])


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))]
)
@pytest.mark.parametrize(
    "metric", [PerDatasetBreakdown(), MeanScore(), PassRate()], ids=lambda m: m.name
)
def test_a_metric_computes_a_dict_of_floats(metric, again):
    """Which can be copied, pickled and written as JSON."""
    values = values_of(metric)
    assert all(isinstance(value, float) for value in values.values())
    assert again(values) == values == json.loads(json.dumps(values))


# -- context precision -----------------------------------------------------------------------------

RETRIEVED = {"id": 1, "question": "q", "contexts": ["bad", "good"], "ground_truth": "g"}


def as_data_frame(rows):
    return pytest.importorskip("pandas").DataFrame(rows)


def as_dataset(rows):
    return pytest.importorskip("datasets").Dataset.from_list(rows)


@pytest.mark.parametrize("kind", [list, as_data_frame, as_dataset])
def test_context_precision_needs_the_columns_question_contexts_ground_truth(kind):
    """Of the data alone, under their default names."""
    judge = ContextPrecision(judge=lambda prompt: int("good" in prompt))
    result = evaluate([Answering()], kind([RETRIEVED]), evaluators=[judge])
    assert result.rows[0].scores["context_precision"] == 0.5


# -- the four stages -------------------------------------------------------------------------------


def show_bare_evaluator(evaluate):
    bare = SimpleNamespace(name="own", score=lambda original, processed: {"own": 0.25})
    mean = MeanScore(score_field="own")
    result = evaluate([Answering()], EXAMPLES, evaluators=[bare], metrics=[mean])
    return result.summary["kompact"]["mean_score"]


def show_path(evaluate, folder):
    path = folder / "data.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in EXAMPLES), encoding="utf-8")
    return len(evaluate([Answering()], path, evaluators=[AnswerQuality()]).rows)


def show_filter():
    rows = [row(1, {"f1": 0.5}), row(2, {"f1": 1.0})]
    made = EvalResult(rows=rows, summary={"s": {"mean_score": 0.75}}, timing={"s": 0.1}, config={})
    return made.filter(system="s").summary["s"]["mean_score"]


def show_registry(registry_of):
    loader = lambda n=None: EXAMPLES[:n]  # noqa: E731 - as the page writes it
    registry_of.registry.register("dataset", "seed-data", loader)
    registry_of.register_dataset("seed-data", loader)
    assert "seed-data" in registry_of.registry.list("dataset")
    return len(list(registry_of.load_dataset("seed-data", n=1)))


@pytest.mark.parametrize(
    "evaluate", [evaluate, context_bench.evaluate], ids=["cb", "context_bench"]
)
def test_the_stages_take_what_the_page_says(evaluate, tmp_path):
    """An evaluator has a name and a score; a dataset may be a local JSONL file."""
    assert show_bare_evaluator(evaluate) == 0.25
    assert show_path(evaluate, tmp_path) == len(EXAMPLES)


def test_a_result_made_by_hand_can_be_filtered():
    """It is a dataclass of rows, summary, timing and config."""
    assert show_filter() == 0.75


@pytest.mark.parametrize("module", ["cbcore.registry", "context_bench.registry"])
def test_the_registry_registers_and_loads(module, monkeypatch):
    """By `registry.register`, by `register_dataset`, and with arguments for the loader."""
    key = ("dataset", names.canonical("seed-data"))
    monkeypatch.setitem(components.registered, key, None)  # is not there afterwards
    assert show_registry(pytest.importorskip(module)) == 1


def test_a_memory_among_the_systems_is_told_where_it_belongs():
    """The error names the option, and the function of context-bench."""
    said = refusal(lambda: evaluate([Memory()], EXAMPLES))
    assert "--memory" in said
    assert "evaluate_memory" in said


# -- groups ----------------------------------------------------------------------------------------


def test_a_task_manager_loads_a_path_of_groups():
    """`tm.load(["mmlu::mmlu_anatomy"])`."""
    (leaf,) = TaskManager().load(["mmlu::mmlu_anatomy"])
    assert leaf.key == "mmlu_anatomy"


# -- answer quality --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "response", "contains"),
    [("cat", "concatenate", 1.0), ("4", "42", 1.0), ("paris", "PARIS!", 1.0), ("dog", "cat", 0.0)],
)
@pytest.mark.parametrize("package", ["cb_answerquality", "context_bench.evaluators"])
def test_contains_is_a_substring_whatever_the_case(package, answer, response, contains):
    """As the page defines it, in both."""
    quality = pytest.importorskip(package).AnswerQuality()
    assert quality.score({"answer": answer}, {"response": response})["contains"] == contains


# -- what differs on purpose -----------------------------------------------------------------------


def leave_unscored_rows_out():
    scored = [row(1, {"f1": 1.0}), row(2, {})]
    return PerDatasetBreakdown().compute(scored) == {"dataset:gsm8k": 1.0}


def count_only_what_a_model_reads():
    rows = [
        context_bench.evaluate([Answering()], EXAMPLES, evaluators=[AnswerQuality()], **more).rows[
            0
        ]
        for more in ({}, {"legacy_tokens": True})
    ]
    with pytest.raises(TypeError):
        evaluate([Answering()], EXAMPLES, legacy_tokens=True)
    return rows[0].input_tokens < rows[1].input_tokens


def refuse_duplicate_ids():
    twice = [EXAMPLES[0], EXAMPLES[0]]
    said = refusal(lambda: evaluate([Answering()], twice, evaluators=[AnswerQuality()]))
    result = evaluate([Answering()], twice, evaluators=[AnswerQuality()], unique_ids=True)
    return "unique_ids=True" in said and "--unique-ids" in said and len(result.rows) == 2


def normalize_as_squad():
    return AnswerQuality().score({"answer": "the cat"}, {"response": "Cat."})["exact_match"] == 1.0


def have_no_private_function():
    return not hasattr(context_bench.runner, "_process_example")


def miss_scores_without_a_response():
    with pytest.raises(MissingScoreError):
        AnswerQuality().score({"answer": "a"}, {"context": "c"})
    return True


def install_no_lm_eval():
    return TaskManager.__module__.startswith("cb_suites")


@pytest.mark.parametrize(
    ("listed", "difference"),
    [
        ("A row without the score is left out", leave_unscored_rows_out),
        ("`legacy_tokens=True`", count_only_what_a_model_reads),
        ("Duplicate ids are refused", refuse_duplicate_ids),
        ("Answers are normalized as SQuAD's script does", normalize_as_squad),
        ("`_process_example()`", have_no_private_function),
        ("The scores are missing, with the reason", miss_scores_without_a_response),
        ("`from cb_suites import TaskManager`", install_no_lm_eval),
        ("`filter_list` of a group", None),  # shown by the tests of aggregates of cb-suites
    ],
)
def test_a_difference_is_listed_and_real(listed, difference):
    """A page that lists what no longer differs is as wrong as one that leaves something out."""
    assert listed in PAGE.read_text(encoding="utf-8")
    assert difference is None or difference()
