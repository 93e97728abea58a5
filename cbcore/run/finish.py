"""The end of a run: from its rows to a result, and how it ended."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from cbcore.boundary import describe_exception
from cbcore.exceptions import (
    CBError,
    RunError,
    RunInterruptedError,
    RunStoppedError,
    StoreError,
)
from cbcore.results import EvalResult, EvalRow, Joined, RowsBySystem, RunConfig
from cbcore.results.summary import mark_idle
from cbcore.run.calling import MORE_ROOM
from cbcore.store.rows import StoredTexts

if TYPE_CHECKING:
    from cbcore.run.runner import Runner


def summarize(run: Runner, failure: BaseException | None) -> EvalResult:
    """The result of a run: its metrics, verdicts and sections, and what the reader has to know."""
    learn_score(run)
    config: RunConfig = {**run.config, **describe_end(failure)}
    if run.budget.is_limited:
        spent = run.budget.spent
        config["spent"] = {"tokens": spent.tokens, "usd": spent.usd or 0.0}
    if run.executor is not None:
        config["repeated_calls"] = sum(sum(one.losses) for one in run.workers.values())
    if run.failures:
        config["failures"] = dict(run.failures)
    if run.stopped:
        config["stopped"] = dict(run.stopped)
    for record, examples in zip(config["datasets"], run.examples, strict=False):
        cast("dict[str, Any]", record).update(n_examples=examples.n_read, data=examples.digest)
    parts = list(run.rows.values())
    rows: Sequence[EvalRow] = RowsBySystem(parts)
    if run.settings.rows == "memory":
        rows = [row for part in parts for row in part]
    texts = None
    if run.store is not None and run.saved is not None and not run.settings.no_examples:
        run.store.flush()
        reader = run.store.reader
        texts = Joined([StoredTexts(reader, run.run_id, system) for system in run.rows])
    result = EvalResult(
        rows=rows,
        timing=run.timing,
        config=mark_idle(config, "evaluators", run.idle),
        metrics=run.metrics,
        texts=texts,
    )
    result.summarize(run.rows, run)
    return result


def learn_score(run: Runner) -> None:
    """Let quality mean the first score of the rows, if no evaluator declares its scores.

    The row with the most scores names the first evaluator's first. If no row has a score, a score
    that is missing counts.
    """
    if run.metrics_for is None:
        return
    rows = (row for of_system in run.rows.values() for row in of_system)
    fullest = max(rows, key=lambda row: (len(row.scores), len(row.missing)), default=None)
    names = [] if fullest is None else [*fullest.scores, *fullest.missing]
    score = run.config["score_field"]
    learned = next((name for name in names if name != score), None)
    if learned is None or fullest is None or score in fullest.scores:
        return
    parts = run.metrics_for(learned)
    run.metrics = [part.value for part in parts]
    records = [part.record for part in parts]
    run.config = {**run.config, "score_field": learned, "metrics": records}


# -- how it ended --------------------------------------------------------------------------------


def describe_end(failure: BaseException | None) -> RunConfig:
    """The state of a run that ended, and why it did not finish, for the configuration in a result."""
    if failure is None:
        return {"state": "finished"}
    error = find_error(failure)
    if error is None:
        return {"state": "interrupted"}
    return {"state": "failed", "state_reason": error.message}


def find_error(failure: BaseException) -> CBError | None:
    """The error of `cb` that ended a run; None for an interrupt."""
    if isinstance(failure, CBError):
        return failure
    if isinstance(failure, KeyboardInterrupt):
        return None
    if os.environ.get("CB_DEBUG"):
        raise failure
    if isinstance(failure, MemoryError):  # also of SQLite
        return RunError("There is not enough memory.", hint=MORE_ROOM)
    return CBError(
        f"Unexpected {describe_exception(failure)}",
        hint="This is a defect of cb. Set CB_DEBUG=1 for the traceback.",
    )


def describe_stop(failure: BaseException, result: EvalResult) -> RunStoppedError:
    """The error for a run that ended early."""
    error = find_error(failure)
    n_rows = len(result.rows)
    shown = "1 finished row is" if n_rows == 1 else f"{n_rows} finished rows are"
    verb = "reported" if isinstance(error, StoreError) else "kept"  # the store may have fewer
    kept = f"{shown} {verb}." if n_rows else "No row was finished."
    if error is None:
        return RunInterruptedError(f"Interrupted. {kept}", result=result)
    stopped = RunStoppedError(f"{error.message}\n{kept}", result=result, hint=error.hint)
    stopped.exit_code = error.exit_code
    return stopped
