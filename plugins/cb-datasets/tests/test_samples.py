"""The samples: every benchmark through its real loading path, and the contract of fields."""

from __future__ import annotations

import json

import pytest

from cb_datasets import BENCHMARKS, dataset
from cb_datasets.checking import check
from cb_datasets.loading import SAMPLES
from tests.tables import check_each

NAMES = sorted(BENCHMARKS)


def with_task(task):
    return [name for name in NAMES if task in BENCHMARKS[name].tasks]


@check_each("name", NAMES)
def test_a_sample_is_as_the_table_says(name):
    """All source fields are there, every example has what it needs, and there are a few."""
    report = check(f"{name}:sample")
    assert report.problems == []
    assert 3 <= report.n_examples <= 6
    assert report.source == "the package"


@check_each("name", NAMES)
def test_examples_keep_the_contract_of_fields(name):
    """Ids are unique texts, nothing is empty, everything is plain data, golds agree."""
    examples = list(dataset(name, "sample"))
    assert len({example["id"] for example in examples}) == len(examples)
    for example in examples:
        assert isinstance(example["id"], str)
        assert example.get("question") or example["turns"]
        assert "dataset" not in example, "that field would rename the row's dataset"
        for field in ("context", "question", "answer", "answers", "choices"):
            assert example.get(field, "left out"), field
        assert json.loads(json.dumps(example)) == example
        if "answers" in example:
            golds = example["answers"]
            assert example["answer"] == (golds[0] if len(golds) == 1 else golds)


@check_each("name", NAMES)
def test_every_example_has_a_context(name):
    """Its own, or exactly what it asks, so that nobody takes the two for two texts."""
    own = []
    for example in dataset(name, "sample"):
        asked = example.get("question") or "\n\n".join(example["turns"])
        assert isinstance(example["context"], str)
        own.append(example["context"] != asked)
    expected = {"all": all(own), "some": any(own), "none": not any(own)}
    assert expected[BENCHMARKS[name].context]


@check_each("name", NAMES)
def test_a_sample_reads_the_same_twice(name):
    """Every system of a run sees the same examples."""
    loaded = dataset(name, "sample")
    assert list(loaded) == list(loaded)


@check_each("name", with_task("multiple-choice"))
def test_choices_are_shown_and_the_gold_is_one_of_them(name):
    """Letter, place and text of the gold agree, and the question shows every choice."""
    for example in dataset(name, "sample"):
        letter = example["answer"]
        assert example["label"] == letter
        assert example["choices"]["ABCDEFGHIJ".index(letter)] == example["answer_text"]
        for place, choice in enumerate(example["choices"]):
            assert f"\n{'ABCDEFGHIJ'[place]}) {choice}" in example["question"]


@check_each("name", with_task("nli"))
def test_labels_come_from_the_label_set(name):
    """An evaluator learns from the example which answers there are."""
    for example in dataset(name, "sample"):
        assert example["label"] == example["answer"]
        assert example["label"] in example["labels"]
        assert all(label in example["question"] for label in example["labels"])


@check_each("name", with_task("tool-use"))
def test_tools_are_shown_and_structured(name):
    """A model sees them as JSON in the context; an evaluator reads the list."""
    for example in dataset(name, "sample"):
        assert json.loads(example["context"]) == example["tools"]
        names = {tool["name"] for tool in example["tools"]}
        assert {call["name"] for call in example["answer_calls"]} <= names


@pytest.mark.parametrize("name", ["humaneval", "mbpp"])
def test_published_solutions_pass_their_tests(name):
    """`tests` behind a solution is a whole program, and can fail."""
    for example in dataset(name, "sample"):
        head = example["prompt"] if name == "humaneval" else ""
        solution = head + example["canonical_solution"]
        exec(solution + "\n" + example["tests"], {})
        broken = solution.replace("return", "return None and")
        with pytest.raises((AssertionError, TypeError)):
            exec(broken + "\n" + example["tests"], {})
        assert f"def {example['entry_point']}(" in solution


def test_samples_are_in_the_package_once():
    """One folder per benchmark, and no other."""
    folders = {path.name for path in SAMPLES.iterdir() if path.is_dir()}
    assert folders == set(BENCHMARKS)
