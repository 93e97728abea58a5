"""Outputs, scores and rows through the store: nothing of what a system returned is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbcore import evaluate
from cbcore._run.keeping import Keeping
from cbcore._run.memo import Memo
from cbcore._run.parts import Part
from cbcore._run.rows import RowMaker
from cbcore._run.scorers import Outcome, Scorer
from cbcore._run.work import number
from cbcore._store.store import Store
from cbcore.secrets import forget_all, remember
from cbcore.tokens import TokenCounter, Words
from tests.stores import values_in

EXAMPLE = {"id": 7, "context": "where it stands", "answer": "Paris", "response": "of old"}


class Evaluator:
    name = "evaluator"
    emits = ("s",)

    def __init__(self, name="evaluator"):
        self.name = name


SCORER, OTHER = Scorer.of(Part(Evaluator())), Scorer.of(Part(Evaluator("other")))


def made(store, system=b"system" * 3, scorers=((SCORER, b"evaluator" * 2), (OTHER, b"other" * 4))):
    places = Keeping(store).places("system", system, "d")
    return Memo(store, places, scorers, warn=lambda message: None)


def learn(memo, output, scores, *, examples=(EXAMPLE,), repeats=1):
    """The rows that a run makes of a system which returns this at once."""
    rows = RowMaker("system", TokenCounter(Words()), scorers=[SCORER, OTHER])
    found = []
    for work in memo.recall(number(examples, "d", repeats=repeats)):
        outcome = Outcome(work, output, 0.25, scores=list(scores))
        found.append(memo.row(outcome, rows.row))
    return found


def recalled(store, examples=(EXAMPLE,), **options):
    """What a later run finds."""
    return [work.recalled for work in made(store, **options).recall(number(examples, "d"))]


@pytest.fixture
def store(tmp_path):
    opened = Store(tmp_path)
    yield opened
    opened.close()
    forget_all()


ANSWER = {**EXAMPLE, "response": "Paris"}
OUTPUTS = {
    "an answer": (ANSWER, [(SCORER, {"s": 1.0, "t": 0.5})]),
    "the answer alone": ({"response": "Paris"}, [(SCORER, {"s": 1.0})]),
    "whole numbers as scores": (ANSWER, [(SCORER, {"s": 1, "t": True})]),
    "the example as it was": (dict(EXAMPLE), [(SCORER, {"s": 0.0})]),
    "nothing": ({}, [(SCORER, {})]),
    "a text that was cut": ({**ANSWER, "context": "where"}, [(SCORER, {"s": 1.0})]),
    "notes": ({**ANSWER, "metadata": {"n": 1}}, [(SCORER, {"s": 1.0})]),
    "an answer that is no text": ({**EXAMPLE, "response": 7}, [(SCORER, {"s": 1.0})]),
    "no answer": ({**EXAMPLE, "response": None}, [(SCORER, {"s": 1.0})]),
    "a number of another kind": ({**ANSWER, "id": 7.0}, [(SCORER, {"s": 1.0})]),
    "two evaluators": (ANSWER, [(SCORER, {"s": 1.0}), (OTHER, {"u": 0.0})]),
    "one score by two": (ANSWER, [(SCORER, {"s": 1.0}), (OTHER, {"s": 0.0})]),
    "no evaluator": (ANSWER, []),
}


@pytest.mark.parametrize("case", OUTPUTS)
def test_what_was_returned_and_given_is_recalled(store, case):
    """Every value with its type."""
    output, scores = OUTPUTS[case]
    learn(made(store), output, scores)
    (found,) = recalled(store)
    assert found.output() == output
    assert {key: type(value) for key, value in found.output().items()} == {
        key: type(value) for key, value in output.items()
    }
    assert found.scores == {scorer.key: told for scorer, told in scores}
    assert found.latency == 0.25


values = st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from([0.5, "Paris", "x"])
outputs = st.dictionaries(st.sampled_from(["id", "context", "response", "note"]), values)
scores = st.dictionaries(st.sampled_from("st"), st.floats(allow_nan=False, allow_infinity=False))


@given(outputs, st.lists(scores, max_size=2))
def test_anything_that_is_returned_is_recalled(tmp_path_factory, output, given):
    """Of every type as it was, with the scores of each evaluator."""
    store = Store(tmp_path_factory.mktemp("store"))
    told = list(zip([SCORER, OTHER], given, strict=False))
    try:
        learn(made(store), output, told)
        (found,) = recalled(store)
    finally:
        store.close()
    assert repr(sorted(found.output().items())) == repr(sorted(output.items()))
    assert found.scores == {scorer.key: of_it for scorer, of_it in told}


def test_an_output_is_found_before_it_is_written(store, tmp_path):
    """By an equal system that is at work at the same time."""
    one, other = made(store), made(store)
    learn(one, ANSWER, [(SCORER, {"s": 1.0})])
    assert values_in(tmp_path / "store.sqlite3", "outputs") == []
    other._is_known = True
    (work,) = other.recall(number([EXAMPLE], "d"))
    assert work.recalled.output() == ANSWER


def test_each_repeat_has_its_own_output(store):
    """Which is not at the address of the example."""
    learn(made(store), ANSWER, [(SCORER, {"s": 1.0})], repeats=3)
    again = made(store).recall(number([EXAMPLE], "d", repeats=3))
    assert [work.recalled.output() for work in again] == [ANSWER] * 3


def test_a_secret_that_is_known_is_in_neither(store, tmp_path):
    """The output is stored without it, and so is the row."""
    remember("s3cret-value")
    learn(made(store), {**EXAMPLE, "response": "s3cret-value"}, [(SCORER, {"s": 1.0})])
    store.commit()
    path = tmp_path / "store.sqlite3"
    stored = values_in(path, "rows") + values_in(path, "outputs")
    assert len(stored) == 2
    assert not any(b"s3cret-value" in value for value in stored)
    assert recalled(store)[0].output()["response"] == "***"


class Reusing:
    """A system that returns one and the same object, each time filled anew."""

    name = "reusing"

    def __init__(self):
        self._output = {}

    def process(self, example):
        self._output.clear()
        self._output.update(example, response=f"said of {example['id']}")
        return self._output


class Same:
    """An evaluator that does so."""

    name = "same"
    emits = ("n",)

    def __init__(self):
        self._scores = {}

    def score(self, original, processed):
        self._scores["n"] = float(original["id"])
        return self._scores


def test_what_is_changed_after_it_was_returned_is_stored_as_it_was(tmp_path):
    """Rows wait for others before they are written."""
    data = [{"id": i, "context": "c"} for i in range(50)]

    def run():
        options = {"evaluators": [Same()], "cache_dir": tmp_path, "progress": False}
        return evaluate(systems=[Reusing()], dataset=data, **options)

    run()
    again = run()
    assert all(row.recalled for row in again.rows)
    assert [row.response for row in again.rows] == [f"said of {i}" for i in range(50)]
    assert [row.scores["n"] for row in again.rows] == list(map(float, range(50)))
    assert [t.output["response"] for t in again.texts] == [f"said of {i}" for i in range(50)]
