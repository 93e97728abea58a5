"""The progress display: what it counts, what it shows, and when it is silent."""

from __future__ import annotations

import io
import sys
import threading
from types import SimpleNamespace

import pytest

from cbcore import evaluate
from cbcore._logging import configure
from cbcore.builtin import progress
from cbcore.builtin.progress import Progress, cb_run_started
from cbcore.plugins.manager import HookManager
from cbcore.results import EvalRow
from cbcore.settings import RunSettings


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def make_run(*, total=None, systems=("a",), hooks=None, **settings):
    """What a display reads of a run."""
    named = [SimpleNamespace(name=name) for name in systems]
    return SimpleNamespace(
        systems=named, total=total, hooks=hooks, settings=RunSettings(**settings)
    )


def start(**of_the_run):
    """The display of a run, and its clock."""
    clock = Clock()
    return Progress(make_run(**of_the_run), clock), clock


def finish(display, n, system="a", **fields):
    for number in range(n):
        display.cb_row_finished(EvalRow(system, number, dataset="d", **fields))


def test_the_line_has_total_rate_time_left_counts_and_names():
    """All that is known, and names last."""
    display, clock = start(total=100)
    finish(display, 2, "sys", error="no", output_tokens=500)
    finish(display, 38, "sys", cached=True, response_tokens=5)
    clock.now = 20
    assert display.line() == (
        "40 of 100 rows 40% · 2.0/s · 0:00:30 left · 2 failed · 38 cached · 1,190 tokens · sys on d"
    )


def test_the_line_has_the_dollars_spent_and_those_of_the_budget():
    """Cached rows cost nothing now; an amount that is not a number is not added."""
    costs = {"cost_usd": 0.5, "scoring_usd": 0.25}
    for settings, shown in (({}, "$1.5000"), ({"budget_usd": 4.0}, "$1.5000 of $4")):
        display, _ = start(**settings)
        finish(display, 2, metadata=costs)
        finish(display, 1, cached=True, metadata=costs)
        finish(display, 1, metadata={"cost_usd": "unknown"})
        assert display.line() == f"4 rows · 1 cached · {shown} · a on d"
    display, _ = start(budget_usd=4.0)
    finish(display, 1)
    assert display.line() == "1 rows · $0.0000 of $4 · a on d"


def test_the_time_left_follows_from_the_recent_rate():
    """Cached rows that came all at once say nothing about those to come."""
    display, clock = start(total=1100)
    finish(display, 1000)
    clock.now = 1
    display.line()
    for second in range(2, 62):
        clock.now = second
        finish(display, 1)
        line = display.line()
    assert " · 1.0/s · 0:00:40 left · " in line


def test_an_unknown_total_is_known_once_the_first_system_is_through():
    """Every system sees the same examples."""
    display, _ = start(systems=("a", "b", "c"))
    finish(display, 7)
    assert display.line() == "7 rows · a on d"
    finish(display, 1, "b")
    assert display.line() == "8 of 21 rows 38% · b on d"


def test_names_of_others_cannot_drive_the_terminal():
    """They are shown as they are written, with what is unseen spelled out."""
    display, _ = start()
    display.cb_row_finished(EvalRow("system\x1b]0;title\x07", 1, dataset="data\u202e\x9b2J"))
    assert display.line().endswith("system\\x1b]0;title\\x07 on data\\u202e\\x9b2J")


class WaitsForALine:
    """A system that waits with the second example until a line tells of the first one."""

    name = "waits"

    def __init__(self, written):
        self._written = written

    def process(self, example):
        if example["id"] == 1:
            assert self._written.wait(20)
        return {"response": "x"}


class Log(io.StringIO):
    def __init__(self):
        super().__init__()
        self.written = threading.Event()

    def write(self, text):
        if "1 of 3 rows" in text:
            self.written.set()
        return super().write(text)


def test_where_there_is_no_terminal_a_line_is_written_now_and_then(monkeypatch):
    """With what the live line has, for the log of a build."""
    log = Log()
    monkeypatch.setattr(sys, "stderr", log)
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0.01)
    examples = [{"id": i, "context": "c"} for i in range(3)]
    evaluate([WaitsForALine(log.written)], examples, [], [], concurrency=2)
    assert "cb: info: 1 of 3 rows 33%" in log.getvalue()
    assert "waits on dataset" in log.getvalue()


@pytest.mark.parametrize("how", ["progress=False", "--quiet"])
def test_who_wants_silence_has_it(monkeypatch, how):
    """By its keyword, or by the flag."""
    log = Log()
    monkeypatch.setattr(sys, "stderr", log)
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0.0)
    if how == "--quiet":
        configure(verbosity=-1)
    examples = [{"id": i, "context": "c"} for i in range(3)]
    try:
        evaluate([WaitsForALine(_Set())], examples, [], [], progress=how == "--quiet")
    finally:
        configure()
    assert log.getvalue() == ""


class _Set:
    def wait(self, _):
        return True


def test_a_terminal_gets_a_live_line_that_is_removed_at_the_end(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    hooks = HookManager()
    run = make_run(hooks=hooks)
    cb_run_started(run)
    for row in (EvalRow("a", 1), EvalRow("s" * 300, 2)):
        hooks.hook.cb_row_finished(run=run, row=row, attempt=None)
    hooks.hook.cb_run_finished(run=run, result=None)
    assert "2 rows · " in terminal.getvalue()
    assert "s" * 40 not in terminal.getvalue()  # a long line is cut, not wrapped
    assert terminal.getvalue().endswith("\x1b[2K")
