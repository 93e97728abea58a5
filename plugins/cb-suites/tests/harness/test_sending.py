"""Tasks of lm-evaluation-harness by the workers of an executor: made again there, or refused."""

from __future__ import annotations

import json

import pytest

from cbcore import evaluate
from cbcore.exceptions import CBError

TASK = """
task: sums
dataset_path: json
dataset_kwargs: {data_files: {test: docs.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: "Q: {{q}} A:"
doc_to_target: "{{a}}"
generation_kwargs: {until: ["\\n"]}
filter_list:
  - name: number
    filter: [{function: regex, regex_pattern: "(\\\\d+)"}, {function: take_first}]
  - name: mine
    filter: [{function: !function utils.Last}]
metric_list:
  - metric: exact_match
  - metric: !function utils.near
"""

CHOICES = """
task: choices
dataset_path: json
dataset_kwargs: {data_files: {test: docs.jsonl}}
test_split: test
output_type: multiple_choice
doc_to_text: "Q: {{q}} A:"
doc_to_choice: "{{choices}}"
doc_to_target: "{{choices.index(a)}}"
"""

OWN_RESULTS = """
task: own_results
dataset_path: json
dataset_kwargs: {data_files: {test: docs.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: !function utils.text
doc_to_target: a
process_results: !function utils.results
metric_list:
  - {metric: spread, aggregation: !function utils.widest, higher_is_better: false}
  - {metric: hit, aggregation: mean}
"""

CLASS = """
task: asks_itself
class: !function utils.AsksItself
"""

UTILS = """
from types import SimpleNamespace


class Last:
    def apply(self, resps, docs):
        return [[each[-1][-1:]] if isinstance(each, list) else each for each in resps]


def near(references, predictions, **_):
    return float(abs(float(references[0]) - float(predictions[0])) < 2)


def text(doc):
    return "Q: " + doc["q"]


def results(doc, answers):
    return {"spread": [len(answers[0]), 1], "hit": float(doc["a"] in answers[0])}


def widest(items):
    return max(a - b for a, b in items)


class AsksItself:
    VERSION = 0
    def __init__(self, config=None):
        pass
    def test_docs(self):
        return [{"q": "2+2?", "a": "4"}]
    def doc_to_text(self, doc):
        return doc["q"]
    def construct_requests(self, doc, ctx, **kwargs):
        return [SimpleNamespace(request_type="generate_until", arguments=(ctx, {}), idx=0)]
    def process_results(self, doc, results):
        return {"hit": float(results[0] == doc["a"])}
    def aggregation(self):
        return {"hit": sum}
    def higher_is_better(self):
        return {"hit": True}
"""

ADDER = """
class Adder:
    name = "adder"

    def process(self, example):
        asked = example["question"]
        return {"response": f"it is {sum(int(c) for c in asked if c.isdigit())}"}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    docs = [
        {"q": f"{i}+{j}?", "a": str(i + j), "choices": [str(i + j), "99"]}
        for i in range(3)
        for j in range(1, 3)
    ]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    (tmp_path / "utils.py").write_text(UTILS)
    (tmp_path / "adder.py").write_text(ADDER)
    for name, text in {
        "sums": TASK,
        "choices": CHOICES,
        "own_results": OWN_RESULTS,
        "asks_itself": CLASS,
    }.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def run(folder, *names, **how):
    suites = {"suites": list(names), "include_path": folder, "trust": folder}
    return evaluate(["py:./adder.py:Adder"], progress=False, **suites, **how)


def told(result):
    rows = [
        (r.dataset, r.example_id, r.response, r.scores, r.missing, r.error) for r in result.rows
    ]
    return rows, {key: section.lines for key, section in result.sections.items()}


def test_tasks_are_scored_by_workers_as_by_the_run(folder):
    """Templates, patterns, and functions of the folder: as filters, metrics and `process_results`."""
    names = ("sums", "choices", "own_results")
    here = run(folder, *names)
    assert len(here.rows) == 18
    assert {name for row in here.rows for name in row.scores} >= {
        "exact_match",
        "near",
        "hit",
        "acc",
    }
    assert told(run(folder, *names, executor="processes:workers=1")) == told(here)


def test_a_task_that_is_an_object_of_its_own_class_is_refused_with_the_reason(folder):
    """Before anything is called: what it holds is nowhere written down."""
    assert len(run(folder, "asks_itself").rows) == 1
    with pytest.raises(CBError, match="asks and measures by an object of its own class"):
        run(folder, "asks_itself", executor="processes:workers=1")
