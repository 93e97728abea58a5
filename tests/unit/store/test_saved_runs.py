"""Saved runs: found by how people name them, reloaded as they were, exported and removed."""

from __future__ import annotations

import pytest

from cb_answerquality import AnswerQuality
from cb_metrics import MeanScore
from cbcore import evaluate
from cbcore.api import open_run, rescore
from cbcore.exceptions import ResultError, UsageError
from cbcore.plugins import default_catalog
from cbcore.store.saved_runs import find_run, find_saved, list_runs
from cbcore.store.transfer import export_run, import_run, remove_runs
from tests.stores import FILE, count, query

DATA = [
    {"id": f"e{i}", "question": f"Which is number {i}?", "context": f"c{i} " * 9, "answer": "Paris"}
    for i in range(12)
]


DAMAGED = "this row was damaged in the store"


class Cutting:
    """A system that drops a part of the context, and fails on one example."""

    def __init__(self, words=3, name="cutting", failing=None):
        self.words, self.name, self.failing = words, name, failing

    def process(self, example):
        if example["id"] == self.failing:
            raise ValueError("no luck")
        kept = " ".join(example["context"].split()[: self.words])
        return {"context": kept, "response": "Paris" if self.words > 3 else "Rome"}


def run(folder, systems=None, data=DATA, **settings):
    systems = systems or [Cutting(6, "six"), Cutting(2, "a two", failing="e4")]
    return evaluate(
        systems,
        data,
        [AnswerQuality()],
        [MeanScore()],
        cache_dir=folder,
        progress=False,
        **settings,
    )


@pytest.mark.parametrize("rows", ["memory", "disk"])
def test_a_saved_run_is_the_result_that_it_was(tmp_path, rows):
    """Rows, order of systems, summary, intervals, verdicts, sections."""
    result = run(tmp_path, rows=rows)
    again = open_run("latest", tmp_path)
    assert again.to_dict() == result.to_dict()
    assert again.systems == ["six", "a two"]
    assert list(again.rows) == list(result.rows)


@pytest.mark.parametrize("opened", [False, True])
def test_texts_are_those_of_the_row(tmp_path, opened):
    """The example as it was given, and all that the system returned; None where it failed."""
    result = run(tmp_path)
    if opened:
        result = open_run("latest", tmp_path)
    assert len(result.texts) == len(result.rows) == 24
    for row, texts in zip(result.rows, result.texts, strict=True):
        (example,) = [e for e in DATA if e["id"] == row.example_id]
        assert texts.example == example
        if row.error is not None:
            assert (row.example_id, texts.output) == ("e4", None)
            continue
        words = 6 if row.system == "six" else 2
        assert texts.output["context"] == " ".join(example["context"].split()[:words])
        assert texts.output["response"] == row.response


def test_examples_stand_side_by_side_in_a_saved_run(tmp_path):
    """As a report shows them."""
    run(tmp_path)
    example = list(open_run("latest", tmp_path).examples())[7]
    assert example.given == DATA[7]
    assert len(example.output("six")["context"]) > len(example.output("a two")["context"])


def test_repeats_have_outputs_of_their_own(tmp_path):
    """The second try at an example is not shown with the first one's answer."""

    class Counting:
        name = "counting"
        identity = "counting"
        calls = 0

        def process(self, example):
            Counting.calls += 1
            return {"response": f"call {Counting.calls}"}

    result = run(tmp_path, [Counting()], DATA[:3], repeats=2)
    assert [t.output["response"] for t in result.texts] == [r.response for r in result.rows]
    again = open_run("latest", tmp_path)
    assert [t.output["response"] for t in again.texts] == [f"call {i}" for i in range(1, 7)]


def test_examples_are_stored_once_for_all_systems_and_runs(tmp_path):
    """By their content: a changed example is another."""
    run(tmp_path)
    run(tmp_path, [Cutting(4, "four")])
    assert count(tmp_path, "examples") == 12
    run(tmp_path, [Cutting(4, "four")], [{**DATA[3], "answer": "Rome"}, *DATA[:3]])
    assert count(tmp_path, "examples") == 13


def test_without_examples_no_text_is_on_the_disk(tmp_path):
    """Neither of the data nor of what a system made of it; the numbers are."""
    result = run(tmp_path, no_examples=True)
    assert result.config["settings"]["no_examples"] is True
    assert result.texts is None
    again = open_run("latest", tmp_path)
    assert again.texts is None
    assert [row.scores for row in again.rows] == [row.scores for row in result.rows]
    assert {row.response for row in again.rows} == {None}
    for table in ("outputs", "examples", "scores", "texts"):
        assert count(tmp_path, table) == 0
    assert "Paris" not in str(query(tmp_path, "SELECT * FROM rows"))


@pytest.mark.parametrize("odd", [{}, {"when": object()}, {"large": 10**700}])
def test_without_examples_the_numbers_noted_beside_a_row_are_kept(tmp_path, odd):
    """Texts and other things are not, nor does one that cannot be written cost the rest."""
    noted = {"n": 3, "cost_usd": 0.5, "is_short": True, "said": "Paris", **odd}

    class Noting(Cutting):
        def process(self, example):
            return {**super().process(example), "metadata": noted}

    run(tmp_path, [Noting(4, "four")], no_examples=True)
    stored = open_run("latest", tmp_path).rows[0].metadata
    assert stored == {"n": 3, "cost_usd": 0.5, "is_short": True}


def test_a_system_without_identity_is_stored_too(tmp_path):
    """None of its outputs is reused, and all of them can be seen."""

    class Typed(Cutting):
        identity_files = ("absent.txt",)

    for _ in range(2):
        result = run(tmp_path, [Typed(6)])
        assert not any(row.cached for row in result.rows)
    texts = open_run("latest~1", tmp_path).texts
    assert [one.output["response"] for one in texts] == ["Paris"] * 12


# -- how a run is named ------------------------------------------------------------------------


def test_a_run_is_named_by_its_id_a_beginning_or_its_age(tmp_path):
    """The newest is `latest`; what only one id begins with will do."""
    ids = [run(tmp_path, [Cutting(n, "cut")]).config["run_id"] for n in (1, 2, 3)]
    assert [saved.run_id for saved in list_runs(tmp_path)] == ids[::-1]
    assert find_saved("latest", tmp_path).run_id == ids[2]
    assert find_saved("latest~2", tmp_path).run_id == ids[0]
    assert find_saved(ids[1], tmp_path).run_id == ids[1]
    assert find_saved(ids[1][:-1], tmp_path).run_id == ids[1]


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("latest~3", "There is no run 'latest~3'"),
        ("20", "is the beginning of 2 runs"),
        ("nothing", "There is no run 'nothing'"),
    ],
)
def test_a_run_that_is_not_there_is_refused(tmp_path, named, told):
    """With what there is instead."""
    for n in (1, 2):
        run(tmp_path, [Cutting(n, "cut")])
    with pytest.raises(UsageError, match=told):
        find_saved(named, tmp_path)


def test_a_file_that_is_no_result_is_refused(tmp_path):
    """As one, whatever is in it."""
    path = tmp_path / "r.cbrun"
    path.write_bytes(b"SQLite format 3\0" + b"x" * 200)
    with pytest.raises(Exception, match=r"r\.cbrun"):
        open_run(str(path), tmp_path)
    with pytest.raises(ResultError, match="There is no file"):
        open_run(str(tmp_path / "none.json"), tmp_path)


# -- exported and removed ----------------------------------------------------------------------


def test_an_exported_run_is_opened_like_a_saved_one(tmp_path):
    """From one file, and from the store that took it over; nothing of other runs is in it."""
    result = run(tmp_path / "here", repeats=2)
    run(tmp_path / "here", [Cutting(5, "other")], [{**DATA[0], "id": "elsewhere"}])
    path = tmp_path / "r.cbrun"
    export_run(find_saved(result.config["run_id"], tmp_path / "here"), path)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["r.cbrun"]
    assert b"elsewhere" not in path.read_bytes()
    opened = open_run(str(path), tmp_path / "nowhere")
    exported = find_run(str(path), tmp_path / "nowhere")
    import_run(exported, tmp_path / "there")
    for other in (opened, open_run("latest", tmp_path / "there")):
        assert other.to_dict() == result.to_dict()
        assert list(other.texts) == list(result.texts)
    with pytest.raises(UsageError, match="already") as refused:
        import_run(exported, tmp_path / "there")
    # Pasted, it must not remove the run of that id from the store that is used otherwise.
    assert f"--cache-dir {tmp_path / 'there'}" in refused.value.hint


def export(folder, **settings):
    """A run that was written to a file."""
    run(folder / "store", [Cutting(6, "six")], **settings)
    export_run(find_saved("latest", folder / "store"), folder / "r.cbrun")
    return find_run(str(folder / "r.cbrun"), folder / "nowhere")


@pytest.mark.parametrize(("is_trusted", "n_cached"), [(False, 0), (True, len(DATA))])
def test_outputs_of_an_imported_run_are_reused_only_if_it_is_trusted(
    tmp_path, is_trusted, n_cached
):
    """They are those of the run that came with them either way."""
    exported, here = export(tmp_path), tmp_path / "here"
    import_run(exported, here, is_trusted=is_trusted)
    result = run(here, [Cutting(6, "six")])
    assert sum(row.cached for row in result.rows) == n_cached
    texts = find_saved(exported.run_id, here).result().texts
    assert [one.output for one in texts] == [one.output for one in result.texts]


def test_the_texts_of_an_imported_run_outlive_others(tmp_path):
    """Removing a run of the same system and data takes nothing of it."""
    exported, here = export(tmp_path), tmp_path / "here"
    own = run(here, [Cutting(6, "six")]).config["run_id"]
    import_run(exported, here)
    remove_runs(here, {own})
    assert all(one.output for one in find_saved(exported.run_id, here).result().texts)


@pytest.mark.parametrize(
    ("table", "column"), [("outputs", "output"), ("examples", "content"), ("rows", "metadata")]
)
@pytest.mark.parametrize("value", ["5", "[1]", "{", ""])
def test_a_file_that_holds_anything_is_imported_read_and_removed(tmp_path, table, column, value):
    """Nothing of it stops anybody, and what is damaged is reported as such."""
    exported, here = export(tmp_path), tmp_path / "here"
    exported.path.rename(tmp_path / FILE)
    query(tmp_path, f"UPDATE {table} SET {column}=?", (value,))
    (tmp_path / FILE).rename(exported.path)
    import_run(exported, here)
    result = find_saved(exported.run_id, here).result()
    assert len(result.rows) == len(result.texts) == len(DATA)
    is_damaged = [row.error for row in result.rows] == [DAMAGED] * len(DATA)
    assert is_damaged is (table == "rows")
    for texts in result.texts:
        assert (texts.output is None) is (table != "rows")
        assert (texts.example is None) is (table == "examples")
    remove_runs(here, {exported.run_id})
    assert list_runs(here) == []


def test_removing_a_run_leaves_what_others_need(tmp_path):
    """And gives back what no other run does, to the last value."""
    first = run(tmp_path).config["run_id"]
    second = run(tmp_path, [Cutting(6, "six")], DATA[:5])
    remove_runs(tmp_path, {first}, is_dry=True)
    assert len(list_runs(tmp_path)) == 2
    remove_runs(tmp_path, {first})
    (left,) = list_runs(tmp_path)
    assert left.result().to_dict() == second.to_dict()
    assert list(left.result().texts) == list(second.texts)
    assert [count(tmp_path, table) for table in ("examples", "outputs", "scores")] == [5, 5, 5]
    again = run(tmp_path, [Cutting(6, "six")])
    assert [row.cached for row in again.rows] == [True] * 5 + [False] * 7
    remove_runs(tmp_path, {saved.run_id for saved in list_runs(tmp_path)})
    for table in ("runs", "rows", "examples", "outputs", "scores", "texts"):
        assert count(tmp_path, table) == 0
    assert (tmp_path / FILE).stat().st_size < 100_000


def test_a_finished_run_whose_summary_was_damaged_is_not_called_partial(tmp_path):
    """Its numbers are made again from its rows, which is reported."""
    result = run(tmp_path)
    query(tmp_path, "UPDATE runs SET result='{}'")
    again = open_run("latest", tmp_path)
    assert again.config["state"] == "finished"
    assert again.summary == result.summary
    assert "was damaged in the store and is made again" in again.problems[-1]


def test_what_an_imported_run_names_is_not_read(tmp_path):
    """Its data may be code of somebody else."""
    exported, here = export(tmp_path), tmp_path / "here"
    import_run(exported, here)
    with pytest.raises(UsageError, match="came from a file"):
        rescore(find_saved("latest", here), [], cache_dir=here, catalog=default_catalog())
