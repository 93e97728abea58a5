"""The command line, called from a program that goes on."""

from __future__ import annotations

import signal
import sys
import threading

import pytest

from cbcore.cli import main

RUN = ["run", "-s", "extractive", "-d", "hotpotqa:sample", "-n", "2", "--no-cache"]


def test_who_calls_the_command_line_keeps_the_process(monkeypatch):
    """Such as a runner of tests: its signals are as they were, and its exit code is its own."""
    monkeypatch.setattr(sys, "argv", ["cb", *RUN])
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    running = set(threading.enumerate())
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    assert {t.name for t in threading.enumerate() if t not in running} == set()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", "--sistem", "x"], "cb: error: No such option '--sistem'"),
        (["rn"], "cb: error: No such command 'rn'. Did you mean run?"),
        (["info"], "cb: error: Missing argument 'NAME'"),
    ],
)
def test_wrong_usage_is_told_like_any_other_mistake(arguments, told, capsys):
    """One line, and where to read on."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert error.startswith(told)
    assert hint.startswith("hint: `cb ")
