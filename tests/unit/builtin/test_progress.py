"""The progress display: what it counts, what it shows, and when it is silent."""

from __future__ import annotations

import io
import sys
import threading
from types import SimpleNamespace

import attrs
import pytest

from cbcore import evaluate
from cbcore._logging import configure
from cbcore._store.tally import Tally
from cbcore.builtin import progress
from cbcore.builtin.progress import Progress, Standing, cb_run_started, fitted
from cbcore.plugins.manager import HookManager
from cbcore.results import EvalRow


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def start(*, total=None, systems=("a",)):
    """The display of a run, and its clock."""
    clock = Clock()
    run = SimpleNamespace(system_names=list(systems), total=total)
    return Progress(run, clock), clock


def finish(display, n, system="a", **fields):
    for number in range(n):
        display.cb_row_finished(EvalRow(system, number, dataset="d", **fields))


def test_rows_are_added_up():
    display, _ = start()
    finish(display, 2, error="no", output_tokens=5)
    finish(display, 3, recalled=True, response_tokens=1, metadata={"cost_usd": 0.5})
    tally = display.standing().tally
    assert (tally.rows, tally.errored, tally.recalled) == (5, 2, 3)
    assert (tally.tokens, tally.usd) == (13, 1.5)


def test_the_time_left_follows_from_the_recent_rate():
    """Cached rows that came all at once say nothing about those to come."""
    display, clock = start(total=1100)
    finish(display, 1000)
    clock.now = 1
    display.standing()
    for second in range(2, 62):
        clock.now = second
        finish(display, 1)
        standing = display.standing()
    assert standing.rate == pytest.approx(1.0, rel=0.05)
    assert standing.left_s == pytest.approx(40, rel=0.05)


def test_an_unknown_total_is_known_once_the_first_system_is_through():
    """Every system sees the same examples."""
    display, _ = start(systems=("a", "b", "c"))
    finish(display, 7)
    assert display.standing().total is None
    finish(display, 1, "b")
    assert display.standing().total == 21


def test_the_line_says_total_time_left_errors_and_what_was_recalled():
    """All that is known, and names last."""
    tally = Tally(40, 2, 30, 1234, 0.25, EvalRow("sys", 1, dataset="data"))
    line = fitted(Standing(tally, 100, 2.0), 200)
    assert line.startswith("━━━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌   40 of 100 rows  40%    2.0/s")
    assert "30 s left" in line
    assert line.endswith("2 errors  30 recalled  1,234 tokens  $0.2500  sys on data")


@pytest.mark.parametrize("columns", [20, 60, 80, 120])
def test_long_names_leave_the_numbers_where_they_are(columns):
    """Their middle is left out; the line never wraps."""
    tally = Tally(rows=5, last=EvalRow("s" * 300, 1, dataset="d" * 300))
    short = attrs.evolve(tally, last=EvalRow("s", 1, dataset="d"))
    long_line = fitted(Standing(tally, 10, 1.0), columns)
    short_line = fitted(Standing(short, 10, 1.0), columns)
    assert len(long_line) <= columns
    numbers = long_line.partition("left")[0]
    assert short_line.startswith(numbers)


def test_in_eighty_columns_errors_and_what_was_recalled_are_told():
    """The bar makes room for them; no number is cut in two."""
    tally = Tally(1265, 12, 1000, 11_660, 0.25, EvalRow("sys", 1, dataset="data"))
    line = fitted(Standing(tally, 15_010, 352.0), 79)
    assert len(line) <= 79
    assert "1,265 of 15,010 rows   8%" in line
    assert line.endswith("39 s left  12 errors  1,000 recalled")
    shorter = fitted(Standing(tally, 15_010, 352.0), 60)
    assert shorter.endswith("39 s left  12 errors")


def test_names_of_others_cannot_drive_the_terminal():
    """They are shown as they are written, with what is unseen spelled out."""
    row = EvalRow("system\x1b]0;title\x07", 1, dataset="data\u202e\x9b2J")
    line = fitted(Standing(Tally(last=row), None, None), 200)
    assert line.endswith("system\\x1b]0;title\\x07 on data\\u202e\\x9b2J")


class WaitsForALine:
    """A system whose second call waits until a line was written."""

    name = "waits"

    def __init__(self, written):
        self._written = written
        self._calls = 0

    def process(self, example):
        self._calls += 1
        if self._calls == 2:
            assert self._written.wait(20)
        return {"response": "x"}


class Log(io.StringIO):
    def __init__(self):
        super().__init__()
        self.written = threading.Event()

    def write(self, text):
        if "of 3 rows" in text:
            self.written.set()
        return super().write(text)


def test_where_there_is_no_terminal_a_line_is_written_now_and_then(monkeypatch):
    """With what the live line has, for the log of a build."""
    log = Log()
    monkeypatch.setattr(sys, "stderr", log)
    monkeypatch.setattr(progress, "LINE_EVERY_S", 0.01)
    examples = [{"id": i, "context": "c"} for i in range(3)]
    evaluate([WaitsForALine(log.written)], examples, [], [])
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
    hooks = HookManager()
    run = SimpleNamespace(system_names=["a"], total=None, hooks=hooks, show_progress=True)
    cb_run_started(run)
    for row in (EvalRow("a", 1), EvalRow("a", 2)):
        hooks.hook.cb_row_finished(run=run, row=row)
    hooks.hook.cb_run_finished(run=run, result=None)
    assert "2 rows" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K")
