"""Paid work is kept when it is finished: real processes, really killed behind one slow call."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import stores

SLOW_FIRST = '''
"""The first call ends the process, but not before all others that fit are in the store."""

import asyncio
import os
import pathlib
import signal
import threading

from tests import stores


def ended():
    """How the process gets its signals: once, or once more when the first was taken."""
    first, *more = map(int, os.environ["SIGNALS"].split())
    os.kill(os.getpid(), first)
    for number in more:
        while signal.getsignal(number) is not signal.SIG_DFL:
            pass
        os.kill(os.getpid(), number)


def n_stored():
    return stores.count(".cb", os.environ["TABLE"])


def called(example):
    with open("calls.log", "a") as log:
        log.write(f"{example['id']}\\n")
    return {"response": "Paris"}


class Blocking:
    name = "blocking"

    def process(self, example):
        if example["id"] == 0 and not pathlib.Path("well").exists():
            while n_stored() < int(os.environ["N_OTHERS"]):
                pass
            ended()
            threading.Event().wait()
        return called(example)


class Awaited:
    name = "awaited"

    async def aprocess(self, example):
        if example["id"] == 0 and not pathlib.Path("well").exists():
            while n_stored() < int(os.environ["N_OTHERS"]):
                await asyncio.sleep(0)
            ended()
            await asyncio.Event().wait()
        return called(example)


class Judge:
    """Is paid too, and never done with the first one."""

    name = "judge"
    emits = ("judged",)

    async def ascore(self, original, processed):
        if original["id"] == 0 and not pathlib.Path("well").exists():
            while n_stored() < int(os.environ["N_OTHERS"]):
                await asyncio.sleep(0)
            ended()
            await asyncio.Event().wait()
        with open("judged.log", "a") as log:
            log.write(f"{original['id']}\\n")
        return {"judged": 1.0}


class Quick:
    name = "quick"

    async def aprocess(self, example):
        return called(example)
'''
N_ROWS = 1100


@pytest.fixture
def bench(tmp_path):
    """A folder to run in, and what it takes to look at what a run left there."""
    (tmp_path / "slow.py").write_text(SLOW_FIRST)
    rows = ({"id": i, "context": f"c {i}", "answer": "Paris"} for i in range(N_ROWS))
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Bench(tmp_path)


class Bench:
    def __init__(self, folder):
        self.folder = folder

    def cb(self, *arguments, table="outputs", n_others=0, signals=(), **environ):
        environ = {
            **os.environ,
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "TABLE": table,
            "N_OTHERS": str(n_others),
            "SIGNALS": " ".join(str(int(number)) for number in signals),
            **environ,
        }
        return subprocess.run(
            [sys.executable, "-m", "cbcore", *arguments],
            cwd=self.folder,
            env=environ,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
        )

    def lines(self, name):
        path = self.folder / name
        return path.read_text().split() if path.exists() else []

    def stored(self, table="outputs"):
        stores.check(self.folder / ".cb")
        return stores.count(self.folder / ".cb", table)

    def states(self):
        return [run["state"] for run in json.loads(self.cb("runs", "--json").stdout)]


@pytest.mark.parametrize(
    ("system", "workers"), [("Blocking", 16), ("Awaited", 16), ("Awaited", 256)]
)
def test_what_is_finished_behind_a_slow_call_survives_a_kill(bench, system, workers):
    """All that a run may have finished meanwhile, four times its workers; only the rest is asked."""
    n_others = 4 * workers - 1
    run = ("run", "-s", f"py:./slow.py:{system}", "-d", "data.jsonl", "-q")
    run += ("--max-workers", str(workers), "-o", "json=r.json")
    killed = bench.cb(*run, n_others=n_others, signals=[signal.SIGKILL])
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert bench.stored() == n_others
    assert not (bench.folder / "r.json").exists()
    (bench.folder / "well").touch()
    resumed = bench.cb(*run)
    assert resumed.returncode == 0, resumed.stderr
    calls = bench.lines("calls.log")
    assert len(calls) == len(set(calls)) == N_ROWS
    assert len(json.loads((bench.folder / "r.json").read_text())["rows"]) == N_ROWS


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("system", ["Blocking", "Awaited"])
def test_a_signal_ends_a_run_with_what_is_done(bench, system, number):
    """As Ctrl-C does: a report, the state, exit code 130. A closed terminal is such a signal."""
    run = ("run", "-s", f"py:./slow.py:{system}", "-d", "data.jsonl", "--max-workers", "8")
    run += ("-e", "answer_quality", "-o", "json=r.json")
    stopped = bench.cb(*run, table="scores", n_others=31, signals=[number])
    assert stopped.returncode == 130, stopped.stderr
    (n_rows,) = map(int, re.findall(r"(\d+) finished rows are kept", stopped.stderr))
    assert 31 - 8 <= n_rows <= bench.stored() == 31  # the last threads may not be done
    assert len(json.loads((bench.folder / "r.json").read_text())["rows"]) == n_rows
    assert bench.states() == ["interrupted"]


def test_a_run_that_shall_outlive_its_terminal_does(bench):
    """`nohup` has the signal ignored, and so it stays."""
    (bench.folder / "well").touch()
    code = (
        "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN); "
        "from cbcore.cli.kit import exit_codes\n"
        "with exit_codes('p'): os.kill(os.getpid(), signal.SIGHUP); print('alive')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


def test_a_second_interrupt_costs_nothing_that_is_finished(bench):
    """It ends the process at once, and what was paid for is found again."""
    run = ("run", "-s", "py:./slow.py:Awaited", "-d", "data.jsonl", "--max-workers", "8")
    killed = bench.cb(*run, n_others=31, signals=[signal.SIGINT, signal.SIGINT])
    # Or, if the first was quicker, in the usual way.
    assert killed.returncode in (-signal.SIGINT, 130), killed.stderr
    assert bench.stored() == 31


def test_what_a_judge_said_behind_a_slow_verdict_survives_a_kill(bench):
    """Judges are paid as systems are; and outputs do not wait for them."""
    run = ("run", "-s", "py:./slow.py:Quick", "-d", "data.jsonl", "-q", "--max-workers", "8")
    run += ("-e", "py:./slow.py:Judge")
    killed = bench.cb(*run, table="scores", n_others=31, signals=[signal.SIGKILL])
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert bench.stored("scores") == 31
    assert bench.stored() == len(bench.lines("calls.log"))
    (bench.folder / "well").touch()
    resumed = bench.cb(*run)
    assert resumed.returncode == 0, resumed.stderr
    for log in ("calls.log", "judged.log"):
        assert len(bench.lines(log)) == len(set(bench.lines(log))) == N_ROWS


@pytest.mark.parametrize("store", [[], ["--no-cache"]])
def test_a_killed_run_leaves_no_file_of_rows_behind(bench, store):
    """Rows on disk are in the store, or in a file that goes with the process."""
    (bench.folder / "tmp").mkdir()
    run = ("run", "-s", "py:./slow.py:Blocking", "-d", "data.jsonl", "-q", "--rows", "disk")
    killed = bench.cb(*run, *store, n_others=0, signals=[signal.SIGKILL], TMPDIR="tmp")
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert list(bench.folder.glob("tmp/*")) == []
    left = {path.name.removeprefix(stores.FILE) for path in bench.folder.glob(".cb/*")}
    assert left <= {"", "-wal", "-shm", "logs"}
