"""The end of a run that errs: why, how often, and on which example first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cbcore.cli._text import clean, echo

if TYPE_CHECKING:
    from cbcore.results import EvalResult
    from cbcore.results.causes import Cause

_MOST_CAUSES = 5
_INDENT = "    "


def tell_causes(result: EvalResult) -> None:
    """Say on standard error why rows errored, and why evaluators failed; nothing with `--quiet`.

    With `--verbose`, each reason has the traceback of its first row.
    """
    from cbcore._logging import is_quiet, is_verbose
    from cbcore.results.causes import causes_of

    if is_quiet():
        return
    causes = causes_of(result.rows)
    errors = [cause for cause in causes if cause.kind == "error"]
    failed = [cause for cause in causes if cause.kind == "missing" and cause.is_failure]
    n_errored = sum(cause.count for cause in errors)
    if errors:
        echo(f"{n_errored:,} of {len(result.rows):,} rows errored:", err=True)
        _list(errors, tracebacks=is_verbose())
    if failed:
        echo("scores are missing because an evaluator failed:", err=True)
        _list(failed, tracebacks=is_verbose())


def _list(causes: list[Cause], *, tracebacks: bool) -> None:
    for cause in causes[:_MOST_CAUSES]:
        where = f"example {cause.example_id!r}"
        if cause.dataset:
            where += f" of {cause.dataset}"
        lacks = f"no {cause.score}: " if cause.score else ""
        told = f"  {cause.count:,} × {lacks}{cause.reason} (first: {where}, {cause.system})"
        echo(clean(told), err=True)
        if tracebacks and cause.traceback:
            echo("\n".join(_INDENT + line for line in cause.traceback.split("\n")), err=True)
    if left := causes[_MOST_CAUSES:]:
        rows = sum(cause.count for cause in left)
        echo(f"  {rows:,} × {len(left):,} other reasons", err=True)
