"""Runs that are killed while memories are fed, and while they are asked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

HERE = Path(__file__).parent
N_QUESTIONS, N_SESSIONS = 16, 6
"""Of the first two conversations of the sample."""


class Bench:
    """A command that is killed when its memory has written so many lines, and given again."""

    def __init__(self, folder: Path, memory: str) -> None:
        self.folder = folder
        self.log = folder / "log"
        spec = f"py:{HERE / 'kill_me.py'}:{memory}"
        self.command = [
            *(sys.executable, "-m", "cbcore", "run", "-q", "--memory", spec),
            *("-d", "locomo:sample", "-n", str(N_QUESTIONS), "--tokenizer", "words"),
            *("--concurrency", "2", "-o", "json=result.json"),
        ]
        self.environment = {**os.environ, "KILL_LOG": str(self.log), "CB_MEMORY_CHECKPOINT_S": "0"}

    def start(self) -> subprocess.Popen:
        return subprocess.Popen(self.command, cwd=self.folder, env=self.environment)

    def kill_at(self, word: str, n: int) -> list[str]:
        """Kill it as soon as it has done something so many times; what it did until then."""
        process = self.start()
        try:
            while process.poll() is None and sum(word in line for line in self.lines()) < n:
                time.sleep(0.005)
            assert process.poll() is None, "it was over before it could be killed"
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        return self.taken()

    def finish(self, command: list[str] | None = None) -> list[str]:
        """Let it go on to its end; what it did."""
        done = subprocess.run(
            command or self.command,
            check=False,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
        )
        assert done.returncode == 0, done.stderr.decode()
        return self.taken()

    def lines(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []

    def taken(self) -> list[str]:
        lines = self.lines()
        self.log.unlink(missing_ok=True)
        return lines

    def rows(self) -> list[dict]:
        return json.loads((self.folder / "result.json").read_text())["rows"]


def of(word, lines):
    return Counter(line for line in lines if line.startswith(word))


def test_killed_while_asking_it_asks_only_what_is_left(tmp_path):
    """Without snapshots, only the histories with questions left are fed again."""
    bench = Bench(tmp_path, "Plain")
    before = bench.kill_at("query", 6)
    after = bench.finish()
    repeated = of("query", before) & of("query", after)
    assert sum(repeated.values()) < 6  # those under way, or in the moment before a commit
    assert len(set(of("query", before)) | set(of("query", after))) == N_QUESTIONS
    rows = bench.rows()
    assert len(rows) == N_QUESTIONS
    assert all(row["error"] is None for row in rows)


def test_killed_while_feeding_a_memory_that_can_be_saved_goes_on_behind_its_last_session(tmp_path):
    """No session that was saved is taken in twice."""
    bench = Bench(tmp_path, "Saved")
    before = bench.kill_at("ingest", 4)
    after = bench.finish()
    fed = of("ingest", before) + of("ingest", after)
    assert len(fed) == N_SESSIONS
    assert sum(fed.values()) <= N_SESSIONS + 2  # those that were under way
    assert len(bench.rows()) == N_QUESTIONS


def test_killed_while_asking_a_memory_that_can_be_saved_is_not_fed_again(tmp_path):
    """`cb resume` continues the run by its id."""
    bench = Bench(tmp_path, "Saved")
    bench.kill_at("query", 9)
    runs = subprocess.run(
        [sys.executable, "-m", "cbcore", "runs", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    run_id = json.loads(runs.stdout)[0]["run_id"]
    after = bench.finish([sys.executable, "-m", "cbcore", "resume", run_id])
    assert of("ingest", after) == Counter()
    assert len(bench.rows()) == N_QUESTIONS


@pytest.mark.parametrize("memory", ["Plain", "Saved"])
def test_killed_while_feeding_nothing_is_half_known(tmp_path, memory):
    """Every answer rests on the whole history."""
    bench = Bench(tmp_path, memory)
    bench.kill_at("ingest", 3)
    bench.finish()
    for row in bench.rows():
        assert row["error"] is None
        assert row["metadata"]["n_contexts"] == 18
