"""Notes before the run, a wrapper around the summary, and an observer before all others."""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from cbcore import EvalRow, hookimpl
from cbcore.protocols import Run
from cbcore.results import Section

if TYPE_CHECKING:
    from cbcore.assembly import Builder
    from cbcore.settings import RunSettings


class Counter:
    """Counts the rows of one run."""

    def __init__(self) -> None:
        self.rows = 0

    @hookimpl(tryfirst=True)
    def cb_row_finished(self, row: EvalRow) -> None:
        self.rows += 1
        print(f"third-party row {row.example_id}", file=sys.stderr)

    def cb_summarize(self) -> Section:
        return Section("Third party", [{"name": "rows", "key": "rows", "scores": []}] * self.rows)


def cb_configure(settings: RunSettings, builder: Builder) -> None:
    for note in settings.get("third-note") or ():
        builder.warn(" ".join([note] * (settings.get("third-note-times") or 1)))


def cb_run_started(run: Run) -> None:
    run.hooks.register(Counter())


@hookimpl(wrapper=True)
def cb_summarize(run: Run) -> Generator[None, list[Any], list[Any]]:
    """Put a section behind those of all other plugins."""
    sections = yield
    return [*sections, Section(f"After {len(sections)} sections", [])]
