"""What a row costs a run that stores it, counted: seconds would say how busy the machine is."""

from __future__ import annotations

import pytest

from cbcore import evaluate
from cbcore._run import attempts, memo
from tests.stores import values_in

N = 600
DATA = [{"id": i, "context": f"c {i}", "answer": "Paris"} for i in range(N)]


class Quick:
    def __init__(self, name):
        self.name = name

    def process(self, example):
        return {**example, "response": f"{example['id']} by {self.name}"}


class Exact:
    name = "exact"
    emits = ("exact",)

    def score(self, original, processed):
        return {"exact": float(original["answer"] == processed["response"])}


@pytest.fixture(autouse=True)
def _quick_calls(monkeypatch):
    """Calls are quick, however busy the machine is."""
    monkeypatch.setattr(attempts, "WORTH_SAVING_S", 60.0)


def run(folder, *names):
    systems = [Quick(name) for name in names]
    return evaluate(systems=systems, dataset=DATA, evaluators=[Exact()], cache_dir=folder)


def test_a_row_is_few_values_each_written_once(tmp_path):
    """The example, and the row with its output and the scores."""
    run(tmp_path, "one")
    path = tmp_path / "store.sqlite3"
    found = {sort: len(values_in(path, sort)) for sort in ("examples", "outputs", "scores", "rows")}
    assert found == {"examples": N, "outputs": N, "scores": 0, "rows": N}


def test_an_output_that_says_more_than_its_row_is_one_value(tmp_path, monkeypatch):
    """With the scores, beside the row; whether a row could carry it is asked now and then."""
    tried = counted_calls(monkeypatch, memo.Memo, "_beside")
    process = Quick.process
    monkeypatch.setattr(Quick, "process", lambda self, e: {**process(self, e), "context": "cut"})
    run(tmp_path, "one")
    assert len(tried) < N / 50
    path = tmp_path / "store.sqlite3"
    assert (len(values_in(path, "outputs")), len(values_in(path, "rows"))) == (N, N)


def counted_calls(monkeypatch, owner, name):
    calls, function = [], getattr(owner, name)

    def called(*args):
        calls.append(args)
        return function(*args)

    monkeypatch.setattr(owner, name, called)
    return calls


def test_a_second_system_adds_no_example(tmp_path):
    """What a dataset holds is stored once."""
    run(tmp_path, "one", "other")
    path = tmp_path / "store.sqlite3"
    found = {sort: len(values_in(path, sort)) for sort in ("examples", "outputs", "scores", "rows")}
    assert found == {"examples": N, "outputs": 2 * N, "scores": 0, "rows": 2 * N}
