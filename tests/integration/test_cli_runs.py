"""`cb runs`, `cb resume`, `cb rescore` and `cb run --dry-run`: real processes on real stores."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys

import pytest

import cbcore
from cbcore.environment import process_start
from cbcore.store.database import Store, checksum
from cbcore.store.saved_runs import list_runs
from tests.terminals import Terminal

MINE = '''
"""A user's own components; those that fall ill are well again when a file says so."""

import os
import pathlib
import signal
import sqlite3


def wait_for_outputs(n):
    """Until the store has so many: a kill finds them there."""
    (path,) = pathlib.Path().glob("*/runs.sqlite3")
    store = sqlite3.connect(path)
    while store.execute("SELECT count(*) FROM outputs").fetchone()[0] < n:
        pass


def called(example):
    with open("calls.log", "a") as log:
        log.write(f"{example['id']} ")


class Counted:
    def __init__(self, answer: str = "Paris", name: str = "counted"):
        self.answer = answer
        self.name = name

    def process(self, example):
        called(example)
        return {"response": self.answer}


class Ill(Counted):
    """Its process gets a signal at one example."""

    def __init__(self, at: int = 5, number: int = 9):
        super().__init__(name="ill")
        self.at = at
        self.number = number

    def process(self, example):
        if example["id"] == self.at and not pathlib.Path("well").exists():
            if self.number == signal.SIGKILL:
                wait_for_outputs(self.at)
            os.kill(os.getpid(), self.number)
        return super().process(example)


class Keyed(Ill):
    def __init__(self, api_key: str, number: int = 2):
        super().__init__(number=number)
        self._key = api_key


class Length:
    name = "length"
    emits = ("length",)

    def __init__(self, unit: float = 1.0):
        self.unit = unit

    def score(self, original, processed):
        return {"length": len(processed["response"]) / self.unit}


def stream():
    """Can be read once."""
    for i in range(4):
        yield {"id": i, "context": f"three words {i}", "answer": "Paris"}

'''


@pytest.fixture
def place(workplace):
    """A folder with components and data in it, in no git repository."""
    workplace.write("mine.py", MINE)
    write_data(workplace, 10)
    return workplace


def write_data(place, n, answer="Paris"):
    lines = [json.dumps({"id": i, "context": f"c {i}", "answer": answer}) for i in range(n)]
    place.write("data.jsonl", "\n".join(lines))


def take_calls(place):
    """Ids called since this was asked last."""
    log = place.folder / "calls.log"
    calls = [int(i) for i in log.read_text().split()] if log.exists() else []
    log.unlink(missing_ok=True)
    return calls


def run(place, *arguments, system="py:mine:Counted", code=0, **environ):
    """`cb run` on the data; the finished process."""
    done = place.cb("run", "-s", system, "-d", "data.jsonl", *arguments, **environ)
    assert done.returncode == code, done.stderr
    return done


def only_run(place, *arguments):
    (listed,) = place.json("runs", *arguments)
    return listed


def save_again(place, *, state=None, **environment):
    """Change the record of the only run of the store."""
    (saved,) = list_runs(place.folder / ".cb")
    saved.recorded_state = state or saved.recorded_state
    saved.environment |= environment
    store = Store(place.folder / ".cb")
    saved.save(store)
    store.close()
    return saved


def fails(place, *arguments, code=2):
    """Run `cb`, expect one message and no traceback; the text of standard error."""
    done = place.cb(*arguments)
    assert done.returncode == code, done.stderr
    assert done.stderr.count("cb: error:") == 1
    assert "Traceback" not in done.stderr
    return done.stderr


# -- where it is stored, and what is listed ----------------------------------------------------


def test_the_store_is_made_beside_the_working_directory(place):
    """`.cb/` by default; the second run calls nothing."""
    run(place)
    assert (place.folder / ".cb" / "runs.sqlite3").is_file()
    assert take_calls(place) == list(range(10))
    run(place)
    assert take_calls(place) == []


def test_without_a_cache_nothing_is_written(place):
    """`--no-cache` leaves the folder as it was, and reads nothing stored."""
    run(place)
    take_calls(place)
    shutil.move(place.folder / ".cb", place.folder / "aside")
    before = {path.name for path in place.folder.iterdir()}
    run(place, "--no-cache")
    assert take_calls(place) == list(range(10))
    assert {path.name for path in place.folder.iterdir()} == before


def test_runs_are_listed_newest_first_as_text_and_json(place):
    """Id, when, systems, datasets, rows and state of each."""
    run(place)
    run(place, "-n", "3", system="py:mine:Counted,answer=Rome,name=rome")
    run(place, system="py:mine:Ill,number=9", code=-9)
    crashed, rome, first = place.json("runs")
    keys = ["run_id", "state", "started", "ended", "systems", "datasets", "rows", "scores"]
    assert list(first) == keys
    assert first["scores"] == {"counted": first["scores"]["counted"]}
    assert (first["state"], first["systems"], first["datasets"]) == (
        "finished",
        ["counted"],
        ["data"],
    )
    assert first["rows"] == {"total": 10, "ok": 10, "failed": 0, "cached": 0}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", first["started"])
    assert first["started"] <= first["ended"]
    assert (rome["systems"], rome["rows"]["total"]) == (["rome"], 3)
    assert (crashed["state"], crashed["ended"], crashed["rows"]) == ("crashed", None, None)
    shown = place.cb("runs")
    header, *lines = shown.stdout.splitlines()
    assert header.split() == ["RUN", "STATE", "OK/FAILED/ROWS", "SCORES"]
    assert [line.split()[0] for line in lines] == [r["run_id"] for r in (crashed, rome, first)]
    assert re.search(r"finished +10/0/10 +counted \d.\d{3} on data", lines[2])
    assert re.search(r"crashed +– +ill – on data", lines[0])


@pytest.mark.parametrize("arguments", [(), ("--cache-dir", "absent")])
def test_where_nothing_was_run_nothing_is_listed_or_made(place, arguments):
    """No error, no folder."""
    listed = place.cb("runs", *arguments)
    assert (listed.returncode, listed.stdout) == (0, "")
    assert "no runs are recorded" in listed.stderr
    assert place.json("runs", *arguments) == []
    assert not (place.folder / (arguments[-1] if arguments else ".cb")).exists()


def test_a_store_that_another_process_is_making_is_empty(place):
    """Its file is there before its tables are."""
    (place.folder / ".cb").mkdir()
    (place.folder / ".cb" / "runs.sqlite3").touch()
    assert place.json("runs") == []


def test_a_store_of_another_version_is_refused_by_every_command(place):
    """Exit code 6; it is not touched."""
    (place.folder / ".cb").mkdir()
    path = place.folder / ".cb" / "runs.sqlite3"
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version=99")
    database.close()
    before = path.read_bytes()
    for command in (("run", "-s", "identity", "-d", "data.jsonl"), ("runs",), ("resume", "x")):
        assert "another version of cb (schema 99" in fails(place, *command, code=6)
    assert path.read_bytes() == before


# -- the record of a run -----------------------------------------------------------------------


def git(place, *arguments):
    identity = {f"GIT_{who}_{what}": "x@y" for who in ("AUTHOR", "COMMITTER") for what in NAMED}
    return subprocess.run(
        ["git", *arguments],
        cwd=place.folder,
        env={**place.environment(), **identity},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


NAMED = ("NAME", "EMAIL")
SECRET = "tops3cret-value"


def test_a_secret_that_is_written_out_is_warned_of(place):
    """It is hidden in all that cb writes, but not in the history of a shell."""
    (place.folder / "well").touch()
    done = place.cb("run", "-s", f"py:mine:Keyed,api_key={SECRET}", "-d", "data.jsonl")
    assert "api_key of Keyed is written out" in done.stderr
    assert SECRET not in done.stderr + done.stdout


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_the_record_has_all_that_is_needed_to_repeat_a_run(place):
    """Versions, specs with parameters, data, seed, machine, commit, times, command; no secret."""
    git(place, "init", "-q")
    git(place, "add", "mine.py", "data.jsonl")
    git(place, "commit", "-qm", "first")
    (place.folder / "well").touch()
    spec = f"py:mine:Keyed,api_key={SECRET}"
    run(place, "--seed", "7", "-n", "8", "-e", "py:mine:Length,unit=2.0", system=spec)
    listed = only_run(place)
    shown = place.json("runs", "show", listed["run_id"])
    config, environment = shown.pop("config"), shown.pop("environment")
    assert shown == {**listed, "reason": None}
    (system,) = config["systems"]
    assert (system["component"], system["params"]["api_key"]) == ("py:mine:Keyed", "***")
    assert config["evaluators"][0]["params"] == {"unit": 2.0}
    assert (config["cbcore"], config["settings"]["seed"]) == (cbcore.__version__, 7)
    assert (config["settings"]["max_examples"], config["settings"]["repeats"]) == (8, 1)
    assert set(environment["plugins"]) >= {"cb-metrics", "cb-answerquality"}
    assert environment["plugins"]["cb-metrics"] == config["metrics"][0]["version"]
    assert environment["cbcore"] == cbcore.__version__
    assert environment["host"] == socket.gethostname()
    assert environment["python"] == platform.python_version()
    assert environment["git_commit"] == git(place, "rev-parse", "HEAD")
    assert environment["cwd"] == str(place.folder)
    assert environment["argv"][:3] == ["run", "-s", "py:mine:Keyed,api_key=***"]
    assert environment["argv"][-2:] == ["-e", "py:mine:Length,unit=2.0"]
    (dataset,) = config["datasets"]
    assert (dataset["name"], dataset["n_examples"]) == ("data", 8)
    assert re.fullmatch("[0-9a-f]{32}", dataset["data"])
    text = place.cb("runs", "show", listed["run_id"]).stdout
    for part in (
        *(listed["run_id"], "finished", environment["git_commit"], platform.python_version()),
        *("cb run -s 'py:mine:Keyed,api_key=***'", str(place.folder), "api_key=***"),
        "unit=2.0",
    ):
        assert part in text
    written = b"".join(p.read_bytes() for p in (place.folder / ".cb").iterdir())
    assert SECRET.encode() not in written
    assert SECRET not in text + json.dumps([config, environment])


def test_a_run_is_shown_with_what_took_part_in_it(place):
    """Chains stage by stage; nothing that has no value, and nobody who gave nothing."""
    asked = (
        "-s",
        "truncate:max_tokens=3 | extractive:name=cut",
        "-d",
        "hotpotqa:sample",
        "-n",
        "2",
    )
    assert place.cb("run", *asked, "-o", "json=r.json").returncode == 0
    for named in ("latest", "r.json"):
        text = place.cb("runs", "show", named).stdout
        assert re.search(
            r"cut = truncate \(cb-baselines \S+\) .*max_tokens=3.* \| extractive ", text
        )
        assert "mean_score (" in text
        assert "spending (" not in text
        assert "None" not in text
    told = place.json("runs", "show", "latest")["config"]["metrics"]
    assert "spending" in [record["name"] for record in told]


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_a_changed_working_directory_is_marked_beside_its_commit(place):
    """The number was not made by that commit alone; without a repository there is none."""
    outside = {"GIT_CEILING_DIRECTORIES": str(place.folder.parent)}
    run(place, "-n", "1", **outside)
    git(place, "init", "-q")
    git(place, "add", "mine.py")
    git(place, "commit", "-qm", "first")
    place.write("mine.py", MINE + "\n# changed\n")
    run(place, "-n", "1")
    changed, none = (
        place.json("runs", "show", listed["run_id"])["environment"]["git_commit"]
        for listed in place.json("runs")
    )
    assert changed == git(place, "rev-parse", "HEAD") + "+changes"
    assert none is None


def test_the_digest_of_the_data_is_that_of_its_examples(place):
    """The same examples have the same one, whatever ran on them; others another."""

    def digest():
        (dataset,) = place.json("runs", "show", "latest")["config"]["datasets"]
        return dataset["data"]

    run(place)
    first = digest()
    run(place, "--repeats", "2", system="py:mine:Counted,answer=Rome")
    assert digest() == first
    write_data(place, 10, answer="Rome")
    run(place)
    assert digest() != first


def test_a_secret_in_the_spec_of_a_dataset_is_not_written_down(place):
    """Datasets take keys too."""
    place.write(
        "guarded.py",
        "class Guarded:\n    name = 'guarded'\n\n    def __init__(self, api_key: str):\n"
        "        self._key = api_key\n\n    def __iter__(self):\n"
        "        yield {'id': 0, 'context': 'c', 'answer': 'Paris'}\n",
    )
    done = place.cb("run", "-s", "py:mine:Counted", "-d", f"py:guarded:Guarded,api_key={SECRET}")
    assert done.returncode == 0, done.stderr
    written = b"".join(p.read_bytes() for p in (place.folder / ".cb").iterdir())
    assert SECRET.encode() not in written


# -- ids ---------------------------------------------------------------------------------------


def test_a_run_is_found_by_the_beginning_of_its_id(place):
    """When only one starts so; otherwise the candidates are named."""
    run(place, "-n", "1")
    run(place, "-n", "2")
    newest, oldest = (listed["run_id"] for listed in place.json("runs"))
    assert place.json("runs", "show", newest[:-1])["run_id"] == newest
    assert place.json("runs", "show", oldest)["run_id"] == oldest
    message = fails(place, "runs", "show", "2")
    assert "is the beginning of 2 runs" in message
    assert newest in message
    assert oldest in message
    for command in (("runs", "show"), ("resume",)):
        message = fails(place, *command, "1999")
        assert "There is no run '1999' in .cb" in message
        assert "cb runs" in message


def test_the_store_may_be_named_before_or_after_show(place):
    """`cb runs --cache-dir DIR show ID` looks in DIR, as `cb runs show ID --cache-dir DIR` does."""
    run(place, "-n", "1", "--cache-dir", "there")
    run_id = only_run(place, "--cache-dir", "there")["run_id"]
    assert place.cb("runs", "--cache-dir", "there", "show", run_id).returncode == 0
    assert place.cb("runs", "show", run_id, "--cache-dir", "there").returncode == 0


# -- resume ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "code", "state"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 130, "interrupted"),
        (signal.SIGKILL, -9, "crashed"),
    ],
)
def test_an_unfinished_run_is_continued_without_typing_it_again(place, number, code, state):
    """The same id, flags and folder; what is stored is not called again; then it is finished."""
    whole = run(place, "--no-cache", "-o", "json", system="py:mine:Ill,at=99")
    take_calls(place)
    system = f"py:mine:Ill,number={int(number)}"
    flags = ("-o", "json=out.json", "--threshold", "0.4", "--cache-dir", "store")
    run(place, *flags, system=system, code=code)
    done = take_calls(place)
    assert done[:5] == [0, 1, 2, 3, 4]
    before = only_run(place, "--cache-dir", "store")
    assert before["state"] == state
    (place.folder / "well").touch()
    resumed = place.cb("resume", before["run_id"][:-2], "--cache-dir", "store")
    assert resumed.returncode == 0, resumed.stderr
    assert take_calls(place) == [i for i in range(10) if i not in done]
    after = only_run(place, "--cache-dir", "store")
    assert (after["run_id"], after["state"]) == (before["run_id"], "finished")
    assert after["rows"]["total"] == 10
    result = json.loads((place.folder / "out.json").read_text())
    assert result["config"]["settings"]["threshold"] == 0.4
    expected = json.loads(whole.stdout)["rows"]
    assert measured(result["rows"]) == measured(expected)
    assert {row["example_id"] for row in result["rows"] if row["cached"]} == set(done)


def measured(rows):
    left_out = ("latency", "cached")
    return [{k: v for k, v in row.items() if k not in left_out} for row in rows]


def test_a_run_is_continued_where_it_was_started(place):
    """From any folder, when the store is named; not when that folder is gone."""
    run(place, system="py:mine:Ill", code=-9)
    (place.folder / "well").touch()
    elsewhere = place.folder.parent / "elsewhere"
    elsewhere.mkdir()
    place.folder, home = elsewhere, place.folder
    store = str(home / ".cb")
    run_id = only_run(place, "--cache-dir", store)["run_id"]
    home.rename(home.parent / "moved")
    moved = str(home.parent / "moved" / ".cb")
    message = fails(place, "resume", run_id, "--cache-dir", moved)
    assert f"was started in {home}, which cannot be entered" in message
    (home.parent / "moved").rename(home)
    resumed = place.cb("resume", run_id, "--cache-dir", store)
    assert resumed.returncode == 0, resumed.stderr
    assert only_run(place, "--cache-dir", store)["state"] == "finished"


def test_a_run_that_failed_can_be_continued_when_its_cause_is_gone(place):
    """A budget, an error limit or broken data: stored rows are free."""
    run(place, "--budget-tokens", "20", "--tokenizer", "words", code=4)
    done = take_calls(place)
    assert 0 < len(done) < 10
    assert only_run(place)["state"] == "failed"
    resumed = place.cb("resume", only_run(place)["run_id"])
    assert take_calls(place) == [i for i in range(10) if i not in done][: len(done)]
    assert resumed.returncode in (0, 4)


def test_what_cannot_be_continued_says_why(place):
    """A finished run, one from Python, one with a secret on its command line, one still running."""
    run(place, "-n", "1")
    assert "is finished: there is nothing to continue" in fails(
        place, "resume", only_run(place)["run_id"]
    )
    shutil.rmtree(place.folder / ".cb")
    run(place, system=f"py:mine:Keyed,api_key={SECRET}", code=130)
    message = fails(place, "resume", only_run(place)["run_id"])
    assert "was given a secret on the command line" in message
    assert "${NAME}" in message
    shutil.rmtree(place.folder / ".cb")
    place.write(
        "from_python.py",
        "import mine\nfrom cbcore import evaluate\n\n"
        "data = [{'id': i, 'context': 'c', 'answer': 'Paris'} for i in range(9)]\n"
        "evaluate([mine.Ill()], data, [mine.Length()], [], cache_dir='.cb')\n",
    )
    from_python(place)
    assert only_run(place)["state"] == "crashed"
    message = fails(place, "resume", only_run(place)["run_id"])
    assert "was started from Python" in message
    assert "evaluate()" in message
    here = {"pid": os.getpid(), "process_start": process_start(os.getpid())}
    saved = save_again(place, **here)
    message = fails(place, "resume", saved.run_id)
    assert f"is still running, as process {os.getpid()} of {platform.node()}" in message
    save_again(place, host="elsewhere")
    message = fails(place, "resume", saved.run_id)
    assert "If it is not, run the same command again" in message


def test_a_run_whose_machine_is_gone_can_be_removed(place):
    """Nobody here can tell whether it goes on: that is for who asks to say."""
    run(place, "-n", "1")
    saved = save_again(place, state="running", host="elsewhere")
    message = fails(place, "runs", "rm", saved.run_id)
    assert f"is still running, as process {saved.environment['pid']} of elsewhere" in message
    assert "--force removes the run" in message
    place.cb("runs", "rm", saved.run_id, "--force")
    assert place.json("runs") == []


@pytest.mark.parametrize("answer", ["n", "y"])
def test_all_runs_are_removed_only_when_that_is_meant(place, answer):
    """At a terminal; a script says by asking that it is."""
    for _ in range(2):
        run(place, "-n", "1")
    terminal = Terminal(place, "runs", "prune")
    terminal.answer("Remove all 2 runs of .cb?", f"{answer}\n")
    assert terminal.ended() == 0
    assert ("No run is to be removed" in terminal.text) is (answer == "n")
    assert len(place.json("runs")) == (0 if answer == "y" else 2)
    terminal = Terminal(place, "runs", "prune", "--yes")
    assert terminal.ended() == 0
    assert place.json("runs") == []


def from_python(place):
    subprocess.run(
        [sys.executable, "from_python.py"],
        cwd=place.folder,
        env=place.environment(),
        capture_output=True,
        timeout=60,
        check=False,
    )


def test_a_run_file_with_a_secret_can_be_continued(place):
    """The secret is read from the environment again."""
    place.write(
        "bench.yaml",
        "systems:\n  - py:mine:Keyed: {api_key: '${MY_KEY}'}\ndatasets: [data.jsonl]\n",
    )
    interrupted = place.cb("run", "bench.yaml", MY_KEY=SECRET)
    assert interrupted.returncode == 130, interrupted.stderr
    done = take_calls(place)
    (place.folder / "well").touch()
    resumed = place.cb("resume", only_run(place)["run_id"], MY_KEY=SECRET)
    assert resumed.returncode == 0, resumed.stderr
    assert take_calls(place) == [i for i in range(10) if i not in done]
    written = b"".join(p.read_bytes() for p in (place.folder / ".cb").iterdir())
    assert SECRET.encode() not in written


# -- rescore -----------------------------------------------------------------------------------


def test_a_run_is_rescored_without_a_call(place):
    """Its stored outputs, by evaluators of today; the new run is recorded next to the old."""
    run(place, "-n", "6", "--repeats", "2")
    take_calls(place)
    run_id = only_run(place)["run_id"]
    rescored = place.cb(
        *("rescore", run_id, "-e", "py:mine:Length", "-e", "py:mine:Length,unit=5.0"),
        *("-o", "json"),
    )
    assert rescored.returncode == 0, rescored.stderr
    assert take_calls(place) == []
    rows = json.loads(rescored.stdout)["rows"]
    assert [(row["example_id"], row["repeat"]) for row in rows] == [
        (i, k) for i in range(6) for k in range(2)
    ]
    assert all(sorted(row["scores"].values()) == [1.0, 5.0] for row in rows)
    assert all(row["system"] == "counted" for row in rows)
    newest, oldest = place.json("runs")
    assert (oldest["run_id"], newest["state"]) == (run_id, "finished")


def test_a_rescored_run_says_how_it_was_made(place):
    """Its record has the command, as that of any other run."""
    run(place, "-n", "1")
    run_id = only_run(place)["run_id"]
    assert place.cb("rescore", run_id, "-e", "py:mine:Length").returncode == 0
    environment = place.json("runs", "show", "latest")["environment"]
    assert environment["argv"] == ["rescore", run_id, "-e", "py:mine:Length"]


def test_data_that_changed_meanwhile_has_no_stored_output(place):
    """Such rows say so; the others are scored."""
    run(place, "-n", "3")
    take_calls(place)
    text = (place.folder / "data.jsonl").read_text().replace("c 1", "changed")
    place.write("data.jsonl", text)
    rescored = place.cb("rescore", only_run(place)["run_id"], "-e", "py:mine:Length", "-o", "json")
    assert rescored.returncode == 0, rescored.stderr
    assert take_calls(place) == []
    errors = [row["error"] for row in json.loads(rescored.stdout)["rows"]]
    assert errors == [None, "ProcessError: no output is stored for this example", None]


ODD = """{"id": 0, "passage": "c 0", "question": "q0", "answer": "Paris"}
no example at all
{"id": 2, "passage": "c 2", "question": "q2", "answer": "London"}
"""


@pytest.mark.parametrize(
    ("data", "asked"),
    [(None, ()), (None, ("--repeats", "2", "-n", "4")), (ODD, ("--field", "context=passage"))],
)
def test_data_that_is_gone_is_taken_from_the_store(place, data, asked):
    """The rows are those that the data would have given, and so is what the run says of itself."""
    if data is not None:
        place.write("data.jsonl", data)
    run(place, *asked, "--max-errors", "9")
    run_id = only_run(place)["run_id"]

    def rescored():
        done = place.cb("rescore", run_id, "-e", "answer_quality", "-o", "json")
        assert done.returncode == 0, done.stderr
        return done.stderr, json.loads(done.stdout)

    told, with_data = rescored()
    assert "taken from the store" not in told
    (place.folder / "data.jsonl").unlink()
    take_calls(place)
    told, without = rescored()
    assert "The examples are taken from the store: there is no data file 'data.jsonl'" in told
    assert take_calls(place) == []
    told_apart = {"run_id", "started"}
    for one in (with_data, without):
        del one["config"]["settings"]["fields"]
        one["config"] = {k: v for k, v in one["config"].items() if k not in told_apart}
        one["rows"] = [{**row, "metadata": {}} for row in one["rows"]]
    assert without["rows"] == with_data["rows"]
    assert without["config"] == with_data["config"]
    assert without["summary"]["counted"]["mean_score"] is not None


def test_data_that_is_gone_and_whose_texts_were_not_kept_is_missed(place):
    """Nothing is scored in its place."""
    run(place, "-n", "3", "--no-examples")
    (place.folder / "data.jsonl").unlink()
    told = fails(place, "rescore", "latest", "-e", "py:mine:Length")
    assert "were not stored" in told


def test_what_cannot_be_rescored_says_why(place):
    """No such run, no evaluator, data that was given from Python."""
    assert "There is no run '2' in .cb" in fails(place, "rescore", "2", "-e", "py:mine:Length")
    place.write(
        "from_python.py",
        "import mine\nfrom cbcore import evaluate\n\n"
        "data = [{'id': 1, 'context': 'c', 'answer': 'Paris'}]\n"
        "evaluate([mine.Counted()], data, [mine.Length()], [], cache_dir='.cb')\n",
    )
    from_python(place)
    message = fails(place, "rescore", only_run(place)["run_id"], "-e", "py:mine:Length")
    assert "was given its data from Python" in message
    assert place.cb("rescore", "2").returncode == 2


# -- dry runs ----------------------------------------------------------------------------------


def planned(done):
    """The lines of a dry run, as lists of words, and its last line."""
    header, *lines, _, total = done.stdout.splitlines()
    assert header.split() == [
        "SYSTEM",
        "DATASET",
        "EXAMPLES",
        "CACHED",
        "CALLS",
        "INPUT",
        "TOKENS",
        "USD",
    ]
    return [line.split() for line in lines], total


def test_a_dry_run_counts_and_calls_nothing(place):
    """Examples, what is stored, calls, tokens; the run is not recorded."""
    run(place, "-n", "4")
    take_calls(place)
    both = ("-s", "py:mine:Counted,answer=Rome,name=rome", "--dry-run", "--tokenizer", "words")
    lines, total = planned(run(place, *both))
    assert lines == [
        ["counted", "data", "10", "4", "6", "12", "unknown"],
        ["rome", "data", "10", "0", "10", "20", "unknown"],
    ]
    assert total == "16 calls with 32 input tokens would be made; nothing was called."
    assert take_calls(place) == []
    assert len(place.json("runs")) == 1


def test_a_dry_run_reads_a_dataset_that_can_be_read_once(place):
    """Also for two systems."""
    done = place.cb(
        *("run", "-s", "py:mine:Counted", "-s", "py:mine:Counted,answer=Rome,name=rome"),
        *("-d", "py:mine:stream", "--dry-run", "--no-cache", "--tokenizer", "words"),
        *("--repeats", "2"),
    )
    assert done.returncode == 0, done.stderr
    lines, total = planned(done)
    assert [line[2:6] for line in lines] == [["8", "0", "8", "24"]] * 2
    assert total.startswith("16 calls")
    assert take_calls(place) == []


def test_a_dry_run_says_what_a_run_then_does(place):
    """The calls counted are the calls made."""
    write_data(place, 7)
    _, total = planned(run(place, "--dry-run", "--repeats", "3"))
    run(place, "--repeats", "3")
    assert total.startswith(f"{len(take_calls(place))} calls")
    _, total = planned(run(place, "--dry-run", "--repeats", "3"))
    assert total.startswith("0 calls with 0 input tokens")


# -- a store that cannot be written, or not be read as a whole ---------------------------------


@pytest.fixture
def read_only(place):
    """Make the folder of a store one that nobody may write to, root included."""
    folder = place.folder / "store"
    folder.mkdir()
    mounted = False
    if os.geteuid() == 0:
        made = subprocess.run(["mount", "-t", "tmpfs", "cb", folder], check=False)
        mounted = made.returncode == 0
        if not mounted:
            pytest.skip("may not mount")

    def protect():
        if mounted:
            subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        else:
            folder.chmod(0o500)

    yield protect
    if mounted:
        subprocess.run(["umount", folder], check=True)
    else:
        folder.chmod(0o700)


@pytest.mark.parametrize("killed", [False, True])
def test_what_only_reads_works_on_a_store_that_cannot_be_written(place, read_only, killed):
    """Also on one that a killed run left, with its log beside it."""
    store = ("--cache-dir", "store")
    run(place, *store)
    if killed:
        run(place, *store, system="py:mine:Ill", code=-signal.SIGKILL)
    read_only()
    listed = place.json("runs", *store)
    assert [record["state"] for record in listed] == ["crashed", "finished"][not killed :]
    run_id = listed[-1]["run_id"]
    assert run_id in place.cb("runs", "show", run_id, *store).stdout
    assert run_id in place.cb("provenance", run_id, *store).stdout
    take_calls(place)
    dry = run(place, *store, "--dry-run")
    assert "0 calls with 0 input tokens" in dry.stdout
    refused = fails(place, "run", "-s", "py:mine:Counted", "-d", "data.jsonl", *store, code=6)
    assert "cannot be" in refused
    assert take_calls(place) == []


def test_a_dry_run_makes_no_store(place):
    """Nothing is stored yet, and nothing is called."""
    assert "10 calls" in run(place, "--dry-run").stdout
    assert not (place.folder / ".cb").exists()


GARBAGE = '{"run_id": "garbage", "systems": [1], "datasets": []}'
ANOTHER = '{"run_id": "another", "systems": [], "datasets": [], "settings": {}}'
UNSET = '{"run_id": "garbage", "systems": [], "datasets": []}'


@pytest.mark.parametrize("config", ["{}", "[7]", GARBAGE, ANOTHER, UNSET, "{"])
def test_a_record_that_is_no_run_is_named_and_passed_over(place, config):
    """Whoever wrote it, with or without a checksum."""
    run(place)
    saved = only_run(place)["run_id"]
    values = ("garbage", "2999", None, "finished", None, config, "{}", "{}")
    for known in (checksum(*values), 0):
        database = sqlite3.connect(place.folder / ".cb" / "runs.sqlite3")
        marks = ", ".join("?" * (len(values) + 4))
        more = (known, "own", None, 0)
        database.execute(f"INSERT OR REPLACE INTO runs VALUES ({marks})", (*values, *more))
        database.commit()
        database.close()
        listed = place.cb("runs", "--json")
        assert listed.returncode == 0
        assert [record["run_id"] for record in json.loads(listed.stdout)] == [saved]
        warning = "cb: warning: The record of run 'garbage' is damaged and is left out.\n"
        assert listed.stderr == warning
    assert saved in place.cb("provenance", saved).stdout


# -- faults while a run is under way -----------------------------------------------------------

LOCKING = '''
import sqlite3

from cbcore.store import database

database._LOCK_WAIT_S = 0.1


class Locking:
    """Has another writer hold the store from one example on."""

    name = "locking"

    def process(self, example):
        if example["id"] == 5:
            Locking.other = sqlite3.connect(".cb/runs.sqlite3", isolation_level=None)
            Locking.other.execute("BEGIN IMMEDIATE")
        return {"response": "Paris"}
'''


@pytest.mark.parametrize("workers", ["1", "3"])
def test_a_store_that_stays_locked_ends_the_run_with_its_report(place, workers):
    """Said, exit code 6, and every row that is done is in the report."""
    place.write("locking.py", LOCKING)
    output = ("--max-workers", workers, "-o", "json=r.json")
    done = run(place, *output, "--import", "locking", system="py:locking:Locking", code=6)
    assert "cannot be written: database is locked" in done.stderr
    rows = json.loads((place.folder / "r.json").read_text())["rows"]
    assert [row["error"] for row in rows] == [None] * 10
