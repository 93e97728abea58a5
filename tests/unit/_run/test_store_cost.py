"""What a row costs a run that stores it, counted: seconds would say how busy the machine is."""

from __future__ import annotations

from collections import Counter

import pytest

from cbcore import evaluate, identity
from cbcore._run import attempts, keeping, memo
from cbcore._store import outputs as written
from cbcore._store import rows
from cbcore.plain._bytes import each_as_line
from tests.stores import values_in

N = 600
EACH = {identity.content_keys: "content_key", each_as_line: "plain_line"}
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


@pytest.fixture
def counted(monkeypatch):
    """How often a run turned data into bytes, and bytes into a digest."""
    monkeypatch.setattr(attempts, "WORTH_SAVING_S", 60.0)  # however busy the machine is
    calls = Counter()

    def counting(name, function):
        def called(*args):
            calls[name] += 1
            return function(*args)

        return called

    def counting_each(function):
        def called(values, **options):
            made = function(values, **options)
            name = EACH.get(function, "plain_bytes")
            calls["canonical_bytes" if options.get("canonical") else name] += len(made)
            return made

        return called

    for module in (memo, keeping, written, rows):
        for name in ("each_as_bytes", "each_as_line", "content_keys"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, counting_each(getattr(module, name)))
        for name in ("canonical_bytes", "plain_bytes", "plain_line", "content_key"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, counting(name, getattr(module, name)))
    return calls


def run(folder, *names):
    systems = [Quick(name) for name in names]
    return evaluate(systems=systems, dataset=DATA, evaluators=[Exact()], cache_dir=folder)


def test_a_row_is_few_values_each_written_once(tmp_path, counted):
    """The example, and the row with its output and the scores; and of these one digest."""
    run(tmp_path, "one")
    assert counted["canonical_bytes"] == N  # the example
    assert counted["plain_line"] == N  # the row
    assert counted["plain_bytes"] == 0
    assert N <= counted["content_key"] <= N + 2  # the example, and the shelf of its dataset
    path = tmp_path / "store.sqlite3"
    found = {sort: len(values_in(path, sort)) for sort in ("examples", "outputs", "scores", "rows")}
    assert found == {"examples": N, "outputs": N, "scores": 0, "rows": N}


def test_an_output_that_says_more_than_its_row_is_one_value(tmp_path, counted, monkeypatch):
    """With the scores, beside the row; whether a row could carry it is asked now and then."""
    tried = counted_calls(monkeypatch, memo.Memo, "_beside")
    process = Quick.process
    monkeypatch.setattr(Quick, "process", lambda self, e: {**process(self, e), "context": "cut"})
    run(tmp_path, "one")
    assert counted["plain_line"] == N  # the output with the scores
    assert counted["plain_bytes"] == N  # the row
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


def test_a_second_system_adds_no_example(tmp_path, counted):
    """What a dataset holds is stored once."""
    run(tmp_path, "one", "other")
    path = tmp_path / "store.sqlite3"
    found = {sort: len(values_in(path, sort)) for sort in ("examples", "outputs", "scores", "rows")}
    assert found == {"examples": N, "outputs": 2 * N, "scores": 0, "rows": 2 * N}


def test_what_is_read_back_is_not_written_again(tmp_path, counted):
    """But for the rows, which are those of the new run."""
    run(tmp_path, "one")
    counted.clear()
    again = run(tmp_path, "one")
    assert all(row.recalled for row in again.rows)
    assert counted["canonical_bytes"] == N
    assert counted["plain_bytes"] == N
    assert N <= counted["content_key"] <= N + 2
