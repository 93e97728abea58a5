"""Nothing acknowledged is lost: killed runs, torn files, full disks, two processes, secrets."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cb_answerquality import AnswerQuality
from cb_metrics import MeanScore
from cbcore import evaluate
from cbcore.exceptions import RunInterruptedError, RunStoppedError, StoreError
from tests import stores

REPOSITORY = Path(__file__).parents[2]
BENCH = '''
"""A benchmark that can be told where to die. Imported by the test and by its children."""

import asyncio
import json
import os
import random
import resource
import signal
import sqlite3
import sys
import threading

from cb_metrics import MeanScore, PassRate

from cbcore import evaluate
from tests import stores

N = 300
limits = {}  # how often a point is passed before the process dies there
passed = {}
reached = threading.Event()


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def at(point):
    passed[point] = passed.get(point, 0) + 1
    if passed[point] == limits.get(point):
        die()
    if point == "system" and passed[point] == limits.get("thread"):
        reached.set()


def examples():
    return [{"id": i, "context": f"context {i}", "answer": "Paris"} for i in range(N)]


def called(example):
    with open(os.environ["BENCH_LOG"], "a") as log:
        log.write(f"{example['id']}\\n")
    at("system")


def answer(example):
    if example["id"] % 50 == 49:
        raise ValueError("refused")
    words = ["Paris"] * (example["id"] % 3 + 1)
    return {"response": " ".join(words), "metadata": {"n": example["id"], "big": "x" * 500}}


class System:
    name = "system"

    def process(self, example):
        called(example)
        return answer(example)


class Awaited:
    name = "awaited"

    async def aprocess(self, example):
        called(example)
        await asyncio.sleep(0)
        return answer(example)


class Judge:
    name = "judge"
    emits = ("judged",)

    def score(self, original, processed):
        at("evaluator")
        return {"judged": 1 / len(processed["response"])}


class AsyncJudge:
    name = "async-judge"
    emits = ("judged",)

    async def ascore(self, original, processed):
        await asyncio.sleep(0)
        at("evaluator")
        return {"judged": 1 / len(processed["response"])}


KINDS = {
    "sync": (System, Judge, None),
    "threads": (System, Judge, 4),
    "async": (Awaited, Judge, None),
    "judged": (Awaited, AsyncJudge, 3),
}


def run(kind, store=None):
    system, judge, max_workers = KINDS[kind]
    metrics = [MeanScore("judged"), PassRate(score_field="judged", threshold=0.1)]
    return evaluate(
        [system()], examples(), [judge()], metrics, max_workers=max_workers, cache_dir=store
    )


def main(kind, store, point, after):
    limits[point] = int(after)
    if point in ("statement", "instruction"):
        watch_database(point)
    elif point == "write":
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(after), resource.RLIM_INFINITY))
    elif point == "thread":
        threading.Thread(target=lambda: (reached.wait(), die()), daemon=True).start()
    run(kind, store)
    if point == "thread":  # which may be late
        threading.Event().wait(30)
    sys.exit(f"survived: {passed}")


def watch_database(point):
    connect = sqlite3.connect

    def watched(*arguments, **keywords):
        database = connect(*arguments, **keywords)
        if point == "statement":
            database.set_trace_callback(lambda _: at(point))
        else:
            database.set_progress_handler(lambda: at(point), 7)
        return database

    sqlite3.connect = watched


class Slow:
    """Takes as long for each call as the store for the output of the one before; then dies."""

    name = "slow"
    identity = "slow"

    def __init__(self, store, n_calls):
        self._store = store
        self._end = stores.count(store) + n_calls - 1

    def process(self, example):
        while stores.count(self._store) < example["id"]:
            pass
        if example["id"] == self._end:
            die()
        called(example)
        return {"response": "Paris"}


def run_slowly(store, n_calls=N):
    return evaluate(
        [Slow(store, n_calls)], examples(), [Judge()], [MeanScore("judged")], cache_dir=store
    )
'''


class Bench:
    """The benchmark module, in this process and in children, and the log of its calls."""

    def __init__(self, site, tmp_path, monkeypatch):
        (site / "bench_to_kill.py").write_text(BENCH)
        self.site = site
        self.log = tmp_path / "calls.log"
        self.store = tmp_path / "store"
        monkeypatch.setenv("BENCH_LOG", str(self.log))
        import bench_to_kill

        self.module = bench_to_kill

    def child(self, code):
        """Run code in a process of its own, with a limit that only a hanging one meets."""
        return subprocess.run(
            [sys.executable, "-c", f"import bench_to_kill as bench; {code}"],
            env={
                **os.environ,
                "PYTHONPATH": f"{self.site}{os.pathsep}{REPOSITORY}",
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def take_calls(self):
        """Ids called since this was asked last."""
        calls = [int(line) for line in self.log.read_text().split()] if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return calls

    def check_store(self):
        """Assert that the file is sound; how many outputs it holds."""
        stores.check(self.store)
        return stores.count(self.store)


@pytest.fixture
def bench(site, tmp_path, monkeypatch):
    return Bench(site, tmp_path, monkeypatch)


def comparable(result):
    """All of a result that depends neither on the clock nor on the store."""
    kept = ("system", "example_id", "repeat", "scores", "missing", "error", "response")
    rows = [[getattr(row, name) for name in kept] for row in result.rows]
    details = [(row.metadata.get("n"), row.output_tokens) for row in result.rows]
    return rows, details, result.summary, result.problems


SEEDS = [
    # kind of run, where it dies, after how many passages (for a write: bytes)
    ("sync", "system", 1),
    ("sync", "system", 211),
    ("threads", "system", 257),
    ("async", "system", 142),
    ("sync", "evaluator", 97),
    ("judged", "evaluator", 180),
    ("sync", "statement", 9),
    ("threads", "statement", 40),
    ("judged", "statement", 402),
    ("sync", "instruction", 40),
    ("async", "instruction", 300),
    ("sync", "write", 60_001),
    ("threads", "write", 150_000),
    ("sync", "thread", 77),
    ("threads", "thread", 190),
    ("judged", "thread", 130),
]


@pytest.mark.parametrize(("kind", "point", "after"), SEEDS)
def test_a_killed_run_resumes_to_the_result_of_an_uninterrupted_one(bench, kind, point, after):
    """Whatever it was doing: the store is sound, and what it holds is not called again."""
    killed = bench.child(f"bench.main({kind!r}, {str(bench.store)!r}, {point!r}, {after})")
    assert killed.returncode in (-signal.SIGKILL, -signal.SIGXFSZ), killed.stderr
    stored = stores.count(bench.store)
    called_before = len(bench.take_calls())
    assert stored <= called_before
    resumed = bench.module.run(kind, bench.store)
    calls = bench.take_calls()
    assert len(calls) == len(set(calls)) == bench.module.N - stored
    assert comparable(resumed) == comparable(bench.module.run(kind))
    assert bench.check_store() == bench.module.N - 6  # those that fail are not stored
    bench.take_calls()
    assert comparable(bench.module.run(kind, bench.store)) == comparable(resumed)
    assert len(bench.take_calls()) == 6


def test_a_run_killed_again_and_again_still_arrives(bench):
    """Each output is stored while the next call is under way: only that call is lost."""
    for n_stored in (69, 138, 207):
        killed = bench.child(f"bench.run_slowly({str(bench.store)!r}, 70)")
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert bench.check_store() == n_stored
    assert bench.take_calls() == list(range(207))
    resumed = bench.module.run_slowly(bench.store, 1000)
    assert bench.take_calls() == list(range(207, 300))
    assert [row.scores for row in resumed.rows] == [{"judged": 0.2}] * 300


def test_a_run_that_was_killed_is_shown_as_crashed(bench):
    """The record is written before the first call."""
    bench.child(f"bench.main('sync', {str(bench.store)!r}, 'system', 1)")
    command = [sys.executable, "-m", "cbcore", "runs", "--json", "--cache-dir", bench.store]
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    (run,) = json.loads(listed.stdout)
    assert (run["state"], run["ended"], run["rows"]) == ("crashed", None, None)


# -- torn files --------------------------------------------------------------------------------


class Copies:
    """Copies the store, as a crash would leave it, when all other outputs are in it."""

    name = "copies"
    identity = "copies"

    def __init__(self, store, target=None):
        self._store = store
        self._target = target
        self.called = []

    def process(self, example):
        self.called.append(example["id"])
        if self._target is not None and example["id"] == 60:
            while stores.count(self._store) < 60:
                pass
            shutil.copytree(self._store, self._target)
        return {"response": f"Paris {example['id']}", "metadata": {"padding": "x" * 700}}


def run_copying(store, target=None):
    """The rows of sixty examples and one more, and which of them were called."""
    data = [{"id": i, "context": f"context {i}"} for i in range(61)]
    system = Copies(store, target)
    result = evaluate([system], data, [], [], cache_dir=store)
    return [row.response for row in result.rows], system.called


@pytest.fixture(scope="module")
def crashed(tmp_path_factory):
    """The files of a store as a crash leaves them: many commits, none moved to the database."""
    folder = tmp_path_factory.mktemp("crashed")
    run_copying(folder / "whole", folder / "crashed")
    files = {
        path.name: path.read_bytes()
        for path in (folder / "crashed").iterdir()
        if not path.name.endswith("-shm")
    }
    assert len(files[LOG]) > 50_000
    return files


LOG = f"{stores.FILE}-wal"


@settings(max_examples=40, deadline=None)
@given(data=st.data(), how=st.sampled_from(["cut", "changed", "garbage"]))
def test_whatever_happened_to_the_log_the_run_goes_on(crashed, tmp_path_factory, data, how):
    """A torn tail is dropped, commit by commit; nothing else is called again."""
    log = crashed[LOG]
    place = data.draw(st.integers(32, len(log) - 1))
    if how == "cut":
        torn = log[:place]
    elif how == "changed":
        torn = log[:place] + bytes([log[place] ^ 0xFF]) + log[place + 1 :]
    else:
        torn = log + data.draw(st.binary(min_size=1, max_size=9000))
    folder = tmp_path_factory.mktemp("torn")
    (folder / stores.FILE).write_bytes(crashed[stores.FILE])
    (folder / LOG).write_bytes(torn)
    stored = stores.count(folder)
    rows, called = run_copying(folder)
    assert rows == [f"Paris {i}" for i in range(61)]
    assert called == list(range(stored, 61))
    assert stored == 60 or how != "garbage"
    stores.check(folder)


def test_a_damaged_database_is_refused_with_what_to_do(tmp_path, workplace):
    """Pages that make no sense are an error of the store, and not a defect."""
    run_copying(tmp_path / "store")
    stores.query(tmp_path / "store", "PRAGMA wal_checkpoint(TRUNCATE)")
    path = tmp_path / "store" / stores.FILE
    content = path.read_bytes()
    path.write_bytes(content[:8192] + b"\x55" * (len(content) - 8192))
    workplace.write("data.jsonl", JSONL)
    done = workplace.cb(
        *("run", "-s", "identity", "-d", "data.jsonl", "--cache-dir", str(path.parent))
    )
    assert done.returncode == 6, done.stderr
    assert re.search("cannot be (opened|read|written)", done.stderr)
    assert f"Move {path} away" in done.stderr
    assert path.read_bytes()[8192:] == b"\x55" * (len(content) - 8192)


# -- several processes -------------------------------------------------------------------------

OVERLAPPING = '''
"""A system that waits, at its first call, until another process has come as far."""

import os
import socket

meeting = [os.environ.get("MEETING")]


class Meets:
    def __init__(self, answer: str = "Paris", name: str = "meets"):
        self.answer = answer
        self.name = name

    def process(self, example):
        if address := meeting[0]:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(60)
                connection.connect(address)
                connection.recv(1)
            meeting[0] = None
        with open("calls.log", "a") as log:
            log.write("x")
        return {"response": self.answer, "metadata": {"text": "x" * 300}}
'''

JSONL = "".join(f'{{"id": {i}, "context": "c {i}", "answer": "Paris"}}\n' for i in range(150))


@pytest.mark.parametrize(
    "specs",
    [
        ("py:meets:Meets,answer=Paris", "py:meets:Meets,answer=Rome"),
        ("py:meets:Meets,answer=Paris", "py:meets:Meets,answer=Paris"),
    ],
    ids=["different-systems", "same-system"],
)
def test_two_processes_share_a_store(workplace, tmp_path_factory, specs):
    """Both finish with their own results, the file is sound, and a third run calls nothing."""
    workplace.write("meets.py", OVERLAPPING)
    workplace.write("data.jsonl", JSONL)
    run = [sys.executable, "-m", "cbcore", "run", "-d", "data.jsonl", "-o", "json", "-s"]
    address = tmp_path_factory.mktemp("s") / "s"
    with socket.socket(socket.AF_UNIX) as meeting:
        meeting.bind(str(address))
        meeting.listen()
        meeting.settimeout(60)
        processes = [
            subprocess.Popen(
                [*run, spec],
                cwd=workplace.folder,
                env=workplace.environment(MEETING=str(address)),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for spec in specs
        ]
        for connection in [meeting.accept()[0] for _ in processes]:
            connection.send(b"x")
            connection.close()
        finished = [process.communicate(timeout=60) for process in processes]
    for process, (stdout, stderr), spec in zip(processes, finished, specs, strict=True):
        assert process.returncode == 0, stderr
        answer = spec.partition("answer=")[2]
        assert stdout.count(f'"response": "{answer}"') == 150
    log = workplace.folder / "calls.log"
    assert len(log.read_text()) == 300
    for spec in specs:
        assert workplace.cb("run", "-d", "data.jsonl", "-s", spec).returncode == 0
    assert len(log.read_text()) == 300
    stores.check(workplace.folder / ".cb")
    assert stores.count(workplace.folder / ".cb") == 150 * len({*specs})
    outputs = stores.query(workplace.folder / ".cb", "SELECT DISTINCT output FROM outputs")
    assert len(outputs) == len({*specs})


# -- disks that are full, folders that cannot be written ---------------------------------------

LARGE = '''
"""Answers that fill a disk, each of which takes a moment."""

import subprocess


class Large:
    name = "large"

    def process(self, example):
        with open("calls.log", "a") as log:
            log.write("x")
        text = subprocess.check_output(["head", "-c", "2000", "/dev/urandom"]).hex()
        return {"response": "Paris", "metadata": {"text": text}}
'''


LIMITED = """
import resource

from cbcore.cli import main

resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
main()
"""


def take_calls(workplace):
    log = workplace.folder / "calls.log"
    calls = len(log.read_text()) if log.exists() else 0
    log.unlink(missing_ok=True)
    return calls


def check_full_disk(workplace, run, stopped, lift):
    """What a run says that the disk stopped, and how it goes on when there is room again."""
    assert stopped.returncode == 6, stopped.stderr
    assert stopped.stderr.count("cb: error:") == 1
    assert "cannot be written" in stopped.stderr
    assert "Free some space" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    kept = stopped.stdout.count('"example_id"')
    assert 0 < kept < 150
    assert f"{kept} finished row" in stopped.stderr
    (run_id,) = re.findall(r"cb resume (\S+)", stopped.stderr)
    reported = workplace.cb("report", run_id, "--cache-dir", run[-1], "-o", "json")
    partial = json.loads(reported.stdout)
    assert len(partial["rows"]) <= kept
    assert take_calls(workplace) >= kept
    lift()
    (listed,) = workplace.json("runs", "--cache-dir", run[-1])
    assert listed["state"] in ("failed", "crashed")
    store = workplace.folder / run[-1]
    stores.check(store)
    stored = stores.count(store)
    assert stored > 0
    resumed = workplace.cb(*run)
    assert resumed.returncode == 0, resumed.stderr
    assert take_calls(workplace) == 150 - stored
    assert resumed.stdout.count('"example_id"') == 150


def test_a_file_that_may_not_grow_ends_the_run_with_one_message(workplace):
    """Exit code 6, the rows so far reported, the store readable, the rest done later."""
    workplace.write("large.py", LARGE)
    workplace.write("data.jsonl", JSONL)
    run = ("run", "-s", "py:large:Large", "-d", "data.jsonl", "-o", "json", "--cache-dir", "store")
    stopped = subprocess.run(
        [sys.executable, "-c", LIMITED, *run],
        cwd=workplace.folder,
        env=workplace.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    check_full_disk(workplace, run, stopped, lift=lambda: None)


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 300 KB; grows on demand."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if shutil.which("mount") is None:
        pytest.skip("there is no mount command")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"a small disk cannot be mounted: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_ends_the_run_with_one_message(workplace, small_disk):
    """The same on a real disk; what was stored can be read while it is still full."""
    workplace.write("large.py", LARGE)
    workplace.write("data.jsonl", JSONL)
    store = str(small_disk / "store")
    run = ("run", "-s", "py:large:Large", "-d", "data.jsonl", "-o", "json", "--cache-dir", store)
    stopped = workplace.cb(*run)
    (listed,) = workplace.json("runs", "--cache-dir", store)
    assert listed["systems"] == ["large"]

    def grow():
        subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)

    check_full_disk(workplace, run, stopped, lift=grow)


def test_rows_on_a_full_disk_end_the_run_with_one_message(workplace, small_disk):
    """`--rows disk` fills it too; what was finished is reported."""
    workplace.write("large.py", LARGE)
    workplace.write("data.jsonl", JSONL)
    stopped = workplace.cb(
        *("run", "-s", "py:large:Large", "-d", "data.jsonl", "-o", "json"),
        *("--no-cache", "--rows", "disk", "--repeats", "2"),
        process=True,  # SQLite looks for its temporary folder once
        TMPDIR=str(small_disk),
    )
    assert stopped.returncode == 6, stopped.stderr
    assert stopped.stderr.count("cb: error:") == 1
    assert "in the temporary folder cannot be written" in stopped.stderr
    kept = stopped.stdout.count('"example_id"')
    assert 0 < kept < 300
    assert f"{kept} finished row" in stopped.stderr
    assert list(small_disk.iterdir()) == []


def test_a_file_in_the_way_of_the_store_is_named_before_anything_is_called(workplace):
    """Exit code 6, and nothing was spent."""
    workplace.write("large.py", LARGE)
    workplace.write("data.jsonl", JSONL)
    workplace.write("taken", "a file")
    refused = workplace.cb(
        "run", "-s", "py:large:Large", "-d", "data.jsonl", "--cache-dir", "taken/store"
    )
    assert refused.returncode == 6, refused.stderr
    assert refused.stderr.count("cb: error:") == 1
    assert "taken/store" in refused.stderr
    assert "--cache-dir" in refused.stderr
    assert take_calls(workplace) == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_refused(tmp_path, counts):
    """Before anything is called."""
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="cannot be opened"):
        compare(tmp_path)
    tmp_path.chmod(0o700)
    assert counts() == (0, 0)


# -- what is called again, and what is not -----------------------------------------------------


class Model:
    """Counts calls outside itself, so that counting does not change what it is."""

    calls = 0

    def __init__(self, model="a", base_url="http://one", options=None, name="model"):
        self.model = model
        self.base_url = base_url
        self.options = options or {"temperature": 0.0, "stop": ["\n"]}
        self.name = name
        self.identity = [model, base_url, self.options]

    def process(self, example):
        Model.calls += 1
        return {"response": f"{self.model} Paris"}


class Strict:
    """An evaluator with a parameter."""

    asked = 0
    emits = ("strict",)

    def __init__(self, level=1, name="strict"):
        self.level = level
        self.name = name
        self.identity = level

    def score(self, original, processed):
        Strict.asked += 1
        return {"strict": float(self.level)}


@pytest.fixture
def counts():
    Model.calls = Strict.asked = 0
    return lambda: (Model.calls, Strict.asked)


DATA = [{"id": i, "context": f"c{i}", "question": "q", "answer": "Paris"} for i in range(6)]


def compare(store, systems=None, data=DATA, evaluators=None, **keywords):
    return evaluate(
        systems or [Model()],
        data,
        evaluators or [Strict()],
        [MeanScore("strict")],
        cache_dir=store,
        **keywords,
    )


@pytest.mark.parametrize(
    ("changed", "calls", "asked"),
    [
        ({}, 0, 0),
        ({"systems": [Model(model="b")]}, 6, 6),
        ({"systems": [Model(base_url="http://two")]}, 6, 6),
        ({"systems": [Model(options={"temperature": 0.5, "stop": ["\n"]})]}, 6, 6),
        ({"systems": [Model(options={"stop": ["\n"], "temperature": 0.0})]}, 0, 0),
        ({"systems": [Model(name="another name")]}, 0, 0),
        ({"systems": [Model(), Model("b", name="added")]}, 6, 6),
        ({"systems": [Model(name="x"), Model(name="y")]}, 0, 0),
        ({"evaluators": [Strict(level=2)]}, 0, 6),
        ({"evaluators": [Strict(name="renamed")]}, 0, 0),
        ({"evaluators": [Strict(), AnswerQuality()]}, 0, 0),
        ({"data": [*DATA[:5], {**DATA[5], "answer": "Rome"}]}, 1, 1),
        ({"data": [*DATA[:5], {**DATA[5], "extra": None}]}, 1, 1),
        ({"data": [dict(reversed(example.items())) for example in reversed(DATA)]}, 0, 0),
        ({"data": [{**DATA[0], "id": "0"}, *DATA[1:]]}, 1, 1),
        ({"repeats": 2}, 6, 6),
        ({"max_workers": 3, "timeout_s": 60.0, "threshold": 0.1, "rows": "disk"}, 0, 0),
    ],
)
def test_a_change_costs_what_it_concerns_and_nothing_else(tmp_path, counts, changed, calls, asked):
    """After a finished run: how many calls and how many scores each change asks for."""
    compare(tmp_path)
    assert counts() == (6, 6)
    compare(tmp_path, **changed)
    assert counts() == (6 + calls, 6 + asked)


def test_the_same_system_twice_in_one_run_is_called_once(tmp_path, counts):
    """What one learned is known to the other, although it was only just stored."""
    result = compare(tmp_path, [Model(name="one"), Model(name="two")])
    assert counts() == (6, 6)
    one, two = result.rows_by_system().values()
    assert [row.response for row in one] == [row.response for row in two]


NAMED = """
class Model:
    def __init__(self, name="good"):
        self.name = name

    def process(self, example):
        return {"response": example["answer"] if self.name == "good" else "no idea"}
"""
HELPED = """
from pathlib import Path

import helper


class Helped:
    name = "helped"
    identity_files = ("prompt.txt",)

    def process(self, example):
        return {"response": helper.ANSWER + Path("prompt.txt").read_text()}
"""


def responses(workplace, *systems):
    """What systems answer to one example, each with whether it came from the store."""
    named = [option for system in systems for option in ("-s", system)]
    done = workplace.cb("run", *named, "-d", "data.jsonl", "-n", "1", "-o", "jsonl")
    assert done.returncode == 0, done.stderr
    rows = map(json.loads, done.stdout.splitlines())
    return [(row["response"], row["cached"]) for row in rows]


def test_systems_of_one_class_that_differ_in_their_name_are_told_apart(workplace):
    """A name may be the model that is asked."""
    workplace.write("data.jsonl", JSONL)
    workplace.write("named.py", NAMED)
    good, bad = "py:./named.py:Model,name=good", "py:./named.py:Model,name=bad"
    assert responses(workplace, good, bad) == [("Paris", False), ("no idea", False)]
    assert responses(workplace, good, bad) == [("Paris", True), ("no idea", True)]


def test_a_changed_helper_or_prompt_is_asked_again(workplace):
    """The module it imports and the file it names are part of a system."""
    workplace.write("data.jsonl", JSONL)
    workplace.write("own.py", HELPED)
    for helper, prompt in [("a", "1"), ("b", "1"), ("b", "2")]:
        workplace.write("helper.py", f"ANSWER = {helper!r}")
        workplace.write("prompt.txt", prompt)
        for cached in (False, True):
            assert responses(workplace, "py:own:Helped") == [(helper + prompt, cached)]


TYPED = """
import sys


class Typed:
    name = "typed"
    identity_files = ("absent.txt",)

    def process(self, example):
        print("called", file=sys.stderr)
        return {"response": "Paris"}

    def score(self, original, processed):
        return {"typed": 1.0}
"""


def test_what_cannot_be_stored_is_reported_once_before_the_first_call(workplace):
    """When it is known, and not when all is paid."""
    workplace.write("data.jsonl", JSONL)
    workplace.write("typed.py", TYPED)
    own = "py:./typed.py:Typed"
    done = workplace.cb("run", "-s", own, "-e", own, "-d", "data.jsonl", "-n", "2")
    assert done.returncode == 0, done.stderr
    before, *after = done.stderr.split("called")
    assert before.count("absent.txt") == 1
    assert len(after) == 2
    assert "absent.txt" not in "".join(after)


@pytest.mark.parametrize(("version", "calls"), [("1.0", 0), ("1.1", 3)])
def test_a_new_version_of_a_plugin_is_called_again(workplace, version, calls):
    """The same class under another version is another system."""
    from tests.fake_distributions import write_distribution

    source = textwrap.dedent("""
        class System:
            name = "plugged"

            def process(self, example):
                with open("calls.log", "a") as log:
                    log.write("x")
                return {"response": "Paris"}
    """)
    workplace.write("data.jsonl", "".join(JSONL.splitlines(keepends=True)[:3]))
    for number in ("1.0", version):
        for old in workplace.site.glob("cb_plugged*"):
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        write_distribution(
            workplace.site,
            "cb-plugged",
            {"cb.systems": {"plugged": "cb_plugged:System"}},
            {"cb_plugged.py": source},
            version=number,
        )
        take_calls(workplace)
        done = workplace.cb("run", "-s", "plugged", "-d", "data.jsonl", "-m", "cb-metrics/latency")
        assert done.returncode == 0, done.stderr
    assert take_calls(workplace) == calls


# -- interrupts and secrets --------------------------------------------------------------------


@pytest.mark.parametrize("max_workers", [1, 3])
def test_what_came_before_a_failure_of_the_data_is_done_and_stored(tmp_path, counts, max_workers):
    """Looking ahead in the store costs no example that the dataset gave."""

    def fails():
        yield from DATA
        raise OSError("gone")

    with pytest.raises(RunStoppedError, match="failed after 6 examples") as caught:
        compare(tmp_path, data=fails(), max_workers=max_workers)
    assert [row.example_id for row in caught.value.result.rows] == [0, 1, 2, 3, 4, 5]
    assert counts() == (6, 6)


class InterruptedAt(Model):
    """Raises KeyboardInterrupt at one example, when all before it are done."""

    at = 4

    def process(self, example):
        if example["id"] == type(self).at:
            raise KeyboardInterrupt
        return super().process(example)


@pytest.mark.parametrize("max_workers", [1, 3])
def test_what_was_finished_before_an_interrupt_is_stored(
    tmp_path, counts, monkeypatch, max_workers
):
    """Only the rest is called later."""
    with pytest.raises(RunInterruptedError) as caught:
        compare(tmp_path, [InterruptedAt()], DATA[:5], max_workers=max_workers)
    assert [row.example_id for row in caught.value.result.rows] == [0, 1, 2, 3]
    assert counts() == (4, 4)
    monkeypatch.setattr(InterruptedAt, "at", None)
    result = compare(tmp_path, [InterruptedAt()], DATA[:5], max_workers=max_workers)
    assert counts() == (5, 5)
    assert [row.example_id for row in result.rows] == [0, 1, 2, 3, 4]


class OutOfTurn(Model):
    """The first call ends the run, by an interrupt or an error, after all others are done."""

    how = KeyboardInterrupt
    lock = threading.Lock()
    others_done = threading.Event()

    def process(self, example):
        if example["id"] == 0:
            assert type(self).others_done.wait(timeout=30)
            raise type(self).how
        with self.lock:
            output = super().process(example)
            if Model.calls == 5:
                type(self).others_done.set()
        return output


@pytest.mark.parametrize(
    ("how", "stop"), [(KeyboardInterrupt, {}), (ValueError, {"on_error": "raise"})]
)
def test_results_that_were_ready_when_the_run_ended_are_stored(
    tmp_path, counts, monkeypatch, how, stop
):
    """Paid for is paid for, whether Ctrl-C or an error ended the run."""
    monkeypatch.setattr(OutOfTurn, "how", how)
    monkeypatch.setattr(OutOfTurn, "others_done", threading.Event())
    with pytest.raises(RunStoppedError):
        compare(tmp_path, [OutOfTurn()], max_workers=3, **stop)
    # Of five finished calls, the last two may still be on their way out of their threads.
    assert stores.count(tmp_path) >= 3


class Careless:
    """Returns its key in all places an output has, and fails with it."""

    name = "careless"

    def __init__(self, api_key):
        self.api_key = api_key

    def process(self, example):
        if example["id"] == 0:
            raise ValueError(f"refused {self.api_key}")
        key = str(self.api_key)
        return {
            "response": f"Paris {key} Paris",
            "context": f"seen by {key}",
            "metadata": {"deep": [{"er": {key: key}}], "n": 12345678, "none": None},
        }


@pytest.mark.parametrize(
    "secret",
    [
        "very-secret-value",
        'with "quotes" and \\ backslash',
        "schlüssel-ключ-🔑",
        "two\nlines\tof it",
        "lone \ud800 surrogate",
    ],
)
def test_a_secret_is_in_no_byte_of_the_store(tmp_path, secret):
    """Neither as it is nor as JSON writes it; and what is stored can be read back."""
    first = compare(tmp_path, [Careless(secret)])
    assert secret not in repr(first.rows)
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    forms = {
        secret.encode("utf-8", "surrogatepass"),
        json.dumps(secret)[1:-1].encode(),
        json.dumps(secret, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass"),
    }
    assert [form for form in forms if form in written] == []
    again = compare(tmp_path, [Careless(secret)])
    assert again.rows[1:] == first.rows[1:]
    assert again.rows[1].response == "Paris *** Paris"


@pytest.mark.parametrize("key", ["", "1", "null", "none", "12345678", "Paris"])
def test_a_key_that_is_a_common_text_breaks_nothing(tmp_path, key):
    """Local endpoints take any key: what is stored stays readable and the rows the same."""
    first = compare(tmp_path, [Careless(key)])
    again = compare(tmp_path, [Careless(key)])
    assert again.rows[1:] == first.rows[1:]
    assert again.rows[1].metadata["n"] == 12345678
    if len(key) < 4:
        assert again.rows[1].response == f"Paris {key} Paris"
