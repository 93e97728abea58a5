"""What others wrote is shown, never obeyed: no command lets a terminal be driven by data."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.fake_distributions import Workplace, write_distribution, write_hooks, write_system

HOSTILE = (
    "\x1b]0;title\x07\x1b[31mred\x1b]8;;http://evil\x1b\\link\x9b2J\x85\x7f\x08"
    "\u202eoverride\u2066isolate\u2028line\u2029paragraph\u200bnothing"
)
"""Sequences of escape, bell, C1, delete, backspace; what reorders, breaks and hides text."""
OBEYED = "\x00\x07\x08\x1b\x7f\x85\x9b\u200b\u2028\u2029\u202e\u2066"
"""The characters in it that a terminal would act on."""

MINE = textwrap.dedent(f"""
    import logging, sys

    HOSTILE = {HOSTILE!r}


    class System:
        name = "system" + HOSTILE

        def process(self, example):
            logging.getLogger("cb.mine").warning("logged " + HOSTILE)
            return {{"response": "r" + HOSTILE, "metadata": {{"k" + HOSTILE: "v" + HOSTILE}}}}


    class Failing(System):
        def process(self, example):
            raise ValueError("failed " + HOSTILE)


    class Unmade:
        def __init__(self):
            raise RuntimeError("unmade " + HOSTILE)


    class Dataset:
        name = "data" + HOSTILE

        def __iter__(self):
            yield {{"id": "i" + HOSTILE, "question": "q", "answer": "a"}}
            raise OSError("no more " + HOSTILE)


    class Evaluator:
        name = "evaluator" + HOSTILE
        emits = ("s" + HOSTILE,)

        def score(self, original, processed):
            raise ValueError("not scored " + HOSTILE)


    class Metric:
        name = "metric" + HOSTILE

        def compute(self, rows):
            raise ValueError("not computed " + HOSTILE)


    class Reporter:
        name = "reporter" + HOSTILE

        def render(self, result):
            raise ValueError("not rendered " + HOSTILE)
""")
DATA = json.dumps({"id": 1, "question": "q" + HOSTILE, "answer": "a", "context": "c" + HOSTILE})


@pytest.fixture
def place(workplace: Workplace) -> Workplace:
    workplace.write("mine.py", MINE)
    workplace.write("data.jsonl", DATA + "\n")
    workplace.write("bad.yaml", json.dumps({"key" + HOSTILE: 1}))
    return workplace


def obeyed(text: str) -> set[str]:
    return {f"{character!r}" for character in text if character in OBEYED}


def on_terminal(place: Workplace, *arguments: str, **environ: str) -> str:
    """What `cb` writes when standard output and standard error are a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "cbcore", *arguments],
        cwd=place.folder,
        env=place.environment(TERM="xterm", COLUMNS="200", **environ),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    written = b""
    try:
        while data := os.read(ours, 65536):
            written += data
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(ours)
        process.wait(timeout=60)
    return written.decode()


RUNS = [
    ("-s", "py:./mine.py:System", "-d", "data.jsonl"),
    ("-s", "py:./mine.py:System", "-d", "data.jsonl", "-o", "json"),
    ("-s", "py:./mine.py:System", "-d", "data.jsonl", "-o", "markdown"),
    ("-s", "py:./mine.py:System", "-d", "data.jsonl", "-o", "csv"),
    ("-s", "py:./mine.py:System", "-d", "data.jsonl", "--dry-run"),
    ("-s", "py:./mine.py:Failing", "-d", "data.jsonl"),
    ("-s", "py:./mine.py:Failing", "-d", "data.jsonl", "--fail-fast"),
    ("-s", "py:./mine.py:Failing", "-d", "data.jsonl", "--max-errors", "0"),
    ("-s", "py:./mine.py:Unmade", "-d", "data.jsonl"),
    ("-s", "py:./mine.py:System", "-d", "py:./mine.py:Dataset"),
    ("-s", "identity", "-d", "data.jsonl", "-e", "py:./mine.py:Evaluator"),
    ("-s", "identity", "-d", "data.jsonl", "-m", "py:./mine.py:Metric"),
    ("-s", "identity", "-d", "data.jsonl", "-o", "py:./mine.py:Reporter"),
    ("bad.yaml",),
    ("-s", "identity", "-d", f"no{HOSTILE}.jsonl".replace("/", "")),
    ("-s", f"no{HOSTILE}", "-d", "data.jsonl"),
    ("-s", "identity", "-d", "data.jsonl", "--no-plugin", f"no{HOSTILE}"),
    ("-s", "identity", "-d", "data.jsonl", "--score-field", f"no{HOSTILE}"),
    (f"--no{HOSTILE}",),
    (f"{HOSTILE}.yaml".replace("/", ""),),
]


@pytest.mark.parametrize("arguments", RUNS, ids=range(len(RUNS)))
def test_a_run_shows_what_it_was_given(place, arguments):
    """Tables, progress, log lines, errors and hints, on a terminal."""
    shown = on_terminal(place, "run", *arguments, "-vv")
    assert "\x1b[31mred" not in shown
    # The progress display has colours and moves the cursor itself.
    assert obeyed(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)) == set()
    assert "\\x1b]0;title" in shown


def test_log_lines_as_json_read_back_and_are_safe(place):
    """What is unseen is escaped as JSON has it, so that nothing of it is lost."""
    arguments = ("-s", "py:./mine.py:System", "-d", "data.jsonl", "--log-format", "json")
    told = place.cb("run", *arguments, "--no-cache").stderr
    assert obeyed(told) == set()
    events = [json.loads(line)["event"] for line in told.splitlines() if line.startswith("{")]
    assert f"logged {HOSTILE}" in events


def test_a_traceback_is_safe(place):
    """That of a defect, which `CB_DEBUG` shows whole."""
    entries = {"cb.commands": {"fall": "cb_fall:command"}}
    module = textwrap.dedent(f"""
        import click

        @click.command("fall")
        def command():
            raise LookupError({HOSTILE!r})
    """)
    write_distribution(place.site, "cb-fall", entries, {"cb_fall.py": module})
    for environ in ({}, {"CB_DEBUG": "1"}):
        done = place.cb("fall", **environ)
        assert done.returncode == 1
        assert ("Traceback" in done.stderr) == bool(environ)
        assert "\\x1b]0;title" in done.stderr
        assert obeyed(done.stdout + done.stderr) == set()


@pytest.fixture
def infested(place: Workplace) -> Workplace:
    """Plugins with hostile summaries, versions, docstrings and errors; a run and a suite too."""
    flat = HOSTILE.replace("\x85", "").replace("\u2028", "").replace("\u2029", "")
    source = textwrap.dedent(f"""
        class System:
            {("doc " + HOSTILE)!r}
            name = "worded"

            def __init__(self, parameter={HOSTILE!r}): ...

            def process(self, example):
                return {{}}
    """)
    write_system(place.site, "cb-worded", "worded", source)
    write_distribution(place.site, "cb-summed", {"cb.systems": {"s": "x:Y"}}, summary=flat)
    write_hooks(place.site, "cb-raising", f"raise RuntimeError({HOSTILE!r})")
    place.folder.joinpath("suites").mkdir()
    task = {"task": "t" + HOSTILE, "dataset": "d" + HOSTILE, "tag": ["g" + HOSTILE], "zz": 1}
    place.write("suites/t.yaml", json.dumps(task))
    place.cb("run", *RUNS[0], "-o", "json=result.json")
    return place


LISTINGS = [
    ("list",),
    ("list", "systems"),
    ("list-plugins", "-v"),
    ("info", "worded"),
    ("plugins", "show", "cb-raising"),
    ("plugins", "show", "cb-summed"),
    ("plugins", "show", "cb-worded"),
    ("plugins", "explain", f"no{HOSTILE}"),
    ("plugins", "check", "cb-worded"),
    ("doctor",),
    ("hooks",),
    ("runs",),
    ("provenance", "result.json"),
    ("provenance", f"no{HOSTILE}".replace("/", "")),
    ("resume", f"no{HOSTILE}"),
    ("list", "tasks", "--include-path", "suites"),
    ("list", "tags", "--include-path", "suites"),
    ("suite", "show", "t" + HOSTILE, "--include-path", "suites"),
    ("suite", "validate", "suites"),
    ("run", "--help"),
    ("--help",),
    (f"no{HOSTILE}",),
]


def test_every_listing_shows_what_is_there(infested):
    """For people and, where there is one, as JSON, which reads back as the same data."""
    for arguments in LISTINGS:
        shown = on_terminal(infested, *arguments)
        assert obeyed(shown) == set(), arguments
        if arguments[0] in ("list", "list-plugins", "info", "doctor", "hooks", "runs"):
            done = infested.cb(*arguments, "--json")
            assert obeyed(done.stdout + done.stderr) == set(), arguments
            json.loads(done.stdout)


def test_commands_print_through_one_function():
    """So that none can forget: only `echo`, what prints whole documents and what paints what it
    has made safe call click's."""
    folder = Path(__file__).parents[2]
    sources = [*folder.glob("cbcore/cli/*.py"), *folder.glob("plugins/*/src/**/*.py")]
    direct = {path.name for path in sources if "click.echo" in path.read_text(encoding="utf-8")}
    assert direct == {"console.py", "reports.py", "painting.py"}
