"""`cb run --shard` and `cb merge` as commands: real processes, at once and on several machines."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.forkserver import copy_plugin_cache, run_cb
from tests.integration.test_shards import facts, questions, written

N = 4
SYSTEMS = ["-s", "identity | extractive", "-s", "truncate:max_tokens=8 | extractive"]


class Desk:
    """A folder to type commands in."""

    def __init__(self, folder):
        self.folder = folder
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "COLUMNS": "120"}
        copy_plugin_cache(folder / "cache")

    def start(self, *arguments, **options):
        return subprocess.Popen(
            [sys.executable, "-m", "cbcore", *map(str, arguments)],
            cwd=self.folder,
            env={**self.environment, **options},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def cb(self, *arguments, code=0, **options):
        environment = {**self.environment, **options}
        done = run_cb(*map(str, arguments), cwd=self.folder, env=environment)
        assert done.returncode == code, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout, done.stderr

    def result(self, name):
        return facts(json.loads((self.folder / name).read_text()))


@pytest.fixture
def desk(tmp_path):
    desk = Desk(tmp_path)
    written(tmp_path, "data", questions(60))
    return desk


def run(number, *more, n=N):
    return ["run", *SYSTEMS, "-d", "data.jsonl", "--shard", f"{number}/{n}", "-q", *more]


def test_shards_that_run_at_once_share_a_store(desk):
    """Four processes write into it, and what they wrote is merged to the run that was not cut."""
    with ThreadPoolExecutor(N) as pool:
        list(pool.map(lambda number: desk.cb(*run(number)), range(1, N + 1)))
    desk.cb("run", *SYSTEMS, "-d", "data.jsonl", "-q", "--no-cache", "-o", "json=whole.json")
    _, err = desk.cb("merge", "latest", "--all", "-q", "-o", "json=merged.json")
    assert "4 shards, 120 rows" in err
    assert desk.result("merged.json") == desk.result("whole.json")
    listed, _ = desk.cb("runs")
    assert len(re.findall(r"shard \d/4", listed)) == 4


def test_shards_of_several_machines_are_carried_and_merged(desk):
    """Each in a store of its own, exported, and merged where none of them ran."""

    def on_its_machine(number):
        desk.cb(*run(number, "--cache-dir", f"m{number}"))
        desk.cb("runs", "export", "latest", f"{number}.cbrun", "--cache-dir", f"m{number}")

    with ThreadPoolExecutor(N) as pool:
        list(pool.map(on_its_machine, range(1, N + 1)))
    files = [f"{number}.cbrun" for number in range(N, 0, -1)]
    desk.cb("merge", *files, "--cache-dir", "here", "-q", "-o", "json=merged.json")
    desk.cb("run", *SYSTEMS, "-d", "data.jsonl", "-q", "--no-cache", "-o", "json=whole.json")
    assert desk.result("merged.json") == desk.result("whole.json")
    shown, _ = desk.cb("runs", "show", "latest", "--cache-dir", "here")
    assert "merged" in shown
    reported, _ = desk.cb("report", "latest", "--cache-dir", "here", "-o", "markdown")
    assert "identity" in reported


def test_shards_saved_as_json_are_merged_and_not_stored(desk):
    """And that is reported, as there is no run to reload."""
    for number in (1, 2):
        desk.cb(*run(number, "-o", f"json={number}.json", "--no-cache", n=2))
    _, err = desk.cb("merge", "1.json", "2.json", "-q", "-o", "json=merged.json")
    assert "2 shards, 120 rows; not stored, as shards came as JSON" in err
    assert not (desk.folder / ".cb").exists()


def test_a_gate_of_the_merged_run_is_that_of_the_whole(desk):
    """The same verdict, with the same code, of the same numbers."""
    for number in (1, 2):
        desk.cb(*run(number, n=2))
    desk.cb("merge", "latest", "latest~1", "-q", "-o", "json=merged.json")
    desk.cb("run", *SYSTEMS, "-d", "data.jsonl", "-q", "--no-cache", "-o", "json=whole.json")
    rules = ["--min", "f1=0.99"]
    told = [
        desk.cb("gate", name, *rules, code=9)[0].replace(name, "RUN")
        for name in ("merged.json", "whole.json")
    ]
    assert told[0] == told[1] != ""


def test_missing_shards_are_named_and_cost_the_exit_code_of_usage(desk):
    """Until a part is asked for."""
    desk.cb(*run(2))
    _, err = desk.cb("merge", "latest", code=2)
    missing = "shard 1/4 is missing; shard 3/4 is missing; shard 4/4 is missing"
    assert missing in err
    out, _ = desk.cb("merge", "latest", "--partial")
    assert f"this is partial: {missing}" in " ".join(out.split())


def test_a_killed_shard_is_resumed_and_merged(desk):
    """It goes on as the shard that it was."""
    (desk.folder / "slow.py").write_text(
        "import os, signal\n"
        "def answer(example):\n"
        "    if example['id'] == os.environ.get('DIE_AT'):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return {'response': example['answer']}\n"
    )
    mine = ["run", "-s", "py:./slow.py:answer", "-d", "data.jsonl", "-q"]
    desk.cb(*mine, "--shard", "1/2", "-o", "json=one.json")
    held = {row["example_id"] for row in json.loads((desk.folder / "one.json").read_text())["rows"]}
    last = [f"q{i}" for i in range(60) if f"q{i}" not in held][-1]
    process = desk.start(*mine, "--shard", "2/2", DIE_AT=last)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    _, err = desk.cb("merge", "latest", "latest~1", code=2)
    assert "is crashed" in err
    desk.cb("resume", "latest", "-q")
    _, err = desk.cb("merge", "latest", "latest~1", "-q")
    assert "2 shards, 60 rows" in err


def test_a_dry_run_counts_the_shard(desk):
    """Its examples only, and nothing is called or kept."""
    counted = [
        int(re.search(r"(\d+) calls", desk.cb(*run(number, "--dry-run", n=2))[0])[1])
        for number in (1, 2)
    ]
    assert sum(counted) == 120
    assert 0 not in counted
    assert not (desk.folder / ".cb").exists()


def test_a_run_file_may_say_the_shard_and_the_flag_another(desk):
    """As in an array of jobs, where one file serves all of them."""
    (desk.folder / "cb.yaml").write_text(
        'systems: ["identity | extractive"]\ndatasets: [./data.jsonl]\nshard: 1/2\n'
    )
    desk.cb("run", "cb.yaml", "-q")
    desk.cb("run", "cb.yaml", "--shard", "2/2", "-q")
    _, err = desk.cb("merge", "latest", "latest~1", "-q")
    assert "2 shards, 60 rows" in err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["merge", "none.json"], "There is no file 'none.json'"),
        (["merge", "nobody"], "There is no run 'nobody' in .cb"),
        (["merge", "data.jsonl"], "this is not a saved result"),
        (["merge", "other.json"], "is not a shard: it was run without --shard"),
        (["run", "-s", "identity", "-d", "data.jsonl", "--shard", "9/4"], "K from 1 to N"),
    ],
    ids=str,
)
def test_bad_input_gets_one_clear_message(desk, arguments, told):
    """And no traceback."""
    desk.cb("run", *SYSTEMS, "-d", "data.jsonl", "-n", "2", "-q", "-o", "json=other.json")
    process = desk.start(*arguments)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (2, 5)
    assert told in err
    assert "Traceback" not in err


def test_a_shard_without_examples_ends_well(desk):
    """A job of an array that has nothing to do has not failed."""
    written(Path(desk.folder), "data", questions(1))
    for number in (1, 2, 3):
        desk.cb(*run(number, n=3))
