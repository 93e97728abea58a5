"""Shards of a run, merged: the same result as if it had never been cut."""

from __future__ import annotations

import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from cb_compare import merge, merging
from cbcore import EvalResult, evaluate
from cbcore.api import rescore
from cbcore.exceptions import DataError, ResultError, RunStoppedError, StoreError, UsageError
from cbcore.plugins import default_catalog
from cbcore.store.database import Store, find_store
from cbcore.store.saved_runs import find_saved, list_runs
from cbcore.store.transfer import export_run, remove_runs

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
N = 3

_TIMES = ("latency", "stage_s", "waited_s", "timing", "traceback")
_OF_A_RUN = ("run_id", "started", "merged_from", "cached", "source_commit")


def facts(told, where=""):
    """All that a result says, flat, but for times and what says which run it is."""
    last = where.rpartition("/")[2]
    if any(word in last for word in _TIMES) or last in _OF_A_RUN:
        return {}
    if isinstance(told, dict):
        found = {}
        for key, value in told.items():
            found |= facts(value, f"{where}/{key}")
        return found or {where: {}}
    if isinstance(told, list):
        found = {where: len(told)}
        for number, value in enumerate(told):
            found |= facts(value, f"{where}/{number}")
        return found
    return {where: told}


def numbers(result):
    """The facts of a result, without sections that are about times alone."""
    told = result.to_dict()
    told["sections"] = {n: s for n, s in told["sections"].items() if "latency" not in n.lower()}
    return facts(told)


def questions(n=40, **more):
    return [
        {
            "id": f"q{i}",
            "context": f"Question {i} asks for a number. The number is {i % 7}. Nothing else.",
            "question": f"What is the number of question {i}?",
            "answer": str(i % 7),
            **{key: make(i) for key, make in more.items()},
        }
        for i in range(n)
    ]


def written(folder, name, rows):
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


class Answering:
    """Answers with the gold, or what is made of it; fails and is silent where it is told to."""

    def __init__(self, name, wrong=5, fails=0, silent=0):
        self.name, self.wrong, self.fails, self.silent = name, wrong, fails, silent

    def process(self, example):
        number = int(example["id"][1:]) if isinstance(example.get("id"), str) else 1
        if self.fails and number % self.fails == 0:
            raise RuntimeError(f"no answer to {number}")
        if self.silent and number % self.silent == 0:
            return {"context": ""}
        answer = "none" if number % self.wrong == 0 else example["answer"]
        return {"response": answer, "context": example["context"][: 20 + self.wrong]}


def systems():
    return [Answering("good", 7), Answering("bad", 2), Answering("odd", 3, fails=6, silent=4)]


def ran(data, settings, **more):
    chosen = {"systems": systems(), **settings, **more}
    return evaluate(dataset=data, progress=False, **chosen)


def merged(data, settings, folder, n=N):
    """The shards of a run, run one by one into one store, and merged there."""
    store = folder / "store"
    for number in range(n, 0, -1):
        ran(data, settings, cache_dir=store, shard=f"{number}/{n}")
    return merge([run.run_id for run in list_runs(store)], cache_dir=store)


CASES = {
    "three systems": ({}, {}),
    "repeats": ({}, {"repeats": 3}),
    "clusters": ({"source": lambda i: f"s{i % 6}"}, {"cluster_column": "source"}),
    "the first 17": ({}, {"max_examples": 17}),
    "named metrics": ({}, {"metrics": ["mean_score:score_field=recall", "pareto_rank"]}),
    "named evaluator": ({}, {"evaluators": ["answer_quality"], "score_field": "recall"}),
    "conversations": ({"turns": lambda i: [{"role": "user", "content": f"turn {i}"}]}, {}),
    "taking turns": ({}, {"interleave": True}),
    "threads": ({}, {"max_workers": 4}),
    "rows on disk": ({}, {"rows": "disk"}),
    "datasets of their own": ({"dataset": lambda i: f"part {i % 3}"}, {}),
}


@pytest.mark.parametrize(("more", "settings"), CASES.values(), ids=CASES)
def test_merged_shards_are_the_run_that_was_never_cut(tmp_path, more, settings):
    """Every number, row, order, verdict and table, to the last digit; only times are others."""
    data = questions(**more)
    ran(data, settings, cache_dir=tmp_path / "whole")
    whole = find_saved("latest", tmp_path / "whole").result()
    result = merged(data, settings, tmp_path)
    assert numbers(result) == numbers(whole)
    assert (result.texts is None) == (whole.texts is None)
    if whole.texts is not None:
        assert [t.example for t in result.texts] == [t.example for t in whole.texts]
        assert [t.output for t in result.texts] == [t.output for t in whole.texts]


def test_of_runs_without_texts_numbers_are_merged(tmp_path):
    """Only tables that are made of texts are not, and that is said."""
    settings = {"no_examples": True}
    ran(questions(), settings, cache_dir=tmp_path / "whole")
    whole = find_saved("latest", tmp_path / "whole").result()
    result = merged(questions(), settings, tmp_path)
    (remark,) = [problem for problem in result.problems if "shards have no texts" in problem]
    result.problems.remove(remark)
    whole.sections.pop("loss_attribution")
    (of_texts,) = [m for m in whole.config["metrics"] if m["name"] == "loss_attribution"]
    of_texts["idle"] = True
    assert numbers(result) == numbers(whole)


def test_several_datasets_keep_their_order(tmp_path):
    """Also those of one name: a row knows which of them it is of."""
    (tmp_path / "other").mkdir()
    again = [{**row, "id": f"z{row['id'][1:]}"} for row in questions(9)]
    data = [
        written(tmp_path, "one", questions(11)),
        written(tmp_path, "two", questions(7)),
        written(tmp_path / "other", "one", again),
    ]
    settings = {"systems": ["identity | extractive", "truncate:max_tokens=8 | extractive"]}
    whole = ran(data, settings)
    assert numbers(merged(data, settings, tmp_path)) == numbers(whole)


def test_a_sweep_is_merged_with_its_curves(tmp_path):
    """The points of all budgets, and the table that is made of them."""
    settings = {
        "systems": ["identity | extractive", "bm25:max_tokens=[60,120,200] | extractive"],
        "seed": 0,
    }
    whole = ran(["hotpotqa:sample"], settings)
    result = merged(["hotpotqa:sample"], settings, tmp_path)
    assert numbers(result) == numbers(whole)
    assert "budget_curves" in result.sections


def test_the_table_of_a_suite_is_made_again(tmp_path):
    """By the suite itself, from what the shards say they were asked for."""
    settings = {
        "systems": ["identity | extractive", "truncate:max_tokens=16 | extractive"],
        "suites": ["town"],
        "include_path": [str(EXAMPLES / "suites")],
        "trust": [str(EXAMPLES / "suites")],
    }
    whole = ran(None, settings)
    result = merged(None, settings, tmp_path, n=2)
    assert numbers(result) == numbers(whole)
    assert result.sections["suites"].lines


def test_a_history_goes_to_one_shard(tmp_path):
    """Its memory is fed once, by the shard that has all questions about it."""
    settings = {
        "systems": (),
        "memories": ["bm25:k=6 | extractive", "window:k=6 | extractive"],
        "seed": 0,
    }
    result = merged(["locomo:sample"], settings, tmp_path)
    # From the same store, so that the times are the same: they are in the table, too.
    whole = ran(["locomo:sample"], settings, cache_dir=tmp_path / "store")
    assert whole.sections["memory"].lines
    assert numbers(result) == numbers(whole)
    shards_of = {}
    for run in list_runs(tmp_path / "store"):
        if shard := run.settings.get("shard"):
            for row in run.rows():
                shards_of.setdefault(row.metadata["cluster"], set()).add(shard)
    assert len(shards_of) > 1
    assert {len(shards) for shards in shards_of.values()} == {1}


def test_examples_that_cannot_be_used_are_errored_rows_once(tmp_path):
    """A line that is no JSON, and an example without anything to work on."""
    lines = [json.dumps(row) for row in questions(12)]
    lines[3], lines[7] = "{broken", json.dumps({"id": "q7", "nothing": 1})
    path = tmp_path / "data.jsonl"
    path.write_text("\n".join(lines))
    settings = {"systems": ["identity | extractive"]}
    whole = ran([str(path)], settings)
    result = merged([str(path)], settings, tmp_path)
    assert numbers(result) == numbers(whole)
    assert sum(row.error is not None for row in result.rows) == 2


def test_examples_that_are_not_plain_data_go_by_their_ids(tmp_path):
    """Each is run by one shard, and nothing is stored of it."""
    data = [{**row, "thing": object()} for row in questions(10)]
    whole = ran(data, {})
    assert numbers(merged(data, {}, tmp_path)) == numbers(whole)


def test_shards_without_an_example_are_shards(tmp_path):
    """Of nine, for three examples, most have nothing to do."""
    data = questions(3)
    whole = ran(data, {})
    assert numbers(merged(data, {}, tmp_path, n=9)) == numbers(whole)


# -- whose an example is -----------------------------------------------------------------------


def ids_of(data, shard, **settings):
    result = evaluate([Answering("a")], data, shard=shard, progress=False, **settings)
    return [row.example_id for row in result.rows]


def test_neither_order_nor_what_is_appended_moves_an_example():
    """What decides is its content alone."""
    data = questions(30)
    before = set(ids_of(data, "2/4"))
    assert set(ids_of(data[::-1], "2/4")) == before
    longer = set(ids_of(data + questions(45)[30:], "2/4"))
    assert {i for i in longer if int(i[1:]) < 30} == before
    assert 0 < len(before) < 30


def test_shards_share_all_examples_among_them():
    """None twice, and none left out."""
    found = [i for number in range(1, 5) for i in ids_of(questions(50), f"{number}/4")]
    assert sorted(found) == sorted(f"q{i}" for i in range(50))


def test_equal_examples_go_to_one_shard():
    """Without ids they are numbered, as in the whole run."""
    row = {"context": "Two and two are four.", "question": "And two?", "answer": "four"}
    counts = [len(ids_of([row] * 6, f"{number}/3")) for number in (1, 2, 3)]
    assert sorted(counts) == [0, 0, 6]


def test_the_limit_counts_before_the_cut():
    """So that all shards together are the first examples of the data."""
    found = [i for n in (1, 2) for i in ids_of(questions(50), f"{n}/2", max_examples=20)]
    assert sorted(found) == sorted(f"q{i}" for i in range(20))


def test_ids_that_come_twice_are_refused_by_every_shard():
    """Also by one that has neither of them."""
    data = [*questions(6), *questions(1)]
    for number in (1, 2, 3):
        with pytest.raises((RunStoppedError, DataError), match="more than once"):
            ids_of(data, f"{number}/3")


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "a/b", "1/0", "-1/4", "1/2/3", ""])
def test_what_is_no_shard_is_refused(text):
    """Before anything runs, with what it should be."""
    with pytest.raises(UsageError, match="--shard must be K/N"):
        ids_of(questions(2), text)


# -- what is refused ---------------------------------------------------------------------------


@pytest.fixture
def store(tmp_path):
    return tmp_path / "store"


def sharded(store, number, data=None, *, n=2, **settings):
    """The id of a shard that was run into a store."""
    chosen = {"systems": [Answering("a")], **settings}
    data = questions(20) if data is None else data
    result = evaluate(
        dataset=data, cache_dir=store, shard=f"{number}/{n}", progress=False, **chosen
    )
    return result.config["run_id"]


def test_missing_shards_are_named(store):
    """And taken as missing only where that is asked for."""
    ids = [sharded(store, number, n=4) for number in (1, 3)]
    with pytest.raises(UsageError, match="shard 2/4 is missing; shard 4/4 is missing"):
        merge(ids, cache_dir=store)
    result = merge(ids, cache_dir=store, partial=True)
    assert result.config["state"] == "interrupted"
    partial = "this is partial: shard 2/4 is missing; shard 4/4 is missing"
    assert result.config["state_reason"] == partial
    assert result.config["state_reason"] in result.problems
    assert find_saved(result.config["run_id"], store).state == "interrupted"


def test_a_shard_that_did_not_finish_is_named(store):
    """With its rows, where part of them will do."""
    data = questions(20)
    first = sharded(store, 1, data, systems=[Answering("a", fails=5)])
    with pytest.raises(RunStoppedError):
        sharded(store, 2, data, systems=[Answering("a", fails=5)], fail_fast=True)
    second = next(run for run in list_runs(store) if run.run_id != first)
    with pytest.raises(UsageError, match=f"shard 2/2 \\({second.run_id}\\) is failed"):
        merge([first, second.run_id], cache_dir=store)
    result = merge([first, second.run_id], cache_dir=store, partial=True)
    assert len(find_saved(first, store).rows()) < len(result.rows) < 20


def test_shards_of_different_requests_are_refused_with_the_difference(store):
    """By the setting, or the parameter of the component, that differs."""
    first = sharded(store, 1, systems=["truncate:max_tokens=20,name=cut | extractive"], seed=1)
    second = sharded(store, 2, systems=["truncate:max_tokens=30,name=cut | extractive"], seed=2)
    with pytest.raises(UsageError) as caught:
        merge([first, second], cache_dir=store)
    assert "params.max_tokens: 20 and 30" in caught.value.message
    assert "seed: 1 and 2" in caught.value.message


def saved_as_json(folder, *, n=2, change=lambda number, document: None, data=None, **settings):
    """The shards of a run as JSON files, each changed by a function of its number."""
    chosen = {"systems": [Answering("a")], **settings}
    paths = []
    for number in range(1, n + 1):
        data = questions() if data is None else data
        result = evaluate(dataset=data, shard=f"{number}/{n}", progress=False, **chosen)
        document = json.loads(result.to_json())
        change(number, document)
        paths.append(str(folder / f"{number}.json"))
        Path(paths[-1]).write_text(json.dumps(document))
    return paths


def test_shards_of_other_versions_are_refused(tmp_path):
    """A plugin that was updated between two shards measures something else."""

    def change(number, document):
        if number == 2:
            document["config"]["evaluators"][0]["version"] = "9.9"

    paths = saved_as_json(tmp_path, change=change)
    with pytest.raises(UsageError, match=r"evaluators '\w+'\.version: '0\.1\.0' and '9\.9'"):
        merge(paths, cache_dir=tmp_path / "none")


def test_shards_of_other_data_are_refused(store):
    """Each has read all of it, and says what it was."""
    ids = [sharded(store, 1, questions(20)), sharded(store, 2, questions(21))]
    with pytest.raises(UsageError, match=r"did not read the same data: 1\.n_examples: 20 and 21"):
        merge(ids, cache_dir=store)


def test_shards_of_other_code_are_refused(store, tmp_path):
    """Own code has no version, so the key of its cached outputs is compared."""
    ids = []
    for number, answer in ((1, "'1'"), (2, "'2'")):
        path = tmp_path / f"machine {number}" / "mine.py"
        path.parent.mkdir()
        path.write_text(f"def answer(example):\n    return {{'response': {answer}}}\n")
        script = (
            "import sys; from cbcore import evaluate\n"
            "from tests.integration.test_shards import questions\n"
            "result = evaluate(['py:./mine.py:answer,name=mine'], questions(20), progress=False,\n"
            f"    cache_dir={str(store)!r}, shard='{number}/2')\n"
            "print(result.config['run_id'])"
        )
        done = run_python(script, cwd=path.parent)
        assert done.returncode == 0, done.stderr
        ids.append(done.stdout.split()[-1])
    with pytest.raises(UsageError, match="ran other code of a system: mine: '"):
        merge(ids, cache_dir=store)


def run_python(script, cwd):
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent)}
    return subprocess.run(
        [sys.executable, "-c", script],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_run_that_is_not_a_shard_is_refused(store):
    """Two whole runs are compared, not merged."""
    result = evaluate([Answering("a")], questions(4), cache_dir=store, progress=False)
    with pytest.raises(UsageError, match="is not a shard: it was run without --shard"):
        merge([result.config["run_id"]], cache_dir=store)


def test_shards_of_another_number_are_refused(store):
    """A third and a half are no whole."""
    with pytest.raises(UsageError, match="number of shards: '2' and '3'"):
        merge([sharded(store, 1), sharded(store, 1, n=3)], cache_dir=store)


# -- duplicates --------------------------------------------------------------------------------


def test_a_shard_that_is_given_twice_counts_once(store):
    """By its id, and run again from what is stored."""
    ids = [sharded(store, 1), sharded(store, 2), sharded(store, 2)]
    whole = evaluate([Answering("a")], questions(20), progress=False)
    result = merge([*ids, ids[0]], cache_dir=store)
    assert numbers(result) == numbers(whole)
    assert len(result.rows) == 20


@pytest.mark.parametrize("is_stored", [False, True])
def test_a_disagreement_names_the_row(store, tmp_path, is_stored):
    """And what differs; nothing is stored of such a merge."""
    first, second = sharded(store, 1), sharded(store, 2)
    if is_stored:
        again = sharded(store, 2, fresh=True)  # which takes another time
    else:
        again = str(tmp_path / "again.json")
        find_saved(second, store).result().save(again)
        document = json.loads(Path(again).read_text())
        document["rows"][1]["scores"]["f1"] = 0.123
        Path(again).write_text(json.dumps(document))
    before = list_runs(store)
    with pytest.raises(ResultError, match=r"disagree about the row of 'a' on example 'q\d+'"):
        merge([first, second, again], cache_dir=store)
    assert [run.run_id for run in list_runs(store)] == [run.run_id for run in before]


def test_one_run_stands_for_all_of_its_shards(store):
    """Those of the same request in the store; of two of one shard, the newest finished."""
    ids = [sharded(store, 1), sharded(store, 2), sharded(store, 1)]
    sharded(store, 1, seed=7)
    result = merge([ids[1]], cache_dir=store, siblings=True)
    assert result.config["merged_from"] == [ids[2], ids[1]]


# -- where shards come from --------------------------------------------------------------------


def test_shards_of_other_stores_are_merged_from_their_files(tmp_path):
    """With the texts behind their rows; they are runs of the store from then on."""
    data, files = questions(20), []
    for number in (1, 2):
        machine = tmp_path / f"machine {number}"
        run = find_saved(sharded(machine, number, data), machine)
        files.append(str(tmp_path / f"{number}.cbrun"))
        export_run(run, Path(files[-1]))
    whole = evaluate([Answering("a")], data, cache_dir=tmp_path / "whole", progress=False)
    here = tmp_path / "here"
    result = merge(files, cache_dir=here)
    assert numbers(result) == numbers(whole)
    reloaded = find_saved("latest", here).result()
    assert [t.output for t in reloaded.texts] == [t.output for t in whole.texts]
    assert len(list_runs(here)) == 3


def test_shards_saved_as_json_are_merged_without_a_store(tmp_path):
    """Their texts among them; nothing is stored."""
    paths = []
    for number in (1, 2):
        result = evaluate(
            systems(), questions(), cache_dir=tmp_path / "s", shard=f"{number}/2", progress=False
        )
        paths.append(str(tmp_path / f"{number}.json"))
        result.save(paths[-1])
    whole = evaluate(systems(), questions(), cache_dir=tmp_path / "w", progress=False)
    result = merge(paths, cache_dir=tmp_path / "none")
    assert numbers(result) == numbers(whole)
    assert [t.example for t in result.texts] == [t.example for t in whole.texts]
    assert [t.output for t in result.texts] == [t.output for t in whole.texts]
    assert not (tmp_path / "none").exists()


def test_a_saved_run_and_a_json_file_are_merged(tmp_path, store):
    """In memory, as one of them is in no store."""
    second, path = sharded(store, 2), str(tmp_path / "1.json")
    find_saved(sharded(store, 1), store).result().save(path)
    whole = evaluate([Answering("a")], questions(20), cache_dir=tmp_path / "w", progress=False)
    result = merge([path, second], cache_dir=store)
    assert numbers(result) == numbers(whole)
    assert [t.output for t in result.texts] == [t.output for t in whole.texts]
    assert len(list_runs(store)) == 2


def test_a_merged_run_is_stored_whole(store):
    """Its shards can go: rows, texts and summary are its own."""
    ids = [sharded(store, number) for number in (1, 2)]
    result = merge(ids, cache_dir=store)
    remove_runs(store, set(ids))
    reloaded = find_saved("latest", store).result()
    assert reloaded.to_dict() == result.to_dict()
    whole = evaluate([Answering("a")], questions(20), cache_dir=store / "w", progress=False)
    assert [t.example for t in reloaded.texts] == [t.example for t in whole.texts]
    assert [t.output for t in reloaded.texts] == [t.output for t in whole.texts]


def test_the_record_of_a_merged_run_is_that_of_the_whole(store):
    """Its counts and scores, which `cb runs` lists."""
    ran(questions(), {}, cache_dir=store / "whole")
    for number in (1, 2):
        ran(questions(), {}, cache_dir=store, shard=f"{number}/2")
    merge(["latest", "latest~1"], cache_dir=store)
    merged_run, whole = find_saved("latest", store), find_saved("latest", store / "whole")
    assert merged_run.outcome == whole.outcome
    assert (merged_run.state, merged_run.systems) == ("finished", whole.systems)


def test_shards_of_others_run_no_code(tmp_path):
    """From a file, a metric that names a program is left out, and so is what needs trust."""

    def change(number, document):
        document["config"]["metrics"].append(
            {
                "name": "pairwise_judge",
                "component": "pairwise_judge",
                "plugin": "cb-llm-judge",
                "params": {"judge": "os:abort"},
            }
        )
        document["config"]["options"].append({"name": "memory", "plugin": "cb-memory"})
        document["config"]["settings"]["memory"] = [f"py:{tmp_path}/evil.py:Evil"]

    (tmp_path / "evil.py").write_text("raise SystemExit('it ran')")
    result = merge(saved_as_json(tmp_path, change=change), cache_dir=tmp_path / "none")
    assert any("'pairwise_judge'" in problem for problem in result.problems)
    assert any("sections of --memory are left out" in problem for problem in result.problems)


def files_of_shards(folder, components=None, given=None, **settings):
    """Two shards of a run, each exported from a store of its own, with a changed record."""
    files = []
    for number in (1, 2):
        machine = folder / f"machine {number}"
        run = find_saved(sharded(machine, number, **settings), machine)
        run.config |= components or {}
        run.config["settings"] |= given or {}
        store = Store(machine)
        run.save(store)
        store.close()
        files.append(str(folder / f"{number}.cbrun"))
        export_run(run, Path(files[-1]))
    return files


def test_shards_of_others_stay_untrusted_in_the_store(tmp_path):
    """Merging a file imports it; merging that again by its id trusts it no more than before."""
    (tmp_path / "evil.py").write_text("raise SystemExit('it ran')")
    options = [{"name": "memory", "plugin": "cb-memory", "params": {}}]
    evil = {"memory": [f"py:{tmp_path}/evil.py:Evil"]}
    files = files_of_shards(tmp_path, {"options": options}, evil)
    here = tmp_path / "here"
    first = merge(files, cache_dir=here)
    run_id = first.config["merged_from"][0]
    again = merge([run_id], cache_dir=here, siblings=True)
    for result in (first, again):
        assert any("sections of --memory are left out" in problem for problem in result.problems)
        assert find_saved(result.config["run_id"], here).origin == "imported"


def test_trusted_shards_are_your_own(tmp_path):
    """Their outputs are reused, and the merged run can be rescored."""
    here = tmp_path / "here"
    data = [written(tmp_path, "data", questions(20))]
    files = files_of_shards(tmp_path, data=data, systems=["identity | extractive"])
    merge(files, cache_dir=here, trusted=True)
    run = find_saved("latest", here)
    assert run.origin == "trusted"
    result = rescore(run, ["answer_quality"], cache_dir=here, catalog=default_catalog())
    assert [row.error for row in result.rows] == [None] * 20
    whole = evaluate(["identity | extractive"], data, ["answer_quality"], progress=False)
    assert [row.scores for row in result.rows] == [row.scores for row in whole.rows]


def test_a_run_of_the_same_id_is_not_taken_for_that_of_the_file(tmp_path):
    """Rows are those of the store then, which may be others."""
    files = files_of_shards(tmp_path)
    run = find_saved("latest", tmp_path / "machine 1")
    run.settings["shard"] = "2/2"
    other = Store(tmp_path / "here")
    run.save(other)
    other.close()
    with pytest.raises(ResultError, match="has another state"):
        merge(files, cache_dir=tmp_path / "here")


def test_a_shard_that_is_removed_meanwhile_is_noticed(store, monkeypatch):
    """Its rows would be missing."""
    ids = [sharded(store, number) for number in (1, 2)]
    check = merging.check_agreement

    def remove_one(shards):
        check(shards)
        remove_runs(store, {ids[0]})

    monkeypatch.setattr(merging, "check_agreement", remove_one)
    with pytest.raises(StoreError, match="Shards were removed from"):
        merge(ids, cache_dir=store)
    assert [run.run_id for run in list_runs(store)] == [ids[1]]


def count_rows(store):
    with sqlite3.connect(find_store(store)) as database:
        return database.execute("SELECT count(*) FROM rows").fetchone()[0]


def test_a_merge_that_is_stopped_leaves_nothing_behind(store, monkeypatch):
    """Neither a run nor rows."""
    ids = [sharded(store, number) for number in (1, 2)]

    def stop(*arguments, **keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr(merging, "metrics_of", stop)
    with pytest.raises(KeyboardInterrupt):
        merge(ids, cache_dir=store)
    assert (count_rows(store), len(list_runs(store))) == (20, 2)
    monkeypatch.undo()
    assert len(merge(ids, cache_dir=store).rows) == 20


def test_a_merge_that_is_killed_leaves_a_run_that_can_be_removed(store, tmp_path):
    """The shards are as they were."""
    ids = [sharded(store, number) for number in (1, 2)]
    script = (
        "import os, signal\nfrom cb_compare import merging\n"
        "merging.metrics_of = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"merging.merge({ids!r}, cache_dir={str(store)!r})"
    )
    assert run_python(script, tmp_path).returncode == -signal.SIGKILL
    killed = find_saved("latest", store)
    assert (killed.state, killed.run_id in ids) == ("crashed", False)
    assert len(merge(ids, cache_dir=store).rows) == 20
    remove_runs(store, {killed.run_id})
    assert count_rows(store) == 40


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts open files in /proc")
def test_many_shards_need_few_open_files(store):
    """Of a thousand shards, a file each would be more than a process may open."""
    n = 40
    ids = [sharded(store, number, questions(60), n=n) for number in range(1, n + 1)]
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    n_open = len(list(Path("/proc/self/fd").iterdir()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (n_open + n, hard))
    try:
        result = merge(ids, cache_dir=store)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(result.rows) == 60


def test_rows_in_another_order_are_put_in_theirs(tmp_path):
    """A file may have been sorted by somebody."""
    paths = saved_as_json(tmp_path, change=lambda _, document: document["rows"].reverse())
    result = merge(paths, cache_dir=tmp_path / "none")
    assert [row.example_id for row in result.rows] == [f"q{i}" for i in range(40)]


def test_a_lost_example_is_found_though_others_are_repeated(tmp_path):
    """A part of the examples has rows."""

    def change(number, document):
        lost = document["rows"][0]["example_id"]
        document["rows"] = [row for row in document["rows"] if row["example_id"] != lost]

    paths = saved_as_json(tmp_path, change=change, repeats=3)
    with pytest.raises(ResultError, match="have 114 rows of 'a' for 40 examples"):
        merge(paths, cache_dir=tmp_path / "none")


def test_a_lost_row_of_the_store_is_found(store):
    """Before the merged run is stored."""
    ids = [sharded(store, number) for number in (1, 2)]
    with sqlite3.connect(find_store(store)) as database:
        database.execute("DELETE FROM rows WHERE position=4")
    with pytest.raises(ResultError, match="have 19 rows of 'a' for 20 examples"):
        merge(ids, cache_dir=store)
    assert len(list_runs(store)) == 2


def test_data_that_ended_early_is_named(tmp_path):
    """The others have rows that this shard lacks."""

    def change(number, document):
        if number == 1:
            (dataset,) = document["config"]["datasets"]
            dataset |= {"n_examples": 12, "data": "other"}
            document["config"]["failures"] = {dataset["name"]: "gone"}

    paths = saved_as_json(tmp_path, change=change)
    for order in (paths, paths[::-1]):
        with pytest.raises(UsageError, match=r"did not read the same data: .*'gone'"):
            merge(order, cache_dir=tmp_path / "none")


def test_a_system_that_was_stopped_in_a_shard_is_named(store):
    """It has fewer rows than the other systems, and its shard is finished."""
    n = 400  # a quick system is called for more examples before it is stopped
    for number in (1, 2):
        ran(questions(n), {"max_errors": 2}, cache_dir=store, shard=f"{number}/2")
    result = merge(["latest", "latest~1"], cache_dir=store)
    grouped = result.rows_by_system()
    assert (len(grouped["good"]), len(grouped["bad"])) == (n, n)
    assert len(grouped["odd"]) < n
    (remark,) = [problem for problem in result.problems if "odd was stopped" in problem]
    assert ["In shard 1/2: " in remark, "In shard 2/2: " in remark] == [True, True]


def test_shards_of_which_every_system_was_stopped_are_merged(store):
    """None of them has read all of the data."""
    data = questions(400)
    for number in (1, 2):
        sharded(store, number, data, systems=[Answering("a", fails=2)], max_errors=1)
    result = merge(["latest", "latest~1"], cache_dir=store)
    assert 0 < len(result.rows) < len(data)


def number_of_words(original, processed):
    return {"words": float(len(processed["response"].split()) + len(original["question"]))}


def test_a_score_that_rows_tell_is_that_of_the_whole(tmp_path):
    """A shard without rows could not learn it."""
    data = questions(3)
    settings = {"evaluators": [number_of_words], "systems": [Answering("a"), Answering("b", 2)]}
    whole = ran(data, settings)
    result = merged(data, settings, tmp_path, n=9)
    assert result.config["score_field"] == "words"
    assert numbers(result) == numbers(whole)


def test_rescored_shards_are_merged(tmp_path, store):
    """`cb rescore` of a shard scores the examples of this shard alone."""
    data = [written(tmp_path, "data", questions(20))]
    settings = {"systems": ["identity | extractive"], "evaluators": ["answer_quality"]}
    ids = []
    for number in (1, 2):
        run_id = sharded(store, number, data, **settings)
        result = rescore(
            find_saved(run_id, store),
            ["answer_quality"],
            cache_dir=store,
            catalog=default_catalog(),
        )
        assert any(f"this is shard {number} of 2" in problem for problem in result.problems)
        ids.append(result.config["run_id"])
    whole = evaluate(dataset=data, progress=False, **settings)
    assert numbers(merge(ids, cache_dir=store)) == numbers(whole)


def test_a_sample_is_cut_as_the_whole_data_would_be(tmp_path):
    """All shards draw the same examples."""
    settings = {"sample": 13, "seed": 3}
    whole = ran(questions(), settings)
    result = merged(questions(), settings, tmp_path)
    assert numbers(result) == numbers(whole)
    assert len(result.rows) == 3 * 13


def test_where_a_file_lies_does_not_move_what_cannot_be_read_of_it(tmp_path):
    """The error of a broken line names the file, which machines have in different places."""
    lines = [json.dumps(row) for row in questions(12)]
    lines[3] = lines[8] = "{broken"
    store = tmp_path / "store"
    settings = {"systems": ["identity | extractive"]}
    for number in range(1, 5):
        folder = tmp_path / f"machine {number}"
        folder.mkdir()
        (folder / "data.jsonl").write_text("\n".join(lines))
        ran([str(folder / "data.jsonl")], settings, cache_dir=store, shard=f"{number}/4")
    result = merge([run.run_id for run in list_runs(store)], cache_dir=store)
    assert len(result.rows) == 12
    assert sum(row.error is not None for row in result.rows) == 2


DAMAGED = [
    {"systems": [{"name": ["a"]}]},
    {"systems": [{"plugin": "a"}]},
    {"metrics": True},
    {"metrics": [None]},
    {"executors": [{"params": "x"}]},
    {"systems": None},
    {"datasets": [{"name": "d", "n_examples": "4"}]},
    {"failures": ["d"]},
    {"settings": {"shard": "one"}},
    {"settings": {"shard": 3}},
]


@pytest.mark.parametrize("changed", DAMAGED, ids=str)
def test_a_damaged_result_is_reported(tmp_path, changed):
    """In one message, whatever was made of it."""
    (path,) = saved_as_json(
        tmp_path, n=1, change=lambda _, document: document["config"].update(changed)
    )
    with pytest.raises(ResultError, match=r"1\.json"):
        merge([path], cache_dir=tmp_path / "none")


@pytest.mark.parametrize("changed", [one for one in DAMAGED if "settings" not in one], ids=str)
def test_a_damaged_record_is_reported(tmp_path, changed):
    """As that of a result."""
    files = files_of_shards(tmp_path, changed)
    with pytest.raises(ResultError, match=r"1\.cbrun"):
        merge(files, cache_dir=tmp_path / "here")


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"system": []}, "'system' of row 1 cannot be"),
        ({"metadata": "x"}, "'metadata' of row 1 cannot be"),
        ({"position": "x"}, "'position' of row 1 cannot be"),
        ({"position": 0}, "have 3 rows of 'a' for 4 examples"),
    ],
)
def test_a_damaged_row_is_reported(tmp_path, changed, problem):
    """In one message, whatever was made of it."""
    (path,) = saved_as_json(
        tmp_path,
        n=1,
        data=questions(4),
        change=lambda _, document: document["rows"][1].update(changed),
    )
    with pytest.raises(ResultError, match=problem):
        merge([path], cache_dir=tmp_path / "none")


def test_a_merged_result_reads_back(tmp_path, store):
    """As any other: from JSON, and from the store."""
    result = merge([sharded(store, n) for n in (1, 2)], cache_dir=store)
    result.save(tmp_path / "merged.json")
    assert EvalResult.load(tmp_path / "merged.json") == result


def test_shards_that_other_processes_work_on_are_the_same(tmp_path):
    """The executor is not part of the request."""
    settings = {
        "systems": ["identity | extractive", "truncate:max_tokens=8 | extractive"],
        "executor": "processes:workers=2",
    }
    data = written(tmp_path, "data", questions(30))
    whole = ran([data], {**settings, "executor": None})
    result = merged([data], settings, tmp_path, n=2)
    result.config["executors"] = []
    assert numbers(result) == numbers(whole)
