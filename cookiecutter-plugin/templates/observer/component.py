"""Watching a run: every row that took long is reported at the end of the run."""

from __future__ import annotations

import os
import sys

from cbcore import EvalRow
from cbcore.protocols import Run

VARIABLE = "{{ cookiecutter.__snake | upper }}_SECONDS"


def limit() -> float:
    """Seconds that a row may take without a report, from the environment."""
    try:
        return float(os.environ.get(VARIABLE, "1"))
    except ValueError:
        return 1.0


class SlowRows:
    """The slow rows of one run. Two runs in one process do not share them."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def cb_row_finished(self, row: EvalRow) -> None:
        """Remember a row that took longer than it may."""
        if row.latency is not None and row.latency > limit():
            self.lines.append(f"{row.system}: {row.example_id!r} took {row.latency:.1f} s")

    def cb_run_finished(self) -> None:
        """Report on standard error: a program may read what a run prints."""
        for line in self.lines:
            sys.stderr.write(f"{line}\n")


def cb_run_started(run: Run) -> None:
    """Watch this run."""
    run.hooks.register(SlowRows())
