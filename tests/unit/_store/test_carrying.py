"""Runs carried from one store to another."""

from __future__ import annotations

from cbcore import evaluate
from cbcore._store.carrying import export_run
from cbcore._store.shelf import Written
from cbcore.kept import exported_run, find_kept


class Echo:
    name = "echo"

    def process(self, example):
        return {"response": example["question"]}


def test_a_run_is_carried_in_the_order_it_was_written(tmp_path, monkeypatch):
    """Every batch is unpacked a few times, not once for each of its values."""
    data = [{"id": i, "question": f"What is {i}?", "answer": str(i)} for i in range(3_000)]
    evaluate([Echo()], data, cache_dir=tmp_path / "store", progress=False)
    run = find_kept("latest", tmp_path / "store")
    reads = []
    read = Written._read
    monkeypatch.setattr(Written, "_read", lambda self, n: reads.append(n) or read(self, n))
    export_run(run.path, run.record, tmp_path / "run.cbrun")
    assert len(reads) < 100
    assert exported_run(tmp_path / "run.cbrun").result() == run.result()


def test_repeats_are_carried_with_their_outputs(tmp_path):
    """The output of a repeat has an address of its own."""
    data = [{"id": i, "question": f"What is {i}?", "answer": str(i)} for i in range(5)]
    whole = evaluate([Echo()], data, repeats=3, cache_dir=tmp_path / "store", progress=False)
    run = find_kept("latest", tmp_path / "store")
    export_run(run.path, run.record, tmp_path / "run.cbrun")
    carried = exported_run(tmp_path / "run.cbrun").result()
    assert [texts.output for texts in carried.texts] == [texts.output for texts in whole.texts]
