"""Scores as RULER gives them, and the grid made of them."""

from __future__ import annotations

import pytest

from cb_datasets.needle import Needle, NeedleGrid, NeedleMatch
from cb_datasets.needle.tasks import TASKS
from cbcore import evaluate
from cbcore.exceptions import MissingScoreError

# What the functions string_match_all and string_match_part of RULER's evaluation give, over 100.
CASES = [
    ("all", ["123", "456"], "it is 123 and 456", 1.0),
    ("all", ["123", "456"], "it is 123", 0.5),
    ("all", ["123", "456", "789", "000"], "456", 0.25),
    ("all", ["Alpha"], "ALPHA!", 1.0),
    ("all", ["12"], "312", 1.0),
    ("all", ["a b"], "a\tb", 0.0),
    ("all", ["123"], "", 0.0),
    ("part", ["Paris", "City of Light"], "the city of light", 1.0),
    ("part", ["Paris", "Rome"], "London", 0.0),
]


@pytest.mark.parametrize(("match", "answer", "response", "expected"), CASES)
def test_scores(match, answer, response, expected):
    """All expected strings count alike; of a question, the best one."""
    found = NeedleMatch().score({"answer": answer, "match": match}, {"response": response})
    assert found["needle_match"] == expected


@pytest.mark.parametrize("task", [*TASKS])
def test_a_response_that_repeats_the_context_scores_nothing(task):
    """Wherever the needle is, and in whatever case."""
    examples = [*Needle(task, length=4000, n=3), *Needle(task, length=600, n=8)]
    match = NeedleMatch()
    echo = [
        match.score(one, {"response": copied})["needle_match"]
        for one in examples
        for copied in (one["context"], one["context"].upper())
    ]
    perfect = [
        match.score(one, {"response": f"They are: {', '.join(one['answer'])}."})["needle_match"]
        for one in examples
    ]
    assert perfect == [1.0] * len(examples)
    assert set(echo) == {0.0}


@pytest.mark.parametrize(
    ("task", "before", "score"),
    [
        ("niah_single_2", 100, 1.0),
        ("niah_single_2", 200, 0.0),
        ("qa", 40, 1.0),
        ("qa", 100, 0.0),
        ("vt", 40, 1.0),
        ("vt", 100, 0.0),
        ("cwe", 130, 1.0),
        ("fwe", 60, 1.0),
        ("fwe", 120, 0.0),
        (None, 100, 1.0),
        (None, 200, 0.0),
    ],
)
def test_the_beginning_that_is_read_is_that_of_the_task(task, before, score):
    """By the tokens that RULER lets a model generate, and some for an opening."""
    response = "so " * before + "4711"
    example = {"answer": ["4711"], "task": task}
    assert NeedleMatch().score(example, {"response": response})["needle_match"] == score
    thought = f"<think>{'so ' * 500}</think> 4711"
    assert NeedleMatch().score(example, {"response": thought})["needle_match"] == 1.0


def test_long_answers_are_read_whole():
    """Where what is expected has more tokens than RULER allows, all of it can be given."""
    golds = [f"item-{number:04}-{number * 7919}" for number in range(60)]
    example = {"answer": golds, "task": "vt"}
    assert NeedleMatch().score(example, {"response": ", ".join(golds)})["needle_match"] == 1.0


def test_the_row_keeps_where_the_needle_lay():
    """Task, length and depth stand in the details."""
    original = {"answer": ["1"], "task": "niah_single_2", "length": 500, "depth": 20}
    scored = NeedleMatch().score(original, {"response": "1"})
    assert scored.details == {"task": "niah_single_2", "length": 500, "depth": 20}


@pytest.mark.parametrize("answer", [None, [], [None], [""], 3])
def test_without_answers_there_is_no_score(answer):
    """Bad gold is a missing score with its reason, never a zero."""
    with pytest.raises(MissingScoreError):
        NeedleMatch().score({"answer": answer}, {"response": "x"})


class FrontReader:
    """Finds the answer only in the first half of a text."""

    name = "front"

    def process(self, example):
        half = example["context"][: len(example["context"]) // 2]
        return {"response": " ".join(a for a in example["answer"] if a in half)}


def test_the_grid_has_lengths_and_depths():
    """A reader of first halves scores 1 above the middle and 0 below it, at every length."""
    data = [f"needle:length={n},n=11" for n in (400, 800)]
    result = evaluate([FrontReader()], data, progress=False, metrics=[NeedleGrid()])
    section = result.sections["needle_grid"]
    heading, *lines = section.lines
    assert heading["name"] == "front, niah_single_2"
    assert [(line["length"], line["0"], line["100"]) for line in lines] == [
        (400, "100", "0"),
        (800, "100", "0"),
    ]
    assert list(section.columns) == [str(d) for d in range(0, 101, 10)]
    assert section.chart["panels"][0]["rows"] == ["400", "800"]
    assert section.chart["panels"][0]["values"][0][0] == 1.0


def test_other_runs_have_no_grid():
    """Without needles there is nothing to show."""
    data = [{"id": 1, "context": "a", "question": "b", "answer": "a"}]
    result = evaluate([FrontReader()], data, progress=False, metrics=[NeedleGrid()])
    assert result.sections == {}
