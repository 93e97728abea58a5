"""Kept runs: found by how people name them, and opened as they were."""

from __future__ import annotations

import pytest

from cb_answerquality import AnswerQuality
from cb_metrics import MeanScore
from cbcore import evaluate
from cbcore._store.carrying import export_run, import_run
from cbcore._store.store import Store
from cbcore._store.sweeping import remove_runs
from cbcore.exceptions import ResultError, UsageError
from cbcore.kept import exported_run, find_kept, kept_runs, open_run
from tests.stores import values_in

DATA = [
    {"id": f"e{i}", "question": f"Which is number {i}?", "context": f"c{i} " * 9, "answer": "Paris"}
    for i in range(12)
]


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
def test_a_kept_run_is_the_result_that_it_was(tmp_path, rows):
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


def test_examples_stand_side_by_side_in_a_kept_run(tmp_path):
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


def test_examples_are_kept_once_for_all_systems_and_runs(tmp_path):
    """By their content: a changed example is another."""
    run(tmp_path)
    run(tmp_path, [Cutting(4, "four")])
    assert len(values_in(tmp_path / "store.sqlite3", "examples")) == 12
    run(tmp_path, [Cutting(4, "four")], [{**DATA[3], "answer": "Rome"}, *DATA[:3]])
    assert len(values_in(tmp_path / "store.sqlite3", "examples")) == 13


def test_without_examples_no_text_is_on_the_disk(tmp_path):
    """Neither of the data nor of what a system made of it; the numbers are."""
    result = run(tmp_path, no_examples=True)
    assert result.config["settings"]["no_examples"] is True
    assert result.texts is None
    again = open_run("latest", tmp_path)
    assert again.texts is None
    assert [row.scores for row in again.rows] == [row.scores for row in result.rows]
    assert {row.response for row in again.rows} == {None}
    for sort in ("outputs", "examples", "scores"):
        assert values_in(tmp_path / "store.sqlite3", sort) == []
    assert b"Paris" not in b"".join(values_in(tmp_path / "store.sqlite3", "rows"))


@pytest.mark.parametrize("odd", [{}, {"when": object()}, {"large": 10**700}])
def test_without_examples_the_numbers_noted_beside_a_row_are_kept(tmp_path, odd):
    """Texts and other things are not, nor does one that cannot be written cost the rest."""
    noted = {"n": 3, "cost_usd": 0.5, "is_short": True, "said": "Paris", **odd}

    class Noting(Cutting):
        def process(self, example):
            return {**super().process(example), "metadata": noted}

    run(tmp_path, [Noting(4, "four")], no_examples=True)
    kept = open_run("latest", tmp_path).rows[0].metadata
    assert kept == {"n": 3, "cost_usd": 0.5, "is_short": True}


def test_a_system_without_identity_is_kept_too(tmp_path):
    """Nothing is recalled of it, and all of it can be seen."""
    namespace = {"__name__": "typed_at_a_prompt"}
    code = "class Typed:\n    name = 'typed'\n    def process(self, e): return {'response': 'x'}"
    exec(code, namespace)
    for _ in range(2):
        result = run(tmp_path, [namespace["Typed"]()])
        assert not any(row.recalled for row in result.rows)
    texts = open_run("latest~1", tmp_path).texts
    assert [one.output for one in texts] == [{"response": "x"}] * 12


# -- how a run is named ------------------------------------------------------------------------


def test_a_run_is_named_by_its_id_a_beginning_or_its_age(tmp_path):
    """The newest is `latest`; what only one id begins with will do."""
    ids = [run(tmp_path, [Cutting(n, "cut")]).config["run_id"] for n in (1, 2, 3)]
    assert [kept.run_id for kept in kept_runs(tmp_path)] == ids[::-1]
    assert find_kept("latest", tmp_path).run_id == ids[2]
    assert find_kept("latest~2", tmp_path).run_id == ids[0]
    assert find_kept(ids[1], tmp_path).run_id == ids[1]
    assert find_kept(ids[1][:-1], tmp_path).run_id == ids[1]


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("latest~3", "there is no run 'latest~3'"),
        ("20", "stands for 2 runs"),
        ("nothing", "there is no run 'nothing'"),
    ],
)
def test_a_run_that_is_not_there_is_refused(tmp_path, named, told):
    """With what there is instead."""
    for n in (1, 2):
        run(tmp_path, [Cutting(n, "cut")])
    with pytest.raises(UsageError, match=told):
        find_kept(named, tmp_path)


def test_a_file_that_is_no_result_is_refused(tmp_path):
    """As one, whatever is in it."""
    path = tmp_path / "r.cbrun"
    path.write_bytes(b"SQLite format 3\0" + b"x" * 200)
    with pytest.raises(Exception, match=r"r\.cbrun"):
        open_run(str(path), tmp_path)
    with pytest.raises(ResultError, match="there is no file"):
        open_run(str(tmp_path / "none.json"), tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"rows": {"six": "zz"}},
        {"rows": 7},
        {"outputs": {}},
        {"outputs": None},
        {"examples": ["../.."]},
        {"earlier": [3]},
        {"earlier": {"six": "0" * 16}},
    ],
)
def test_a_record_that_names_no_shelves_is_no_run(tmp_path, capsys, change):
    """As a stranger's file may have it: it is named, and not read."""
    run(tmp_path, [Cutting(6, "six")])
    store = Store(tmp_path)
    (record,) = store.runs()
    record.manifest["places"] |= change
    store.save_run(record)
    store.close()
    assert kept_runs(tmp_path) == []
    assert "is not whole" in capsys.readouterr().err


# -- carried and removed -----------------------------------------------------------------------


def test_an_exported_run_is_opened_like_a_kept_one(tmp_path):
    """From one file, and from the store that took it over; nothing of other runs is in it."""
    result = run(tmp_path / "here", repeats=2)
    run(tmp_path / "here", [Cutting(5, "other")], [{**DATA[0], "id": "elsewhere"}])
    kept = find_kept(result.config["run_id"], tmp_path / "here")
    export_run(kept.path, kept.record, tmp_path / "r.cbrun")
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["r.cbrun"]
    assert b"elsewhere" not in b"".join(values_in(tmp_path / "r.cbrun", "examples"))
    opened = open_run(str(tmp_path / "r.cbrun"), tmp_path / "nowhere")
    carried = exported_run(tmp_path / "r.cbrun")
    import_run(carried.path, carried.record, tmp_path / "there")
    for other in (opened, open_run("latest", tmp_path / "there")):
        assert other.to_dict() == result.to_dict()
        assert list(other.texts) == list(result.texts)
    with pytest.raises(UsageError, match="already") as refused:
        import_run(carried.path, carried.record, tmp_path / "there")
    # Pasted, it must not remove the run of that id from the store that is used otherwise.
    assert f"--cache-dir {tmp_path / 'there'}" in refused.value.hint


def test_removing_a_run_leaves_what_others_need(tmp_path):
    """And gives back what nobody does, to the last value."""
    first = run(tmp_path)
    second = run(tmp_path, [Cutting(6, "six")], DATA[:5])
    store = Store(tmp_path)
    tried = remove_runs(store, [first.config["run_id"]], dry_run=True)
    assert tried.n_bytes > 0
    assert len(store.runs()) == 2
    remove_runs(store, [first.config["run_id"]])
    store.close()
    (kept,) = kept_runs(tmp_path)
    assert kept.result().to_dict() == second.to_dict()
    assert list(kept.result().texts) == list(second.texts)
    path = tmp_path / "store.sqlite3"
    assert len(values_in(path, "examples")) == len(values_in(path, "outputs")) == 5
    assert len(values_in(path, "scores")) == 5
    again = run(tmp_path, [Cutting(6, "six")])
    assert [row.recalled for row in again.rows] == [True] * 5 + [False] * 7
    store = Store(tmp_path)
    remove_runs(store, [r.run_id for r in store.runs()])
    for sort in ("rows", "examples", "outputs", "scores"):
        assert store.count(sort) == 0
    store.close()
    assert path.stat().st_size < 70_000


def test_a_run_that_goes_on_keeps_what_it_has_put(tmp_path):
    """Although no row tells of it yet."""

    class Removing:
        name = "removing"

        def process(self, example):
            if example["id"] == "e9":
                store = Store(tmp_path)
                (other,) = [r.run_id for r in store.runs() if r.run_id != running.run_id]
                remove_runs(store, [other])
                store.close()
            return {"response": "x"}

    run(tmp_path)

    class running:
        run_id = None

    from cbcore.settings import RunSettings
    from cbcore.settings.compose import compose

    made = compose(
        RunSettings(
            systems=[Removing()], datasets=[DATA], metrics=[MeanScore()], cache_dir=tmp_path
        )
    )
    running.run_id = made.run_id
    result = made.execute()
    assert [texts.output for texts in result.texts] == [{"response": "x"}] * 12


def test_a_finished_run_whose_summary_was_damaged_is_not_called_partial(tmp_path):
    """Its numbers are made anew from its rows, and that is said."""
    result = run(tmp_path)
    store = Store(tmp_path)
    with store.changed() as database:
        database.execute("UPDATE results SET document = x'00'")
    store.close()
    again = open_run("latest", tmp_path)
    assert again.config["state"] == "finished"
    assert again.summary == result.summary
    assert "was damaged in the store: its numbers are made anew" in again.problems[-1]
