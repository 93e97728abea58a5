"""`--suite`: the tasks of suites as benchmarks of a run, and their table in its result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cbcore import hookimpl
from cbcore.exceptions import UsageError

if TYPE_CHECKING:
    from cbcore.assembly import Builder
    from cbcore.settings import RunSettings

_OPTIONS = ("include-path", "num-fewshot", "trust", "system-instruction", "fewshot-as-multiturn")


@hookimpl(trylast=True)  # the evaluators that other plugins add score the tasks, too
def cb_configure(settings: RunSettings, builder: Builder) -> None:
    """Add a benchmark for each task of the suites that are asked for."""
    if settings.get("suite"):
        from cb_suites.engine.suite_run import add_suites

        add_suites(settings, builder)
        return
    for flag in _OPTIONS:
        if settings.get(flag) is not None:
            raise UsageError(f"--{flag} is given without --suite", hint="add --suite")
