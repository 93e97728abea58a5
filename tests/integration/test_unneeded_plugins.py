"""A plugin that nobody needs stops nobody, whatever its hook module does when it is imported."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.fake_distributions import Workplace, write_hooks

HARMFUL = {
    "segfault": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "interrupt": "raise KeyboardInterrupt",
    "recursion": "import sys; sys.setrecursionlimit(60)",
    "threads": "import threading; threading.Thread(target=threading.Event().wait).start()",
    "fork": "import os; os.fork()",
    "writes": "import os; os.write(1, b'raw output')",
}

OFFER = """
from cbcore import Component

class Answers:
    name = "answers"

    def process(self, example):
        return {"response": "word"}

def cb_systems():
    return [Component(kind="system", name="harmful", target=lambda: Answers())]
"""


def run(workplace: Workplace, *arguments: str) -> subprocess.CompletedProcess[str]:
    workplace.write(
        "data.jsonl", '{"id": 1, "context": "a word", "question": "q", "answer": "word"}\n'
    )
    rest = ("-d", "data.jsonl", "--tokenizer", "words", "--no-cache", "-o", "json")
    return workplace.cb("run", *arguments, *rest)


@pytest.mark.parametrize("case", HARMFUL)
def test_a_run_that_does_not_need_it(workplace: Workplace, case: str) -> None:
    """It works, and its output is the report alone; listing and doctor end too."""
    write_hooks(workplace.site, "cb-a-harmful", HARMFUL[case] + OFFER)

    done = run(workplace, "-s", "identity | extractive")

    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["rows"]) == 1
    assert "cb-a-harmful" in workplace.plugins()
    assert workplace.cb("doctor").returncode in (0, 3)
    assert workplace.cb("--help").returncode == 0


@pytest.mark.parametrize("case", ["segfault", "interrupt"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("-s", "cb-a-harmful/harmful"),
        ("-s", "identity | extractive", "--strict-plugins"),
        ("-s", "identity | extractive", "--require-plugin", "cb-a-harmful"),
    ],
    ids=["named", "strict", "required"],
)
def test_a_run_that_needs_one_that_fails(
    workplace: Workplace, case: str, arguments: tuple[str, ...]
) -> None:
    """It is told which, and why, before anything is spent."""
    write_hooks(workplace.site, "cb-a-harmful", HARMFUL[case] + OFFER)

    done = run(workplace, *arguments)

    assert done.returncode == 3
    assert "cb-a-harmful" in done.stderr
    assert "ended the interpreter" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("case", ["fork", "writes"])
def test_a_run_that_needs_one_that_works(workplace: Workplace, case: str) -> None:
    """One process runs, and standard output is the report alone."""
    write_hooks(workplace.site, "cb-a-harmful", HARMFUL[case] + OFFER)

    done = run(workplace, "-s", "harmful")

    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["rows"]) == 1


def test_a_run_imports_no_hook_module_that_it_does_not_use(cold_workplace: Workplace) -> None:
    """Nor does it start a process, once it is known what they offer."""
    cold_workplace.install("cb-good-hooks")
    write_hooks(cold_workplace.site, "cb-unused", OFFER)
    cold_workplace.write(
        "data.jsonl", '{"id": 1, "context": "a word", "question": "q", "answer": "word"}\n'
    )
    command = ("run", "-s", "identity | extractive", "-d", "data.jsonl", "--no-cache")
    assert cold_workplace.cb(*command).returncode == 0

    done, processes = cold_workplace.traced(*command)

    assert done.returncode == 0, done.stderr
    assert len(processes) == 1
    assert "cb_unused" not in processes[0]["modules"]
    assert "cb_good_hooks.hooks" in processes[0]["modules"], "it observes"
