"""Saved runs: listed, found by name, exported, imported and removed."""

from __future__ import annotations

import pytest

from cb_metrics import MeanScore
from cbcore import evaluate
from cbcore.exceptions import ResultError, StoreError, UsageError
from cbcore.store.database import LONG_TEXT, Store
from cbcore.store.saved_runs import find_run, find_saved, list_runs
from cbcore.store.transfer import export_run, import_run, remove_runs
from tests import stores

LONG = "long " * LONG_TEXT
TABLES = ("runs", "rows", "outputs", "scores", "examples", "texts")


class System:
    identity = "system"
    calls = 0

    def __init__(self, name="system"):
        self.name = name

    def process(self, example):
        System.calls += 1
        return {"response": f"Paris {self.name}", "context": f"{self.name} {LONG}"}


class Fits:
    name, identity, emits = "fits", "fits", ("fits",)

    def score(self, original, processed):
        return {"fits": 0.5}


class Other(System):
    identity = "other"


def run(folder, system=None, n_examples=3):
    data = [{"id": i, "context": f"{i} {LONG}", "answer": "Paris"} for i in range(n_examples)]
    systems = [system or System()]
    return evaluate(systems, data, [Fits()], [MeanScore("fits")], cache_dir=folder, progress=False)


def count(folder):
    return {table: stores.count(folder, table) for table in TABLES}


def test_a_list_of_runs_reads_no_results(tmp_path):
    """They may be large, and a list shows counts and scores only."""
    run(tmp_path)
    stores.query(tmp_path, "UPDATE runs SET result = NULL")
    (saved,) = list_runs(tmp_path)
    assert saved.outcome == {
        "counts": {"total": 3, "ok": 3, "failed": 0, "cached": 0},
        "scores": {"system": 0.5},
    }
    assert saved.document() is None


def test_a_run_is_found_by_its_id_its_beginning_and_its_age(tmp_path):
    for _ in range(2):
        run(tmp_path)
    new, old = list_runs(tmp_path)
    names = ("latest", "latest~1", new.run_id, old.run_id)
    assert [find_saved(text, tmp_path).run_id for text in names] == [new.run_id, old.run_id] * 2
    for text, problem in [("latest~2", "There is no run"), ("2", "is the beginning of 2 runs")]:
        with pytest.raises(UsageError, match=problem):
            find_saved(text, tmp_path)
    with pytest.raises(ResultError, match="There is no file"):
        find_run("absent.json", tmp_path)


@pytest.mark.parametrize("is_trusted", [True, False])
def test_an_exported_run_is_the_same_elsewhere_and_fills_the_cache_if_it_is_trusted(
    tmp_path, is_trusted
):
    here, there, file = tmp_path / "here", tmp_path / "there", tmp_path / "run.cb"
    run(here, Other("another"))
    result = run(here)
    export_run(find_saved("latest", here), file)
    assert not file.with_name("run.cb-wal").exists()
    exported = find_run(str(file), here)
    assert exported.result().to_dict() == result.to_dict()
    import_run(exported, there, is_trusted=is_trusted)
    assert count(there) == {**dict.fromkeys(TABLES, 3), "runs": 1, "scores": 3, "texts": 4}
    saved = find_saved("latest", there)
    assert saved.origin == ("trusted" if is_trusted else "imported")
    assert saved.result().to_dict() == result.to_dict()
    assert list(saved.result().texts) == list(result.texts)
    with pytest.raises(UsageError, match="already"):
        import_run(exported, there)
    System.calls = 0
    run(there)
    assert System.calls == (0 if is_trusted else 3)


def test_changed_examples_and_texts_of_a_file_are_left_out(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    run(here)
    stores.query(here, "UPDATE examples SET content = replace(content, 'Paris', 'Rome')")
    stores.query(here, "UPDATE texts SET content = 'changed' WHERE content LIKE 'system%'")
    import_run(find_saved("latest", here), there)
    assert (count(there)["examples"], count(there)["texts"]) == (0, 3)


def test_a_damaged_file_is_refused_and_nothing_is_taken(tmp_path):
    here, there, file = tmp_path / "here", tmp_path / "there", tmp_path / "run.cb"
    run(here, n_examples=20)
    export_run(find_saved("latest", here), file)
    exported = find_run(str(file), here)
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    with pytest.raises(StoreError, match=r"run\.cb cannot be"):
        import_run(exported, there)
    assert not (there / stores.FILE).exists() or set(count(there).values()) == {0}


def test_removing_a_run_removes_what_no_other_run_needs(tmp_path):
    run(tmp_path, Other("another"))
    kept = count(tmp_path)
    run(tmp_path)
    assert count(tmp_path)["texts"] == 5
    gone = {find_saved("latest", tmp_path).run_id}
    freed = remove_runs(tmp_path, gone, is_dry=True)
    assert freed > 0
    assert count(tmp_path)["runs"] == 2
    assert remove_runs(tmp_path, gone) == freed
    assert count(tmp_path) == kept
    stores.check(tmp_path)


def test_outputs_of_a_run_that_can_be_resumed_stay(tmp_path):
    run(tmp_path)
    run(tmp_path)
    (first, second) = reversed(list_runs(tmp_path))
    first.recorded_state = "interrupted"
    store = Store(tmp_path)
    first.save(store)
    store.close()
    stores.query(tmp_path, "DELETE FROM rows")
    remove_runs(tmp_path, {second.run_id})
    assert count(tmp_path)["outputs"] == 3
    remove_runs(tmp_path, {first.run_id})
    assert set(count(tmp_path).values()) == {0}


def test_removing_runs_while_one_of_this_process_goes_on_takes_nothing_of_it(tmp_path):
    """Its rows come later than its outputs and examples."""
    run(tmp_path, Other("another"))
    gone = {saved.run_id for saved in list_runs(tmp_path)}

    class Removing(System):
        identity = "removing"

        def process(self, example):
            if example["id"] == 1:
                remove_runs(tmp_path, gone)
            return super().process(example)

    run(tmp_path, Removing())
    assert count(tmp_path)["examples"] == 3
    stores.check(tmp_path)
