"""Nothing acknowledged is lost: killed runs, torn files, full disks, two processes, secrets."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import sqlite3
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
from cbcore._store.database import FILE_NAME, SCHEMA_VERSION
from cbcore._store.outputs import payload_of
from cbcore._store.store import Store
from cbcore.exceptions import RunInterruptedError, RunStoppedError, StoreError
from cbcore.settings import RunSettings
from cbcore.settings.compose import compose
from tests.stores import get, put, values_in

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
from cbcore._run import memo
from cbcore._store import store as stores

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


def main(kind, store, point, after, batch):
    memo.FULL, stores._MOST_PACKED = int(batch), 0
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


class Hangs:
    """Works, and then waits for what it did to appear in the store; then dies."""

    name = "hangs"

    def process(self, example):
        if example["id"] == 20:
            database = sqlite3.connect(os.environ["BENCH_DATABASE"])
            query = "SELECT sum(n) FROM batches WHERE substr(shelf, 1, 1) = ?"
            while database.execute(query, (b"o",)).fetchone() != (20,):
                pass
            die()
        called(example)
        return {"response": "Paris"}


def run_hanging(store):
    return evaluate([Hangs()], examples()[:21], [Judge()], [MeanScore("judged")], cache_dir=store)
'''


class Bench:
    """The benchmark module, in this process and in children, and the log of its calls."""

    def __init__(self, site, tmp_path, monkeypatch):
        (site / "bench_to_kill.py").write_text(BENCH)
        self.site = site
        self.log = tmp_path / "calls.log"
        self.store = tmp_path / "store"
        monkeypatch.setenv("BENCH_LOG", str(self.log))
        monkeypatch.setenv("BENCH_DATABASE", str(self.store / FILE_NAME))
        import bench_to_kill

        self.module = bench_to_kill

    def child(self, code):
        """Run code in a process of its own, with a limit that only a hanging one meets."""
        return subprocess.run(
            [sys.executable, "-c", f"import bench_to_kill as bench; {code}"],
            env={**os.environ, "PYTHONPATH": str(self.site), "PYTHONDONTWRITEBYTECODE": "1"},
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
        database = sqlite3.connect(self.store / FILE_NAME)
        try:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        finally:
            database.close()
        return len(values_in(self.store / FILE_NAME, "outputs"))


@pytest.fixture
def bench(site, tmp_path, monkeypatch):
    return Bench(site, tmp_path, monkeypatch)


def comparable(result):
    """All of a result that depends neither on the clock nor on the store."""
    left_out = ("latency", "cached")
    rows = [{k: v for k, v in row.to_dict().items() if k not in left_out} for row in result.rows]
    for row in rows:
        row["metadata"] = {k: v for k, v in row["metadata"].items() if k != "waited_s"}
    return rows, result.summary, result.problems


SEEDS = [
    # kind of run, where it dies, after how many passages (for a write: bytes), rows per commit
    ("sync", "system", 1, 8),
    ("sync", "system", 211, 16),
    ("threads", "system", 257, 5),
    ("async", "system", 142, 1),
    ("sync", "evaluator", 97, 7),
    ("judged", "evaluator", 180, 12),
    ("sync", "statement", 9, 1),
    ("threads", "statement", 40, 20),
    ("judged", "statement", 402, 3),
    ("sync", "instruction", 40, 10),
    ("async", "instruction", 300, 10),
    ("sync", "write", 60_001, 9),
    ("threads", "write", 150_000, 30),
    ("sync", "thread", 77, 4),
    ("threads", "thread", 190, 11),
    ("judged", "thread", 130, 6),
]


@pytest.mark.parametrize(("kind", "point", "after", "batch"), SEEDS)
def test_a_killed_run_resumes_to_the_result_of_an_uninterrupted_one(
    bench, kind, point, after, batch
):
    """Whatever it was doing: the store is sound, and what it holds is not called again."""
    killed = bench.child(f"bench.main({kind!r}, {str(bench.store)!r}, {point!r}, {after}, {batch})")
    assert killed.returncode in (-signal.SIGKILL, -signal.SIGXFSZ), killed.stderr
    stored = bench.check_store() if (bench.store / FILE_NAME).exists() else 0
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


def test_most_of_a_killed_run_was_stored(bench):
    """Commits are batched, not left to the end."""
    bench.child(f"bench.main('sync', {str(bench.store)!r}, 'system', 250, 10)")
    assert 225 <= bench.check_store() <= 250


def test_a_run_killed_again_and_again_still_arrives(bench):
    """Each attempt goes on where the last one was stopped."""
    stored = 0
    for attempt in range(4):
        killed = bench.child(f"bench.main('sync', {str(bench.store)!r}, 'system', 70, 6)")
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        stored, before = bench.check_store(), stored
        assert stored >= before + 50, attempt
    bench.take_calls()
    resumed = bench.module.run("sync", bench.store)
    assert len(bench.take_calls()) == bench.module.N - stored
    assert comparable(resumed) == comparable(bench.module.run("sync"))


def test_finished_work_is_committed_although_the_next_call_hangs(bench):
    """Batches are written by time too: twenty rows do not wait for the twenty-first."""
    killed = bench.child(f"bench.run_hanging({str(bench.store)!r})")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert bench.check_store() == 20


def test_a_run_that_was_killed_is_recorded_and_shown_as_crashed(bench):
    """The record is written before the first call."""
    bench.child(f"bench.main('sync', {str(bench.store)!r}, 'system', 1, 8)")
    store = Store(bench.store)
    (record,) = store.runs()
    store.close()
    assert (record.state, record.shown_state, record.ended) == ("running", "crashed", "")


# -- torn files --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def unfinished(tmp_path_factory):
    """The files of a store as a crash leaves them: twelve commits, none moved to the database."""
    folder = tmp_path_factory.mktemp("unfinished")
    store = Store(folder / "open")
    for number in range(12):
        for row in range(5):
            put(store, "outputs", f"{number} {row}", os.urandom(700))
            put(store, "scores", f"{number} {row}", b"1")
        store.commit()
    files = {
        path.name: path.read_bytes()
        for path in (folder / "open").iterdir()
        if not path.name.endswith("-shm")
    }
    store.close()
    assert len(files[f"{FILE_NAME}-wal"]) > 50_000
    return files


KEYS = [[f"{number} {row}" for row in range(5)] for number in range(12)]


def committed_after(files, folder):
    """Open a store of these files; the number of its commits that can be read whole."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    store = Store(folder)
    found = [(len(get(store, "outputs", keys)), len(get(store, "scores", keys))) for keys in KEYS]
    put(store, "outputs", "new", b"value")
    store.close()
    database = sqlite3.connect(folder / FILE_NAME)
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()
    whole = found.count((5, 5))
    assert found == [(5, 5)] * whole + [(0, 0)] * (12 - whole)
    return whole


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_log_cut_anywhere_keeps_whole_commits_from_the_first_on(
    unfinished, tmp_path_factory, data
):
    """A torn tail is dropped, commit by commit; the store opens and is written on."""
    log = f"{FILE_NAME}-wal"
    size = data.draw(st.integers(0, len(unfinished[log])))
    files = {**unfinished, log: unfinished[log][:size]}
    whole = committed_after(files, tmp_path_factory.mktemp("cut"))
    assert whole >= 12 * size // len(unfinished[log]) - 2


@pytest.mark.parametrize("garbage", [b"\0", b"\0" * 4096, bytes(range(256)) * 40, b"\xff" * 24])
def test_garbage_after_the_log_costs_nothing(unfinished, tmp_path, garbage):
    """What follows the last commit is not taken for one."""
    log = f"{FILE_NAME}-wal"
    assert committed_after({**unfinished, log: unfinished[log] + garbage}, tmp_path) == 12


def test_a_changed_byte_in_the_last_commit_costs_that_commit_only(unfinished, tmp_path):
    """Checksums find it."""
    log = f"{FILE_NAME}-wal"
    torn = bytearray(unfinished[log])
    torn[-2000] ^= 0xFF
    assert committed_after({**unfinished, log: bytes(torn)}, tmp_path) == 11


def test_a_damaged_database_is_refused_with_what_to_do(tmp_path):
    """Pages that make no sense are an error of the store, told as one."""
    store = Store(tmp_path)
    for number in range(2000):
        put(store, "outputs", number, os.urandom(100))
    store.close()
    path = tmp_path / FILE_NAME
    content = bytearray(path.read_bytes())
    content[8192:] = b"\x55" * (len(content) - 8192)
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"cannot be (opened|read)") as caught:
        get(Store(tmp_path), "outputs", range(2000))
    assert "move" in caught.value.hint


# -- schemas -----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", ["nothing", "empty-file", "empty-database"])
def test_a_store_before_the_first_schema_is_brought_up_to_date(tmp_path, make):
    """Version 0, without tables, is made usable and marked with the version."""
    path = tmp_path / FILE_NAME
    if make == "empty-file":
        path.touch()
    elif make == "empty-database":
        database = sqlite3.connect(path)
        database.execute("CREATE TABLE other (x)")
        database.execute("DROP TABLE other")
        database.close()
    store = Store(tmp_path)
    put(store, "outputs", "k", b"v")
    store.close()
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    assert database.execute("SELECT sum(n) FROM batches").fetchone() == (1,)
    database.close()


def test_a_store_that_was_only_half_made_is_completed(tmp_path):
    """Killed while the tables were made: the rest is made at the next opening."""
    Store(tmp_path).close()
    database = sqlite3.connect(tmp_path / FILE_NAME)
    database.execute("DROP TABLE runs")
    database.execute("PRAGMA user_version=0")
    database.close()
    store = Store(tmp_path)
    put(store, "outputs", "k", b"v")
    store.commit()
    assert get(store, "outputs", ["k"]) == {"k": b"v"}
    assert store.runs() == []
    store.close()


def test_opening_an_up_to_date_store_writes_nothing(tmp_path):
    """So that what was stored can be read where nothing can be written any more."""
    Store(tmp_path).close()
    before = (tmp_path / FILE_NAME).read_bytes()
    store = Store(tmp_path)
    log = tmp_path / f"{FILE_NAME}-wal"
    assert not log.exists() or log.stat().st_size == 0
    store.close()
    assert (tmp_path / FILE_NAME).read_bytes() == before


# -- several processes -------------------------------------------------------------------------

OVERLAPPING = '''
"""A system that waits, at its first call, until another process has come as far."""

import os
import socket

from cbcore._run import memo
from cbcore._store import store as stores

memo.FULL, stores._MOST_PACKED = 4, 0
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
    database = sqlite3.connect(workplace.folder / ".cb" / FILE_NAME)
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()
    stored = values_in(workplace.folder / ".cb" / FILE_NAME, "outputs")
    assert len(stored) == 300
    assert len({payload_of(value) for value in stored}) == len({*specs})


def test_many_may_make_the_same_store_at_once(tmp_path):
    """Whoever comes second waits for the first instead of failing."""
    failures = []

    def use(folder, number, barrier):
        barrier.wait(timeout=30)
        try:
            store = Store(folder)
            put(store, "outputs", number, b"v")
            store.close()
        except StoreError as error:
            failures.append(error)

    for attempt in range(40):
        folder, barrier = tmp_path / str(attempt), threading.Barrier(8)
        threads = [threading.Thread(target=use, args=(folder, i, barrier)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        store = Store(folder)
        assert store.count("outputs") == 8
        store.close()
    assert failures == []


# -- disks that are full, folders that cannot be written ---------------------------------------

LARGE = '''
"""Answers that fill a disk."""

import os

from cbcore._run import memo
from cbcore._store import store as stores

memo.FULL, stores._MOST_PACKED = 10, 0


class Large:
    name = "large"

    def process(self, example):
        with open("calls.log", "a") as log:
            log.write("x")
        return {"response": "Paris", "metadata": {"text": os.urandom(2000).hex()}}
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
    assert "free some space" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    kept = stopped.stdout.count('"example_id"')
    assert 0 < kept < 150
    (run_id,) = re.findall(r"cb resume (\S+)", stopped.stderr)
    reported = workplace.cb("report", run_id, "--cache-dir", run[-1], "-o", "json")
    partial = json.loads(reported.stdout)
    told = f"{kept} rows were finished, and {len(partial['rows'])} of them are kept in the store"
    if len(partial["rows"]) == kept:
        told = f"{kept} finished row"
    assert told in stopped.stderr
    assert take_calls(workplace) >= kept
    lift()
    (listed,) = workplace.json("runs", "--cache-dir", run[-1])
    assert listed["state"] in ("failed", "crashed")
    database = sqlite3.connect(Path(workplace.folder, run[-1]) / FILE_NAME)
    stored = len(values_in(Path(workplace.folder, run[-1]) / FILE_NAME, "outputs"))
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()
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
        TMPDIR=str(small_disk),
    )
    assert stopped.returncode == 6, stopped.stderr
    assert stopped.stderr.count("cb: error:") == 1
    assert "finished rows cannot be written" in stopped.stderr
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
def test_a_folder_that_may_not_be_written_is_refused(tmp_path):
    """The message names the store."""
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path)
    tmp_path.chmod(0o700)


# -- what is called again, and what is not -----------------------------------------------------


class Model:
    """Counts calls outside itself, so that counting does not change what it is."""

    calls = 0
    name_is_label = True

    def __init__(self, model="a", base_url="http://one", options=None, name="model"):
        self.model = model
        self.base_url = base_url
        self.options = options or {"temperature": 0.0, "stop": ["\n"]}
        self.name = name

    def process(self, example):
        Model.calls += 1
        return {"response": f"{self.model} Paris"}


class Strict:
    """An evaluator with a parameter."""

    asked = 0
    name_is_label = True
    emits = ("strict",)

    def __init__(self, level=1, name="strict"):
        self.level = level
        self.name = name

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


def test_what_cannot_be_stored_is_told_before_the_first_call(tmp_path):
    """When it is known, and not when all is paid."""
    told = []

    class Typed:
        name = "typed"
        identity_files = ("absent.txt",)

        def process(self, example):
            assert any("'absent.txt'" in message for message in told)
            return {"response": "Paris"}

        def score(self, original, processed):
            return {"typed": 1.0}

    request = RunSettings(
        systems=[Typed()], datasets=[DATA], evaluators=[Typed()], cache_dir=tmp_path
    )
    result = compose(request, warn=told.append).execute()
    assert [row.error for row in result.rows] == [None] * len(DATA)
    assert len(told) == 1


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

    identity = "interrupted"
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
    store = Store(tmp_path)
    # Of five finished calls, the last two may still be on their way out of their threads.
    assert store.count("outputs") >= 3
    store.close()


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
