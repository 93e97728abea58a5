"""Columns and long lines: cut to fit a terminal, and left whole for other programs."""

from __future__ import annotations

import sys

import pytest

from cbcore.cli.console import echo_columns

WORDS = "alpha, beta, gamma, delta, epsilon"


@pytest.fixture
def terminal(monkeypatch):
    """Say that standard output is a terminal of some width."""

    def set_width(columns):
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    return set_width


def test_the_last_column_goes_on_below_itself(terminal, capsys):
    """The columns before it stay readable."""
    terminal(36)
    echo_columns(("NAME", "OFFERS"), [("one", WORDS), ("three", "x")])
    assert capsys.readouterr().out.splitlines() == [
        "NAME   OFFERS",
        "one    alpha, beta, gamma, delta,",
        "       epsilon",
        "three  x",
    ]


@pytest.mark.parametrize("columns", [20, 200])
def test_a_line_is_left_whole_where_there_is_room_or_far_too_little(terminal, capsys, columns):
    terminal(columns)
    echo_columns(("NAME", "OFFERS"), [("label", WORDS)])
    assert capsys.readouterr().out == f"NAME   OFFERS\nlabel  {WORDS}\n"


def test_a_pipe_gets_one_line_each(monkeypatch, capsys):
    """Programs that read lines do not care where a terminal would end."""
    monkeypatch.setenv("COLUMNS", "36")
    echo_columns(("NAME", "OFFERS"), [("label", WORDS)])
    assert capsys.readouterr().out == f"NAME   OFFERS\nlabel  {WORDS}\n"


def test_a_word_that_is_too_long_is_not_broken(terminal, capsys):
    """Paths and names can still be copied."""
    terminal(32)
    path = "/a/rather/long/path/to/some-where/else"
    echo_columns(("NAME", "OFFERS"), [("label", f"in {path}")])
    assert capsys.readouterr().out == f"NAME   OFFERS\nlabel  in\n       {path}\n"
