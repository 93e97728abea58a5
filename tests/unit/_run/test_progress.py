"""What is told while a run is under way."""

from __future__ import annotations

import io
import sys
import threading

import attrs
import pytest

from cbcore import evaluate
from cbcore._logging import configure
from cbcore._run import progress
from cbcore._run.progress import fitted, live
from cbcore._run.row_files import DiskRows
from cbcore._run.tally import Standing, Watched
from cbcore._store.tally import Tally
from cbcore.events import RunStarted
from cbcore.results import EvalRow


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def watched(*, total=None, systems=("a",)):
    clock = Clock()
    found = Watched(clock)
    found.rows = {system: [] for system in systems}
    found.started(RunStarted("run", {}, systems=systems, datasets=("d",), total=total))
    return found, clock


def rows(n, system="a", **fields):
    return [EvalRow(system, i, dataset="d", **fields) for i in range(n)]


def test_what_rows_add_up_to_is_counted_once_each():
    """However often it is asked for."""
    found, _ = watched()
    found.rows["a"] += rows(2, error="no", output_tokens=5)
    found.standing()
    found.rows["a"] += rows(3, recalled=True, response_tokens=1, metadata={"cost_usd": 0.5})
    tally = found.standing().tally
    assert (tally.rows, tally.errored, tally.recalled) == (5, 2, 3)
    assert (tally.tokens, tally.usd) == (13, 1.5)


def test_the_time_left_follows_from_the_rate_of_late():
    """Rows that came from the store all at once say nothing of those to come."""
    found, clock = watched(total=1100)
    found.rows["a"] += rows(1000)
    clock.now = 1
    found.standing()
    for second in range(2, 62):
        clock.now = second
        found.rows["a"] += rows(1)
        standing = found.standing()
    assert standing.rate == pytest.approx(1.0, rel=0.05)
    assert standing.left_s == pytest.approx(40, rel=0.05)


def test_a_total_that_nobody_knew_is_known_once_the_first_system_is_through():
    """Every system sees the same examples."""
    found, _ = watched(systems=("a", "b", "c"))
    found.rows["a"] += rows(7)
    assert found.standing().total is None
    found.rows["b"] += rows(1, "b")
    assert found.standing().total == 21


def test_rows_on_disk_are_counted_as_they_are_written(tmp_path):
    """Nothing is read back for it."""
    found, _ = watched()
    found.rows = {"a": DiskRows(tmp_path)}
    for row in rows(3, error="no"):
        found.rows["a"].append(row)
    assert (found.standing().tally.rows, found.standing().tally.errored) == (3, 3)


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


def test_a_terminal_gets_a_live_line_that_is_gone_in_the_end(monkeypatch):
    """It is drawn by its own thread: nothing is done for it row by row."""

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with live(enabled=True) as observers:
        assert not observers.row
        observers.watched.rows = {"a": rows(2)}
    assert "2 rows" in terminal.getvalue()
    assert terminal.getvalue().endswith("\x1b[2K")
