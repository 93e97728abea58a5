"""Watching a run: every row that took long is told at its end."""

from __future__ import annotations

import os
import sys

from cbcore import RowFinished, RunFinished, RunStarted, hookimpl

VARIABLE = "{{ cookiecutter.__snake | upper }}_SECONDS"
_slow: dict[str, list[str]] = {}


def limit() -> float:
    """Seconds that a row may take without being told, as the environment says."""
    try:
        return float(os.environ.get(VARIABLE, "1"))
    except ValueError:
        return 1.0


@hookimpl
def cb_run_started(event: RunStarted) -> None:
    """A run begins: nothing is slow yet."""
    _slow[event.run_id] = []


@hookimpl
def cb_row_finished(event: RowFinished) -> None:
    """Remember a row that took longer than it may."""
    row = event.row
    if row.latency is not None and row.latency > limit():
        _slow.setdefault(event.run_id, []).append(
            f"{row.system}: {row.example_id!r} took {row.latency:.1f} s"
        )


@hookimpl
def cb_run_finished(event: RunFinished) -> None:
    """Tell on standard error: what a run prints may be read by a program."""
    for line in _slow.pop(event.run_id, []):
        sys.stderr.write(f"{line}\n")
