"""What a run finds again of earlier calls: outputs and scores by what made them, and nothing else."""

from __future__ import annotations

import threading
from types import MappingProxyType

import pytest

from cb_answerquality import AnswerQuality
from cb_metrics import MeanScore
from cbcore import MissingScoreError, Scored, evaluate
from cbcore.secrets import remember
from cbcore.store import database
from cbcore.store.database import checksum
from tests import stores

DATA = [{"id": i, "context": f"context {i}", "answer": "Paris"} for i in range(6)]
LONG = "long " * 2000


class System:
    """Returns what it is told to, and counts its calls outside itself."""

    name = "system"
    identity = "system"
    calls = 0

    def __init__(self, output=None, **more):
        self._output = {"response": "Paris"} if output is None else output
        self.__dict__ |= more

    def process(self, example):
        System.calls += 1
        if isinstance(self._output, Exception):
            raise self._output
        return self._output


class Judge:
    name = "judge"
    emits = ("judged",)
    identity = "judge"
    calls = 0

    def __init__(self, scores=None):
        self._scores = {"judged": 0.5} if scores is None else scores

    def score(self, original, processed):
        Judge.calls += 1
        if isinstance(self._scores, Exception):
            raise self._scores
        return self._scores


@pytest.fixture(autouse=True)
def calls():
    """How many calls of systems and judges there were since this was asked last."""
    System.calls = Judge.calls = 0

    def take():
        taken = System.calls, Judge.calls
        System.calls = Judge.calls = 0
        return taken

    return take


def run(folder, systems=None, data=DATA, evaluators=None, **settings):
    systems, evaluators = systems or [System()], evaluators or [Judge()]
    return evaluate(systems, data, evaluators, [MeanScore("judged")], cache_dir=folder, **settings)


def measured(result):
    """The rows without their latency, which another call does not repeat."""
    return [(row.example_id, row.response, row.scores, row.missing) for row in result.rows]


# -- what is found again -------------------------------------------------------------------------


def test_the_same_run_again_calls_nothing_and_has_the_same_rows(tmp_path, calls):
    first = run(tmp_path)
    assert calls() == (6, 6)
    again = run(tmp_path)
    assert calls() == (0, 0)
    assert (again.rows, again.summary) == (first.rows, first.summary)
    assert [row.cached for row in (*first.rows, *again.rows)] == [False] * 6 + [True] * 6
    (counts,) = again.counts().values()
    assert counts.cached == 6


def test_fresh_calls_everything_again_and_replaces_what_is_stored(tmp_path, calls):
    run(tmp_path, [System({"response": "Rome"})])
    run(tmp_path, fresh=True)
    assert calls() == (12, 12)
    assert [row.response for row in run(tmp_path).rows] == ["Paris"] * 6
    assert calls() == (0, 0)


def test_without_a_cache_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(None)
    assert list(tmp_path.iterdir()) == []


def test_a_new_evaluator_scores_stored_outputs_without_a_call(tmp_path, calls):
    run(tmp_path)
    calls()
    result = run(tmp_path, evaluators=[Judge(), AnswerQuality()])
    assert calls() == (0, 0)
    assert [row.scores["f1"] for row in result.rows] == [1.0] * 6


def test_equal_outputs_of_different_systems_share_their_scores(tmp_path):
    """An output is what an evaluator judges, whoever returned it."""
    run(tmp_path)
    run(tmp_path, [System(identity="another", name="another")])
    assert (stores.count(tmp_path), stores.count(tmp_path, "scores")) == (12, 6)


@pytest.mark.parametrize("settings", [{}, {"max_workers": 3}])
def test_examples_of_equal_content_share_what_is_stored(tmp_path, calls, settings):
    run(tmp_path, data=[{"context": "c"}])
    result = run(tmp_path, data=[{"context": "c"}] * 3, **settings)
    assert calls() == (1, 1)
    assert [row.cached for row in result.rows] == [True] * 3


def test_each_repeat_has_an_output_of_its_own(tmp_path, calls):
    run(tmp_path)
    assert [row.cached for row in run(tmp_path, repeats=2).rows] == [True, False] * 6
    assert [row.cached for row in run(tmp_path, repeats=2).rows] == [True] * 12
    assert calls() == (12, 12)


# -- what is not ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "output", [ValueError("no"), "text", {"context": 5}, {"response": {1, 2}}, {"n": object()}]
)
def test_failures_and_what_is_not_plain_data_are_called_again(tmp_path, calls, capsys, output):
    """The reason for what cannot be stored is reported once in each run."""
    is_error = isinstance(output, ValueError | str) or "context" in output
    for _ in range(2):
        result = run(tmp_path, [System(output)])
        assert [row.error is None for row in result.rows] == [not is_error] * 6
    assert calls()[0] == 12
    assert capsys.readouterr().err.count("Not stored: the output") == (0 if is_error else 2)


def test_an_example_that_is_not_plain_data_is_called_again_and_others_are_stored(tmp_path, calls):
    data = [{"id": 0, "context": "a", "of": {1, 2}}, *DATA[1:]]
    run(tmp_path, data=data)
    run(tmp_path, data=data)
    assert calls()[0] == 7


@pytest.mark.parametrize(
    ("scores", "is_stored"),
    [
        ({"judged": 1}, True),
        ({}, True),
        (Scored({"judged": 0.5}, details={"why": "so", "n": [1]}, cost={"calls": 1}), True),
        (Scored(MappingProxyType({"judged": 0.5})), True),
        (Scored({"judged": 0.5}, details=None), False),
        ({"judged": float("nan")}, False),
        ({"judged": None}, False),
        ({1: 0.5}, False),
        ([0.5], False),
        (Scored({"judged": 0.5}, {"other": "no answer"}), False),
        (MissingScoreError("no gold"), False),
        (ValueError("failed"), False),
    ],
)
def test_only_scores_that_come_back_as_they_were_are_stored(tmp_path, calls, scores, is_stored):
    first = run(tmp_path, evaluators=[Judge(scores)])
    again = run(tmp_path, evaluators=[Judge(scores)])
    assert calls() == (6, 6 if is_stored else 12)
    assert [(row.scores, row.missing) for row in again.rows] == [
        (row.scores, row.missing) for row in first.rows
    ]
    assert [row.metadata.get("judge") for row in again.rows] == [
        row.metadata.get("judge") for row in first.rows
    ]


def test_what_cannot_be_identified_is_stored_for_its_run_only(tmp_path, calls):
    """It can be looked at, and no other run takes it for its own."""
    for _ in range(2):
        result = run(tmp_path, [System(identity=threading.Lock())])
        assert [texts.output for texts in result.texts] == [{"response": "Paris"}] * 6
    assert calls()[0] == 12
    assert stores.count(tmp_path) == 12


# -- damage and secrets --------------------------------------------------------------------------

DAMAGE = "UPDATE {0} SET {1} = substr({1}, 1, length({1}) - 2) || 'x' || substr({1}, -1)"


@pytest.mark.parametrize(
    ("table", "column", "n_calls"),
    [
        ("outputs", "output", (6, 6)),
        ("outputs", "checksum", (6, 6)),
        ("scores", "scores", (0, 6)),
        ("examples", "content", (0, 0)),
    ],
)
def test_a_changed_byte_is_as_if_it_was_not_stored(tmp_path, calls, table, column, n_calls):
    """Neither a crash nor another number; the run after that finds all of it."""
    first = run(tmp_path)
    assert calls() == (6, 6)
    if column == "checksum":
        stores.query(tmp_path, f"UPDATE {table} SET checksum = checksum + 1")
    else:
        stores.query(tmp_path, DAMAGE.format(table, column))
    for expected in (n_calls, (0, 0)):
        assert measured(run(tmp_path)) == measured(first)
        assert calls() == expected


def test_a_changed_byte_in_a_long_text_is_mended_by_the_next_call(tmp_path, calls):
    """It is shared by all outputs that have it."""
    system = [System({"response": "Paris", "context": LONG})]
    first = run(tmp_path, system)
    stores.query(tmp_path, DAMAGE.format("texts", "content"))
    calls()
    assert measured(run(tmp_path, system)) == measured(first)
    assert 1 <= calls()[0] <= 6
    assert [texts.output["context"] for texts in run(tmp_path, system).texts] == [LONG] * 6
    assert calls() == (0, 0)


@pytest.mark.parametrize("value", ["5", '"text"', "[1]", "{", "", 7.5, b"\xff"])
@pytest.mark.parametrize(("column", "n_calls"), [("output", (6, 6)), ("scores", (0, 6))])
def test_a_value_that_is_something_else_is_as_if_it_was_not_stored(
    tmp_path, calls, column, n_calls, value
):
    """A file may come from anybody, with checksums that fit."""
    first = run(tmp_path)
    calls()
    table = "outputs" if column == "output" else column
    known = checksum(value) if isinstance(value, str) else 0
    stores.query(tmp_path, f"UPDATE {table} SET {column} = ?, checksum = ?", (value, known))
    assert measured(run(tmp_path)) == measured(first)
    assert calls() == n_calls


def test_a_secret_is_taken_out_of_what_is_stored_and_out_of_the_row(tmp_path, calls):
    """So that a resumed run has the same row."""
    remember("s3cret-value")
    output = {"response": "the s3cret-value", "deep": [{"s3cret-value": ["s3cret-value", 1]}]}
    scored = Scored({"judged": 0.5}, details={"why": "it said s3cret-value"})
    data = [{**DATA[0], "note": "s3cret-value"}, *DATA[1:]]
    first = run(tmp_path, [System(output)], data, [Judge(scored)])
    again = run(tmp_path, [System(output)], data, [Judge(scored)])
    assert calls() == (6, 6)
    assert again.rows == first.rows
    assert again.rows[0].response == "the ***"
    assert again.texts[0].output["deep"] == [{"***": ["***", 1]}]
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"s3cret-value" not in written


def test_an_output_that_is_changed_after_it_was_returned_is_stored_as_it_was(tmp_path):
    """Some systems fill one and the same object again."""

    class Reusing(System):
        def process(self, example):
            self._output.clear()
            self._output["response"] = f"of {example['id']}"
            return self._output

    run(tmp_path, [Reusing()])
    assert [row.response for row in run(tmp_path, [Reusing()]).rows] == [
        f"of {i}" for i in range(6)
    ]


def test_an_output_too_large_to_be_stored_costs_only_that(tmp_path, monkeypatch, calls, capsys):
    """SQLite would refuse its whole batch."""
    monkeypatch.setattr(database, "_LARGEST_VALUE", 1000)
    for n_calls in (6, 1):
        systems = [Large(identity="large")]
        result = run(tmp_path, systems)
        assert calls()[0] == n_calls
        assert [row.error for row in result.rows] == [None] * 6
        assert "the output for example 3 (" in capsys.readouterr().err


class Large(System):
    def process(self, example):
        super().process(example)
        return {"response": "Paris" * (1000 if example["id"] == 3 else 1)}
