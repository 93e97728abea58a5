"""Commands as a user types them, and how they are played: results, exit codes, numbers of calls."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import attrs

from cb_testing.fixtures import CbRunner
from tests.golden.endpoint import Endpoint
from tests.golden.reader import read

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
CONCURRENCY = 3
N_TOWNS = 10
N_NOT_BLOCKED = 4
TIME_LIMIT_S = 60


@attrs.frozen
class Interrupted:
    """A command that gets a signal when all of its concurrent calls are blocked.

    The outputs of the finished calls are saved by then, as `--dry-run` shows.
    """

    command: str
    signal: signal.Signals


@attrs.frozen
class Golden:
    """Commands typed one after the other in one folder, and the results they leave there.

    Standard output goes to the file behind ` > `. `$ENDPOINT` is the address of the local endpoint.
    `most_calls` bounds the calls of interrupted commands, whose exact number depends on timing.
    """

    name: str
    steps: tuple[str | Interrupted, ...]
    results: tuple[str, ...] = ("result.json",)
    most_calls: int | None = None


TOWNS = "-d towns.jsonl --field context=passage"
SAVED = "-o json=result.json"


def interrupted(name: str, number: signal.Signals) -> Golden:
    run = f"cb run -s py:./mine.py:Blocking {TOWNS} --max-workers {CONCURRENCY} {SAVED}"
    steps = (Interrupted(run, number), "cb resume latest")
    return Golden(name, steps, most_calls=N_TOWNS + CONCURRENCY)


GOLDEN = [
    Golden(
        "demo",
        (
            "cb run examples/demo.yaml",
            "cb compare demo-results/result.json --json > compare.json",
        ),
        ("demo-results/result.json", "compare.json"),
    ),
    Golden(
        "sweep",
        (
            (
                'cb run -d hotpotqa:sample -n 12 -s "identity | extractive:name=full"'
                ' -s "bm25:max_tokens=50..200/50 | extractive"'
                f' -s "truncate:max_tokens=50..200/50 | extractive" --margin 0.1 {SAVED}'
            ),
            (
                'cb sweep -d hotpotqa:sample -n 16 -s "identity | extractive:name=full"'
                ' -s "py:./mine.py:FirstWords:n=50..400/50 | extractive" --margin 0.1 --adaptive'
                " -o json=adaptive.json"
            ),
        ),
        ("result.json", "adaptive.json"),
    ),
    Golden(
        "net_cost",
        (
            (
                'cb run -d traffic:sample,each=request -s "identity | extractive:name=full"'
                ' -s "truncate:max_tokens=1000,keep=tail | extractive:name=window"'
                ' -s "bm25:max_tokens=1000 | extractive:name=bm25"'
                f" --cache-model anthropic,price_in=3,price_out=15 {SAVED}"
            ),
        ),
    ),
    Golden(
        "own_data",
        (
            (
                'cb run -s "identity | extractive"'
                ' -s "py:./mine.py:first_part:share=0.5 | extractive:name=first half"'
                f" -s py:./mine.py:Finder:failing=t4 {TOWNS} {SAVED}"
            ),
            f"cb run -s py:./mine.py:Finder {TOWNS} -e py:./mine.py:length -o json=length.json",
        ),
        ("result.json", "length.json"),
    ),
    Golden(
        "suites",
        (
            (
                'cb run --suite demo --system "bm25:max_tokens=60 | extractive:name=bm25"'
                " -o json=demo.json"
            ),
            "cb run examples/suites.yaml -o json=town.json",
        ),
        ("demo.json", "town.json"),
    ),
    Golden(
        "memory",
        (
            f"cb run examples/memory.yaml {SAVED}",
            (
                "cb run --memory 'py:./mine.py:Notebook | extractive' -d locomo:sample"
                " -o json=notebook.json"
            ),
        ),
        ("result.json", "notebook.json"),
    ),
    Golden(
        "judge",
        (
            (
                f"cb run --proxy $ENDPOINT --name proxy --model reader {TOWNS}"
                f" --judge-url $ENDPOINT --judge-model judge --score-field judge_score {SAVED}"
            ),
            (
                f"cb run --proxy $ENDPOINT --name proxy --model reader {TOWNS}"
                " --judge-url $ENDPOINT --judge-model judge --score-field judge_score"
                " -o json=again.json"
            ),
        ),
        ("result.json", "again.json"),
    ),
    Golden(
        "resume",
        (
            f"cb run -s py:./mine.py:Finder:failing=t4 {TOWNS} -n 6 -o json=six.json",
            f"cb run -s py:./mine.py:Finder:failing=t4 {TOWNS} {SAVED}",
            "cb resume latest",
        ),
        ("six.json", "result.json"),
    ),
    Golden(
        "rescore",
        (
            f"cb run -s py:./mine.py:Finder {TOWNS} -o json=first.json",
            f"cb rescore latest -e answer_quality -e py:./mine.py:length {SAVED}",
        ),
    ),
    Golden(
        "shards",
        (
            f"cb run -s py:./mine.py:Finder -s 'identity | extractive' {TOWNS} --shard 1/2",
            f"cb run -s py:./mine.py:Finder -s 'identity | extractive' {TOWNS} --shard 2/2",
            f"cb merge latest latest~1 {SAVED}",
        ),
    ),
    Golden(
        "concurrency",
        (
            (
                f"cb run -s py:./mine.py:Finder -s 'py:./mine.py:FirstWords:n=12 | extractive' {TOWNS}"
                f" --repeats 3 --max-workers 4 --interleave {SAVED}"
            ),
        ),
    ),
    Golden(
        "executor",
        (
            (
                f"cb run -s py:./mine.py:Finder:failing=t4 {TOWNS}"
                f" --executor processes:workers=2 {SAVED}"
            ),
        ),
    ),
    interrupted("ctrl_c", signal.SIGINT),
    interrupted("kill_9", signal.SIGKILL),
]


def play(golden: Golden, folder: Path, cache: Path) -> dict[str, Any]:
    """Type the commands in a folder, and return what has to stay the same."""
    shutil.copytree(HERE / "inputs", folder, dirs_exist_ok=True)
    shutil.copytree(ROOT / "examples", folder / "examples")
    log = folder / "calls.log"
    steps = []
    with Endpoint(log) as endpoint:
        for step in golden.steps:
            log.write_text("")
            exit_code = _type_command(step, folder, cache, endpoint.url)
            calls = Counter(log.read_text().split())
            steps.append({"command": _text(step), "exit_code": exit_code, "calls": dict(calls)})
    if golden.most_calls is not None:
        n_calls = sum(sum(step.pop("calls").values()) for step in steps)
        assert n_calls <= golden.most_calls, f"{n_calls} calls, at most {golden.most_calls}"
    return {"steps": steps, "results": {name: read(folder / name) for name in golden.results}}


def _text(step: str | Interrupted) -> str:
    return step if isinstance(step, str) else f"{step.command}  # {step.signal.name}"


def _type_command(step: str | Interrupted, folder: Path, cache: Path, url: str) -> int:
    if isinstance(step, Interrupted):
        return _interrupt(step, folder, cache)
    command, _, file = step.partition(" > ")
    done = CbRunner(folder, cache, folder)(*shlex.split(command.replace("$ENDPOINT", url))[1:])
    if file:
        (folder / file).write_text(done.stdout, encoding="utf-8")
    assert "Traceback" not in done.stderr, done.stderr
    return done.exit_code


def _interrupt(step: Interrupted, folder: Path, cache: Path) -> int:
    """Start a process, wait until its calls are blocked, and send the signal."""
    environment = {"PATH": os.environ["PATH"], "XDG_CACHE_HOME": str(cache), "HOME": str(cache)}
    with (folder / "stderr.txt").open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "cbcore", *shlex.split(step.command)[1:]],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )
        try:
            while len([*folder.glob("blocked-*")]) < CONCURRENCY:
                assert not _has_ended(process), (folder / "stderr.txt").read_text()
            while _calls_to_make(step.command, folder, cache) > N_TOWNS - N_NOT_BLOCKED:
                assert not _has_ended(process), (folder / "stderr.txt").read_text()
            process.send_signal(step.signal)
            exit_code = process.wait(TIME_LIMIT_S)
        finally:
            process.kill()
            process.wait()
    (folder / "unblocked").touch()
    return exit_code


def _calls_to_make(command: str, folder: Path, cache: Path) -> int:
    """How many calls a command would make now."""
    done = CbRunner(folder, cache, folder)(*shlex.split(command)[1:], "--dry-run")
    found = re.search(r"(\d+) calls?\b", done.stdout)
    assert found, done
    return int(found[1])


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Look for the end of a process, for as long as the next look at a file may wait."""
    try:
        process.wait(0.01)
    except subprocess.TimeoutExpired:
        return False
    return True
