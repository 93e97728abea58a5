"""What the observer promises, case by case."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cbcore import EvalRow

from {{ cookiecutter.__package }} import observer


def watch(*seconds: float) -> None:
    """Lets the observer see a run with a row for each of these."""
    rows = observer.SlowRows()
    for number, latency in enumerate(seconds):
        rows.cb_row_finished(EvalRow("one", number, latency=latency))
    rows.cb_run_finished()


def test_slow_rows_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    watch(0.5, 2.25)
    assert capsys.readouterr().err == "one: 1 took 2.2 s\n"
    watch(0.5)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("said", "seconds"), [("0.25", 0.25), ("soon", 1.0)])
def test_the_environment_says_what_is_slow(
    monkeypatch: pytest.MonkeyPatch, said: str, seconds: float
) -> None:
    monkeypatch.setenv(observer.VARIABLE, said)
    assert observer.limit() == seconds


def test_a_run_is_watched(cb: Callable[..., str]) -> None:
    """The installed plugin changes nothing of what a run prints."""
    printed = cb(
        *("run", "--system", "py:pieces:Parrot", "--dataset", "questions.jsonl"),
        *("--evaluator", "py:pieces:Exact", "--output", "py:pieces:Json"),
    )
    assert printed.startswith("{")
