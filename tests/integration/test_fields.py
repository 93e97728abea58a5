"""Own data with odd names: from the command line, run files and Python, for systems too."""

from __future__ import annotations

import json
import shlex

import pytest

from cbcore import evaluate
from tests.fake_distributions import Workplace

ROWS = [
    {"no": 1, "Body Text": "Basel lies on the Rhine.", "ask": "Where is Basel?", "gold": "Rhine"},
    {"no": 2, "Body Text": "Bern lies on the Aare.", "ask": "Where is Bern?", "gold": "Aare"},
]
FIELDS = {"context": "Body Text", "question": "ask", "answer": "gold", "id": "no"}
LAST_WORD = """
class System:
    name = "last word"

    def process(self, example):
        return {"response": example["context"].rstrip(".").split()[-1]}


def body(row):
    return row["Body Text"]
"""


@pytest.fixture
def place(workplace: Workplace) -> Workplace:
    workplace.write("data.jsonl", "".join(json.dumps(row) + "\n" for row in ROWS))
    workplace.write("mine.py", LAST_WORD)
    return workplace


def rows_of(done) -> list[dict]:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["rows"]


def run(place: Workplace, *arguments: str):
    return place.cb("run", "-s", "py:./mine.py:System", *arguments, "-o", "json")


SPEC = "data.jsonl:context_column='Body Text',question_column=ask,answer_column=gold,id_column=no"


@pytest.mark.parametrize(
    "arguments",
    [
        ("-d", SPEC),
        ("-d", "data.jsonl", *(f for k, c in FIELDS.items() for f in ("--field", f"{k}={c}"))),
        ("-d", f"{SPEC.replace(chr(39) + 'Body Text' + chr(39), 'py:./mine.py:body')}"),
    ],
    ids=["in the spec", "as flags", "by a function"],
)
def test_systems_and_evaluators_see_the_fields(place, arguments):
    """However they are said; ids are those of the data."""
    rows = rows_of(run(place, *arguments))
    assert [(row["example_id"], row["scores"]["f1"]) for row in rows] == [(1, 1.0), (2, 1.0)]


@pytest.mark.parametrize(
    "datasets",
    [
        "datasets: [data.jsonl]\nfields: {context: Body Text, question: ask, answer: gold, id: 'no'}",
        "datasets:\n- data.jsonl: {fields: {context: Body Text, answer: gold}, id_column: 'no'}",
    ],
)
def test_run_files_say_it_for_all_datasets_or_for_one(place, datasets):
    """With the key `fields`."""
    place.write("bench.yaml", f"systems: ['py:./mine.py:System']\n{datasets}\n")
    rows = rows_of(place.cb("run", "bench.yaml", "-o", "json"))
    assert [row["scores"]["f1"] for row in rows] == [1.0, 1.0]


def test_from_python():
    """A list, with functions as well."""

    class Echo:
        name = "echo"

        def process(self, example):
            return {"response": example["context"].rstrip(".").split()[-1]}

    result = evaluate(
        [Echo()], ROWS, fields={**FIELDS, "context": lambda row: row["Body Text"]}, progress=False
    )
    assert [row.scores["f1"] for row in result.rows] == [1.0, 1.0]
    assert result.config["settings"]["fields"]["question"] == "ask"
    assert result.config["settings"]["fields"]["context"].startswith("py:")


def test_unmapped_data_is_refused_once_with_a_proposal_that_works(place):
    """The flags it prints are those that mend it; nothing was called."""
    done = run(place, "-d", "data.jsonl")
    assert done.returncode == 2
    assert done.stderr.count("neither 'context' nor 'question'") == 1
    assert not done.stdout
    flags = done.stderr.partition("say where they stand: ")[2].strip()
    again = run(place, "-d", "data.jsonl", *shlex.split(flags))
    assert [row["scores"]["f1"] for row in rows_of(again)] == [1.0, 1.0]


def test_a_column_that_is_not_there_is_told_before_any_call(place):
    """With those that are."""
    done = run(place, "-d", "data.jsonl", "--field", "context=Boddy Text")
    assert done.returncode == 4
    assert "did you mean 'Body Text'?" in done.stderr


def test_a_field_that_is_none_is_refused(place):
    """With what to write."""
    done = run(place, "-d", "data.jsonl", "--field", "context")
    assert done.returncode == 2
    assert "--field must be FIELD=COLUMN, such as context=passage, not 'context'" in done.stderr


@pytest.mark.parametrize("said", [("--unique-ids",), ()])
def test_ids_that_come_again_are_numbered_on_request(place, said):
    """Else they are refused, and the error says how to ask for it."""
    rows = [{"id": "a", "context": "x y", "answer": "y"}] * 2
    place.write("twice.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    done = run(place, "-d", "twice.jsonl", *said)
    if said:
        assert [row["example_id"] for row in rows_of(done)] == ["a", "a#1"]
    else:
        assert done.returncode == 4
        assert "--unique-ids" in done.stderr


def test_a_rescored_run_reads_the_same_fields(place):
    """They are part of what the run was."""
    flags = [f for k, c in FIELDS.items() for f in ("--field", f"{k}={c}")]
    run_id = json.loads(run(place, "-d", "data.jsonl", *flags).stdout)["config"]["run_id"]
    done = place.cb("rescore", run_id, "-e", "answer_quality", "-o", "json")
    assert [row["scores"]["f1"] for row in rows_of(done)] == [1.0, 1.0]
