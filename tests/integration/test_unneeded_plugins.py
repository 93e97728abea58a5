"""A plugin that a run does not need does not stop the run."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.fake_distributions import Workplace, write_hooks

OFFER = """
from cbcore import Component

class Answers:
    name = "answers"

    def process(self, example):
        return {"response": "word"}

def cb_systems():
    return [Component(kind="system", name="odd", target=lambda: Answers())]
"""
HARMLESS = {
    "recursion": "import sys; sys.setrecursionlimit(200)",
    "threads": "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()",
    "prints": "print('raw output')",
    "raises": "raise RuntimeError('torn apart')",
    "exits": "raise SystemExit(0)",
}
FATAL = {
    "segfault": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "exits": "import os; os._exit(0)",
    "interrupt": "raise KeyboardInterrupt",
}
"""These end a process that imports them. Only `cb doctor` and `cb plugins check` survive them."""


def run(workplace: Workplace, *arguments: str) -> subprocess.CompletedProcess[str]:
    workplace.write(
        "data.jsonl", '{"id": 1, "context": "a word", "question": "q", "answer": "word"}\n'
    )
    rest = ("-d", "data.jsonl", "--tokenizer", "words", "--no-cache", "-o", "json")
    return workplace.cb("run", *arguments, *rest)


@pytest.mark.parametrize("case", HARMLESS)
def test_a_run_that_does_not_need_it(workplace: Workplace, case: str) -> None:
    """It works, and its output is the report alone."""
    write_hooks(workplace.site, "cb-a-odd", HARMLESS[case] + OFFER)

    done = run(workplace, "-s", "identity | extractive")

    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["rows"]) == 1


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def cb_row_finished(event): ...", "Argument(s) {'event'}"),
        ("def cb_row_finish(row): ...", "cb_a_odd.cb_row_finish is not a hook of cb"),
        ("import absent_module", "ModuleNotFoundError"),
    ],
)
def test_a_run_names_each_hook_module_that_it_leaves_out(
    workplace: Workplace, source: str, reason: str
) -> None:
    """Once, also if only other plugins are needed; nothing is said of one that is switched off."""
    write_hooks(workplace.site, "cb-a-odd", source)

    done = run(workplace, "-s", "identity | extractive")

    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "cb-a-odd" in line]
    assert line.startswith("cb: warning: Plugin 'cb-a-odd' is left out of this run: ")
    assert reason in line
    assert "--no-plugin cb-a-odd" in line
    assert "cb-a-odd" not in run(workplace, "-s", "identity", "--no-plugin", "cb-a-odd").stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("-s", "cb-a-odd/odd"),
        ("-s", "identity | extractive", "--strict-plugins"),
        ("-s", "identity | extractive", "--require-plugin", "cb-a-odd"),
    ],
    ids=["named", "strict", "required"],
)
def test_a_run_that_needs_one_that_fails(workplace: Workplace, arguments: tuple[str, ...]) -> None:
    """The error names the plugin and the cause before anything is spent."""
    write_hooks(workplace.site, "cb-a-odd", HARMLESS["raises"] + OFFER)

    done = run(workplace, *arguments)

    assert done.returncode == 3
    assert "cb-a-odd" in done.stderr
    assert "torn apart" in done.stderr
    assert done.stdout == ""


def test_a_run_that_needs_one_that_works(workplace: Workplace) -> None:
    """Standard output is the report alone."""
    write_hooks(workplace.site, "cb-a-odd", HARMLESS["prints"] + OFFER)

    done = run(workplace, "-s", "odd")

    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["rows"]) == 1


@pytest.mark.parametrize("case", FATAL)
def test_doctor_finds_a_plugin_that_ends_the_interpreter(workplace: Workplace, case: str) -> None:
    """`cb list-plugins` shows it from then on, and without it a run works."""
    write_hooks(workplace.site, "cb-a-odd", FATAL[case] + OFFER)

    done = workplace.cb("doctor", "--json")

    assert done.returncode == 3
    record = workplace.plugins()["cb-a-odd"]
    assert record["status"] == "broken"
    assert "ended the interpreter" in record["reason"]
    findings = json.loads(done.stdout)["findings"]
    assert ("cb-a-odd", record["reason"]) in {(f["subject"], f["problem"]) for f in findings}
    assert workplace.cb("--help").returncode == 0
    assert run(workplace, "-s", "identity", "--no-plugin", "cb-a-odd").returncode in (0, 7)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("lisst", "Did you mean list?"),
        ("plugins shwo", "Did you mean show?"),
        ("run nope", "no plugin offers a run file of this name"),
    ],
)
def test_a_mistyped_command_imports_no_hook_module(
    workplace: Workplace, typed: str, message: str
) -> None:
    """Suggestions come from entry points: a plugin that ends the interpreter hides no error."""
    write_hooks(workplace.site, "cb-a-odd", FATAL["exits"] + OFFER)
    done = workplace.cb(*typed.split())
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr


def test_only_commands_that_run_or_show_components_import_hook_modules(
    cold_workplace: Workplace,
) -> None:
    """In their own process; nothing else is started."""
    write_hooks(cold_workplace.site, "cb-hooked", OFFER)
    for command in ("list-plugins", "--help", "run --help", "runs", "info --help"):
        _, (process,) = cold_workplace.traced(*command.split())
        assert "cb_hooked" not in process["modules"], command
    for command in ("hooks", "list systems"):
        _, (process,) = cold_workplace.traced(*command.split())
        assert "cb_hooked" in process["modules"], command
