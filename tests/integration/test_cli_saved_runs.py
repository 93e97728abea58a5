"""Saved runs on the command line: reload, report and move them, without their data and plugins."""

from __future__ import annotations

import json
import re
import shlex
import signal
import sqlite3

import pytest

from cbcore.store.database import Store
from cbcore.store.saved_runs import list_runs

SYSTEMS = '''
"""Systems that cut, and one that ends its process."""

import os
import pathlib
import signal
import sqlite3


def wait_for_row(position):
    """Until the store has a row of this system: a kill finds it there, and its output."""
    (path,) = pathlib.Path().glob("*/runs.sqlite3")
    store = sqlite3.connect(path)
    found = "SELECT 1 FROM rows WHERE system = 'ending' AND position = ?"
    while not store.execute(found, (position,)).fetchone():
        pass


class Cut:
    def __init__(self, words: int = 2, name: str = "cut"):
        self.words = words
        self.name = name

    def process(self, example):
        kept = " ".join(example["context"].split()[: self.words])
        return {"context": kept, "response": "Paris" if "Paris" in kept else "none"}


class Ending:
    name = "ending"

    def process(self, example):
        if example["id"] == 6 and "ENDS" in os.environ:
            if os.environ["ENDS"] == "9":
                wait_for_row(example["id"] - 1)
            os.kill(os.getpid(), int(os.environ["ENDS"]))
        return {"response": "Paris"}
'''
N = 12
WIDE, NARROW = "py:mine:Cut,words=9,name=wide", "py:mine:Cut,words=2,name=a narrow one"


@pytest.fixture
def place(workplace):
    """A folder with systems and data."""
    workplace.write("mine.py", SYSTEMS)
    rows = [
        {
            "id": i,
            "question": f"Where is house {i}?",
            "context": "It stands in Paris today" if i % 3 else "Paris has it",
            "answer": "Paris",
        }
        for i in range(N)
    ]
    workplace.write("data.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    return workplace


KILLED = {"code": -signal.SIGKILL, "ENDS": "9"}
THREADS = ("--concurrency", "2")
"""With one call at a time, the rows before a call may be stored after it."""


def run(place, *arguments, code=0, **environment):
    done = place.cb("run", "-d", "data.jsonl", "-q", *arguments, **environment)
    assert done.returncode == code, done.stderr
    return done


def ok(place, *arguments):
    done = place.cb(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_run_is_reported_again_when_its_data_is_gone(place):
    """The same table, without dataset, system or evaluator."""
    first = run(place, "-s", WIDE, "-s", NARROW).stdout
    for name in ("data.jsonl", "mine.py"):
        (place.folder / name).unlink()
    assert ok(place, "report") == first
    assert ok(place, "report", "latest", "--no-plugin", "cb-answerquality") == first
    ok(place, "report", "latest", "-o", "html=r.html", "-o", "json=r.json")
    assert "a narrow one" in (place.folder / "r.html").read_text()
    saved = json.loads((place.folder / "r.json").read_text())
    assert list(saved["summary"]) == ["wide", "a narrow one"]
    assert len(saved["rows"]) == 2 * N
    assert ok(place, "report", "r.json", "-o", "csv") == ok(place, "report", "-o", "csv")


def test_what_a_killed_run_did_is_reported_as_partial(place):
    """And it says so; resumed, it is whole, and each row is there once."""
    run(place, "-s", WIDE, "-s", "py:mine:Ending", *THREADS, **KILLED)
    shown = " ".join(ok(place, "report").split())
    assert "this is partial: the run did not end, and 18 rows of it are stored" in shown
    assert re.search(r"^rows +18$", ok(place, "runs", "show", "latest"), re.MULTILINE)
    saved = json.loads(ok(place, "report", "-o", "json"))
    assert [row["example_id"] for row in saved["rows"]] == [*range(N), *range(6)]
    assert saved["summary"]["wide"]["mean_score"] == 1.0
    run_id = saved["config"]["run_id"]
    ok(place, "resume", run_id[:-2])
    saved = json.loads(ok(place, "report", run_id, "-o", "json"))
    assert [row["example_id"] for row in saved["rows"]] == [*range(N), *range(N)]
    assert sum(row["cached"] for row in saved["rows"]) >= N + 6


def test_a_second_attempt_that_gets_less_far_hides_nothing(place):
    """What the first one did is reported still."""
    run(place, "-s", "py:mine:Ending", *THREADS, **KILLED)
    place.write("mine.py", SYSTEMS.replace('example["id"] == 6', 'example["id"] == 2'))
    place.cb("resume", "latest", ENDS="9")
    saved = json.loads(ok(place, "report", "-o", "json"))
    assert len(saved["rows"]) == 6


@pytest.mark.parametrize("more", [(), ("--cache-dir", "my store")])
def test_a_run_that_is_stopped_names_the_command_that_continues_it(place, more):
    """As it can be pasted."""
    done = run(place, "-s", "py:mine:Ending", *more, code=130, ENDS="2")
    (line,) = re.findall(r"`(cb resume .*?)`", done.stderr)
    assert done.stderr.count("hint:") == 1
    resumed = place.cb(*shlex.split(line)[1:])
    assert resumed.returncode == 0, resumed.stderr


def test_a_run_is_listed_with_its_scores_and_shown_with_its_command(place):
    """The command can be pasted: quotes are where a shell needs them."""
    chain = "py:mine:Cut | py:mine:Ending"
    run(place, "-s", chain, "-s", WIDE, "--cluster-column", "the source")
    assert "cluster_column='the source'" in ok(place, "runs", "show", "latest")
    assert re.search(r"wide 1\.000 on data", ok(place, "runs"))
    (line,) = re.findall(r"command +(cb .*)", ok(place, "runs", "show", "latest"))
    assert shlex.split(line)[1:6] == ["run", "-d", "data.jsonl", "-q", "-s"]
    assert shlex.split(line)[6] == chain


def test_a_rescored_run_says_whose_outputs_it_has(place):
    """With the systems in their order, and described as they were."""
    run(place, "-s", WIDE, "-s", NARROW)
    origin = json.loads(ok(place, "report", "-o", "json"))["config"]
    shown = ok(place, "rescore", "latest", "-e", "answer_quality")
    assert f"rescored from {origin['run_id']}" in " ".join(shown.split())
    config = json.loads(ok(place, "report", "-o", "json"))["config"]
    assert config["rescored_from"] == origin["run_id"]
    assert config["systems"] == origin["systems"]
    first, second = ok(place, "runs").splitlines()[1:]
    assert first.endswith("on data, rescored")
    assert second.endswith("on data")


def test_runs_are_removed_and_the_space_given_back(place):
    """By name, or by age; a dry run only says so."""
    run(place, "-s", WIDE)
    run(place, "-s", NARROW)
    narrow, wide = [record["run_id"] for record in place.json("runs")]
    tried = place.cb("runs", "rm", wide, "--dry-run")
    assert "1 run would be removed, and" in tried.stderr
    assert len(place.json("runs")) == 2
    removed = place.cb("runs", "rm", wide)
    assert (removed.returncode, removed.stdout) == (0, f"{wide}\n")
    assert re.search(r"1 run removed, [\d.]+ k?B|bytes given back", removed.stderr)
    assert "No run is to be removed." in place.cb("runs", "prune", "--older-than", "1d").stderr
    assert place.cb("runs", "prune").returncode == 2  # nobody can be asked
    assert place.cb("runs", "prune", "--yes").stdout == f"{narrow}\n"
    assert place.json("runs") == []
    assert place.cb("runs", "prune", "--older-than", "soon").returncode == 2


def test_removing_another_run_leaves_what_a_killed_one_can_go_on_from(place):
    """Its outputs; those of the other runs go, of the same system too."""
    place.write("other.jsonl", '{"id": "o", "question": "Where?", "answer": "Paris"}\n')
    ending = ("-s", "py:mine:Ending")
    ok(place, "run", "-q", "-d", "other.jsonl", *ending)
    run(place, "-s", WIDE)
    run(place, *ending, *THREADS, **KILLED)
    runs = [record["run_id"] for record in place.json("runs")]
    before = count_outputs(place)
    assert list(before) == sorted(runs)
    ok(place, "runs", "rm", *runs[1:])
    assert count_outputs(place) == {runs[0]: before[runs[0]]}
    ok(place, "resume", "latest")
    saved = json.loads(ok(place, "report", "-o", "json"))
    assert sum(row["cached"] for row in saved["rows"]) == before[runs[0]] >= 6


def count_outputs(place):
    """The number of stored outputs by run."""
    store = sqlite3.connect(place.folder / ".cb" / "runs.sqlite3")
    query = "SELECT run_id, count(*) FROM outputs GROUP BY run_id ORDER BY run_id"
    found = dict(store.execute(query).fetchall())
    store.close()
    return found


@pytest.fixture
def files(place):
    """A run, as a file of its own and as a saved result."""
    run(place, "-s", WIDE, "-o", "json=saved.json")
    ok(place, "runs", "export", "latest", "a run.cbrun")
    return place


@pytest.mark.parametrize("name", ["saved.json", "a run.cbrun"])
def test_a_file_is_shown_as_the_run_is(files, name):
    """What it was made of; a saved result does not tell its command."""
    of_store = ok(files, "runs", "show", "latest").splitlines()
    of_file = ok(files, "runs", "show", name).splitlines()
    assert [line for line in of_file if line not in of_store] in ([], ["ended         –"])
    assert "rows          12, of which 0 failed and 0 are cached" in of_file
    assert json.loads(ok(files, "runs", "show", name, "--json"))["scores"] == {"wide": 1.0}


@pytest.mark.parametrize("name", ["saved.json", "a run.cbrun", "gone.json"])
@pytest.mark.parametrize(
    "command", [("runs", "rm"), ("resume",), ("rescore", "-e", "answer_quality")]
)
def test_what_is_done_to_a_run_of_the_store_is_not_done_to_a_file(files, command, name):
    """And it says what can be done with it; the run of that id stays."""
    done = files.cb(*command, name)
    assert done.returncode == (5 if name == "gone.json" else 2)
    told = f"There is no file {name!r}" if name == "gone.json" else f"{name!r} is a file"
    assert told in done.stderr
    assert "hint:" in done.stderr
    ok(files, "report", "latest", "-o", "csv")


def test_an_exported_run_can_be_exported_again(files):
    """One that is a saved result cannot."""
    ok(files, "runs", "export", "a run.cbrun", "again.cbrun")
    again = [ok(files, "report", name, "-o", "csv") for name in ("again.cbrun", "latest")]
    assert again[0] == again[1]
    refused = files.cb("runs", "export", "saved.json", "x")
    assert "'saved.json' is a file, not a run" in refused.stderr


def test_the_database_of_another_program_is_not_changed(place):
    """It has the form of an exported run, and is none."""
    path = place.folder / "theirs.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE theirs (value)")
    database.close()
    before = path.read_bytes()
    for command in (("report",), ("compare",), ("runs", "import"), ("runs", "show")):
        done = place.cb(*command, "theirs.db")
        assert done.returncode == 5
        assert "is not a run that `cb runs export` wrote" in done.stderr
    assert path.read_bytes() == before
    assert [p.name for p in place.folder.glob("theirs.db*")] == ["theirs.db"]


def test_a_run_is_carried_to_another_machine(place):
    """In one file, which is opened as it is, or taken over."""
    shown = run(place, "-s", WIDE, "-s", NARROW).stdout
    ok(place, "runs", "export", "latest", "r.cbrun")
    there = ("--cache-dir", "there")
    assert ok(place, "report", "r.cbrun", *there) == shown
    assert ok(place, "compare", "r.cbrun", *there) == ok(place, "compare", "latest")
    run_id = ok(place, "runs", "import", "r.cbrun", *there).strip()
    assert ok(place, "report", run_id, *there) == shown
    again = place.cb("runs", "import", "r.cbrun", *there)
    assert (again.returncode, "already" in again.stderr) == (2, True)
    for file in ("data.jsonl", "nothing.cbrun"):
        assert place.cb("runs", "import", file).returncode != 0


def test_the_command_of_an_imported_run_is_not_run(place):
    """A file can say that any command made it; unless the user trusts the file."""
    run(place, "-s", WIDE)
    (saved,) = list_runs(place.folder / ".cb")
    saved.recorded_state = "interrupted"
    store = Store(place.folder / ".cb")
    saved.save(store)
    store.close()
    ok(place, "runs", "export", "latest", "r.cbrun")
    ok(place, "runs", "import", "r.cbrun", "--cache-dir", "there")
    resumed = place.cb("resume", "latest", "--cache-dir", "there")
    assert (resumed.returncode, "is not run unseen" in resumed.stderr) == (2, True)
    ok(place, "runs", "import", "r.cbrun", "--trust", "--cache-dir", "trusted")
    ok(place, "resume", "latest", "--cache-dir", "trusted")


def test_without_examples_nothing_of_the_data_is_on_the_disk(place):
    """Numbers are kept, and the report says that texts are not."""
    shown = run(place, "-s", WIDE, "--no-examples").stdout
    assert "texts not stored" in " ".join(shown.split())
    assert ok(place, "report") == shown
    saved = json.loads(ok(place, "report", "-o", "json"))
    assert saved["config"]["settings"]["no_examples"] is True
    assert {row["response"] for row in saved["rows"]} == {None}
    assert all(row["scores"]["f1"] == 1.0 for row in saved["rows"])


def test_saved_runs_are_compared_and_gated_by_name(place):
    """A planted difference is found, noise is none; the gate names the rule and the examples."""
    run(place, "-s", "py:mine:Cut,words=9,name=cut")
    run(place, "-s", "py:mine:Cut,words=8,name=cut")
    run(place, "-s", "py:mine:Cut,words=2,name=cut")
    found = json.loads(ok(place, "compare", "latest~1", "latest", "--json"))["comparisons"][0]
    assert (found["verdict"], found["n"]) == ("worse", N)
    same = json.loads(ok(place, "compare", "latest~2", "latest~1", "--json"))["comparisons"][0]
    assert same["verdict"] != "worse"
    assert ok(place, "gate", "latest~1", "--max-drop", "f1=0.02", "--baseline", "latest~2")
    shut = place.cb("gate", "latest", "--max-drop", "f1=0.02", "--baseline", "latest~1")
    assert shut.returncode == 9
    assert "f1" in shut.stdout + shut.stderr
