"""`--traceback` and `--pdb`: the user's own code where a row failed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cbcore.exceptions import UsageError
from cbcore.texts import visible

if TYPE_CHECKING:
    from cbcore.assembly import Builder
    from cbcore.protocols import Run
    from cbcore.results import EvalRow
    from cbcore.run.pair import Attempt
    from cbcore.settings import RunSettings


def cb_configure(settings: RunSettings, builder: Builder) -> None:
    """Let the debugger have the terminal: one call at a time, in this process."""
    if settings.pdb and settings.executor is not None:
        raise UsageError("--pdb needs calls in this process.", hint="Leave --executor out.")
    if settings.pdb:
        settings.concurrency = 1


def cb_run_started(run: Run) -> None:
    """Watch the rows of this run, if that is wanted."""
    if run.settings.traceback or run.settings.pdb:
        run.hooks.register(Debugging())


class Debugging:
    """Shows what the system, or an evaluator, raised for a row."""

    def cb_row_finished(self, run: Run, row: EvalRow, attempt: Attempt) -> None:
        from cbcore.boundary import find_foreign_frames, format_traceback

        failed = attempt.find_failed_scorer()
        error = attempt.raised if attempt.raised is not None else failed and failed[1]
        if error is None:
            return
        where = f"{row.system} on example {row.example_id!r}"
        print(visible(f"\n{where}:\n{format_traceback(error)}", keep="\n"), file=sys.stderr)  # noqa: T201
        if run.settings.pdb and (frames := find_foreign_frames(error.__traceback__)) is not None:
            import pdb  # noqa: T100 - the user asked for it

            debugger = pdb.Pdb(stdout=sys.__stderr__)
            debugger.reset()
            debugger.interaction(None, frames)
            if debugger.quitting:
                raise KeyboardInterrupt
