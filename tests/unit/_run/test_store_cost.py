"""What a row costs a run that stores it, counted: seconds would say how busy the machine is."""

from __future__ import annotations

from cbcore import evaluate
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


def run(folder, *names):
    systems = [Quick(name) for name in names]
    return evaluate(systems=systems, dataset=DATA, evaluators=[Exact()], cache_dir=folder)


def test_a_row_is_few_values_each_written_once(tmp_path):
    """The example, the output, the scores of an evaluator, and the row."""
    run(tmp_path, "one")
    path = tmp_path / "store.sqlite3"
    found = {sort: len(values_in(path, sort)) for sort in ("examples", "outputs", "scores", "rows")}
    assert found == {"examples": N, "outputs": N, "scores": N, "rows": N}


def test_a_second_system_adds_no_example(tmp_path):
    """What a dataset holds is stored once."""
    run(tmp_path, "one", "other")
    path = tmp_path / "store.sqlite3"
    found = {sort: len(values_in(path, sort)) for sort in ("examples", "outputs", "scores", "rows")}
    assert found == {"examples": N, "outputs": 2 * N, "scores": 2 * N, "rows": 2 * N}
