"""The list of runs fits the terminal that it is shown in."""

from __future__ import annotations

import sys

import pytest

from cbcore.cli.runs import _echo_runs

TABLE = [
    ("RUN", "STARTED", "STATE", "OK/ERR/ROWS", "SCORES"),
    (
        *("20261117-210236-c08ea8", "2026-11-17 21:02", "interrupted", "180000/0/180000"),
        "full | extractive 0.718, bm25:max_tokens=150 | extractive 0.627 on hotpotqa:sample",
    ),
]


@pytest.fixture
def shown(monkeypatch, capsys):
    """The list in a terminal of some width, or in a pipe."""

    def show(columns):
        monkeypatch.setenv("COLUMNS", str(columns or 80))
        monkeypatch.setattr(sys.stdout, "isatty", lambda: columns is not None)
        _echo_runs(TABLE)
        return capsys.readouterr().out.splitlines()

    return show


@pytest.mark.parametrize("columns", [60, 80, 100, 120, 200])
def test_no_line_is_longer_than_the_terminal(shown, columns):
    """And nothing is left out but when it was, which the id begins with."""
    lines = shown(columns)
    assert max(map(len, lines)) <= columns
    text = " ".join(" ".join(lines).split())
    for cell in (*TABLE[1][:1], *TABLE[1][2:4]):
        assert cell in text
    for word in TABLE[1][4].split():
        assert word in text
    assert ("2026-11-17 21:02" in text) == (columns >= 100)


def test_a_pipe_gets_one_line_for_each_run(shown):
    """Whatever the width of the terminal behind it."""
    assert len(shown(None)) == 2
    assert shown(None)[1].endswith(TABLE[1][4])
