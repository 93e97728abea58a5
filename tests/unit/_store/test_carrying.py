"""Runs carried from one store to another."""

from __future__ import annotations

import sqlite3

import pytest

from cbcore import evaluate
from cbcore._store import carrying
from cbcore._store.batches import packed
from cbcore._store.carrying import export_run, import_run
from cbcore._store.database import INSERT_BATCH
from cbcore._store.reading import Reader, kept_rows
from cbcore._store.shelf import Written
from cbcore._store.store import Store
from cbcore._store.sweeping import remove_runs
from cbcore.api import rescore
from cbcore.exceptions import UsageError
from cbcore.kept import exported_run, find_kept, kept_runs
from cbcore.plugins import default_catalog


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


DATA = [{"id": i, "question": f"What is {i}?", "answer": str(i)} for i in range(5)]


def exported(folder):
    """A run that was written to a file."""
    evaluate([Echo()], DATA, cache_dir=folder / "store", progress=False)
    run = find_kept("latest", folder / "store")
    export_run(run.path, run.record, folder / "run.cbrun")
    return exported_run(folder / "run.cbrun")


def test_an_import_that_was_killed_leaves_nothing_that_counts_twice(tmp_path, monkeypatch):
    """A run is there with all of its rows or not at all, so that the next attempt has each once."""
    run, here = exported(tmp_path), tmp_path / "here"

    def killed(*arguments):
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(carrying.Store, "write_run", killed)
        with pytest.raises(SystemExit):
            import_run(run.path, run.record, here)
    assert kept_runs(here) == []
    import_run(run.path, run.record, here)
    assert len(find_kept("latest", here).rows()) == len(DATA)


def test_a_file_adds_no_rows_to_another_run(tmp_path):
    """Whatever shelves it names."""
    run, here = exported(tmp_path), tmp_path / "here"
    evaluate([Echo()], DATA, cache_dir=here, progress=False)
    mine = find_kept("latest", here)
    shelves = mine.record.manifest["places"]["rows"]
    (part,) = kept_rows(Reader(run.path), run.record).values()
    database = sqlite3.connect(run.path)
    rows = packed(b"r" + bytes.fromhex(shelves["echo"]), list(carrying._rows(part)))
    database.executemany(INSERT_BATCH, list(rows))
    database.commit()
    database.close()
    run.record.manifest["places"]["rows"] = shelves
    import_run(run.path, run.record, here)
    assert len(mine.rows()) == len(DATA)


def test_outputs_of_a_stranger_are_recalled_by_nobody(tmp_path):
    """They are those of the run that came with them; one that is vouched for is as one's own."""
    run = exported(tmp_path)
    for trusted, recalled in ((False, 0), (True, len(DATA))):
        here = tmp_path / f"here {trusted}"
        import_run(run.path, run.record, here, trusted=trusted)
        result = evaluate([Echo()], DATA, cache_dir=here, progress=False)
        assert sum(row.recalled for row in result.rows) == recalled
        texts = find_kept(run.run_id, here).result().texts
        assert [text.output for text in texts] == [text.output for text in result.texts]


def test_the_texts_of_an_imported_run_outlive_others(tmp_path):
    """Removing a run of the same system and data takes nothing of it."""
    run, here = exported(tmp_path), tmp_path / "here"
    mine = evaluate([Echo()], DATA, cache_dir=here, progress=False).config["run_id"]
    import_run(run.path, run.record, here)
    store = Store(here)
    remove_runs(store, {mine})
    store.close()
    assert all(text.output for text in find_kept(run.run_id, here).result().texts)


def test_what_an_imported_run_names_is_not_read(tmp_path):
    """Its data may be code; unless somebody vouched for the file."""
    run, here = exported(tmp_path), tmp_path / "here"
    run.record.manifest["untrusted"] = False  # as a stranger's file may say
    import_run(run.path, run.record, here)
    kept = find_kept(run.run_id, here)
    with pytest.raises(UsageError, match="not read unseen"):
        rescore(kept.record, ["answer_quality"], cache_dir=here, catalog=default_catalog())


def test_rows_that_were_damaged_are_carried_as_such(tmp_path):
    """None is lost on the way without a word."""
    evaluate([Echo()], DATA, cache_dir=tmp_path / "store", progress=False)
    run = find_kept("latest", tmp_path / "store")
    database = sqlite3.connect(run.path)
    database.execute("UPDATE batches SET checksum = 7 WHERE substr(shelf, 1, 1) = x'72'")
    database.commit()
    database.close()
    export_run(run.path, run.record, tmp_path / "run.cbrun")
    rows = exported_run(tmp_path / "run.cbrun").rows()
    assert [row.error for row in rows] == ["this row was damaged in the store"] * len(DATA)


@pytest.mark.parametrize("sort", [b"o", b"e", b"r"], ids=["outputs", "examples", "rows"])
@pytest.mark.parametrize("value", [b"5\n", b"[1]", b"{", b""])
def test_a_file_that_holds_anything_is_read_searched_and_removed(tmp_path, sort, value):
    """Its checksums are right: what it says is what cannot be. Nothing of it stops anybody."""
    run = exported(tmp_path)
    database = sqlite3.connect(run.path)
    query = "SELECT id, shelf, keys FROM batches WHERE substr(shelf, 1, 1) = ?"
    for number, shelf, keys in database.execute(query, (sort,)).fetchall():
        pairs = [(keys[start : start + 16], value) for start in range(0, len(keys), 16)]
        database.execute("DELETE FROM batches WHERE id = ?", (number,))
        database.executemany(INSERT_BATCH, packed(shelf, pairs))
    database.commit()
    database.close()
    import_run(run.path, run.record, tmp_path / "here")
    result = find_kept(run.run_id, tmp_path / "here").result()
    assert len(result.rows) == len(result.texts) == len(DATA)
    assert all(texts.output is None for texts in result.texts) is (sort != b"r")
    found = result.texts.places_with("what", lambda value: "What is 3?" in str(value))
    assert list(found) == [3]
    store = Store(tmp_path / "here")
    remove_runs(store, {run.run_id})
    store.close()
    assert kept_runs(tmp_path / "here") == []
