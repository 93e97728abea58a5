"""The end of a run: from its rows to a result, and how it ended."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from cbcore.components import describe_exception
from cbcore.exceptions import (
    CBError,
    RunError,
    RunInterruptedError,
    RunStoppedError,
    StoreError,
)
from cbcore.results import EvalResult, EvalRow, RunConfig
from cbcore.results.eval_result import RunState
from cbcore.results.summary import mark_idle
from cbcore.run.calling import MORE_ROOM
from cbcore.secrets import redact
from cbcore.store.rows import JoinedRows, StoredRows, StoredTexts

if TYPE_CHECKING:
    from cbcore.run.runner import Runner


def summarize(run: Runner, failure: BaseException | None) -> EvalResult:
    """The result of a run: its metrics, verdicts and sections, and what the reader has to know."""
    learn_score(run)
    config: RunConfig = {**run.config, **describe_ending(failure)}
    if run.budget.is_limited:
        spent = run.budget.spent
        config["spent"] = {"tokens": spent.tokens, "usd": spent.usd or 0.0}
    if run.executor is not None:
        config["repeated_calls"] = sum(sum(one.losses) for one in run.workers.values())
    if run.failures:
        config["failures"] = {name: redact(why) for name, why in run.failures.items()}
    if run.stopped:
        config["stopped"] = {name: redact(why) for name, why in run.stopped.items()}
    for record, examples in zip(config["datasets"], run.examples, strict=False):
        cast("dict[str, Any]", record).update(n_examples=examples.n_read, data=examples.digest)
    parts = list(run.rows.values())
    rows: Sequence[EvalRow] = JoinedRows(parts)
    if run.settings.rows == "memory":
        rows = [row for part in parts for row in part]
    result = EvalResult(
        rows=rows,
        timing=run.timing,
        config=mark_idle(config, "evaluators", run.idle),
        metrics=run.metrics,
        texts=_find_texts(run),
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
    rows = [row for of_system in run.rows.values() for row in of_system]
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


def _find_texts(run: Runner) -> StoredTexts | None:
    """The texts behind the rows, if they are stored."""
    if run.store is None or run.saved is None or run.settings.no_examples:
        return None
    run.store.flush()
    return StoredTexts([StoredRows(run.store.reader, run.run_id, system) for system in run.rows])


# -- how it ended --------------------------------------------------------------------------------


def describe_end(failure: BaseException | None) -> tuple[RunState, str | None]:
    """The state of a run that ended, and why it did not finish."""
    if failure is None:
        return "finished", None
    error = find_error(failure)
    if error is None:
        return "interrupted", None
    return "failed", redact(error.message)


def describe_ending(failure: BaseException | None) -> RunConfig:
    """As `describe_end`, for the configuration in a result."""
    state, reason = describe_end(failure)
    return {"state": state, "state_reason": reason} if reason else {"state": state}


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


def find_cause(failure: BaseException) -> BaseException:
    """What an early end is chained to: if one row ended the run, what that row raised."""
    return failure.__cause__ or failure if type(failure) is RunError else failure


def describe_stop(failure: BaseException, result: EvalResult) -> RunStoppedError:
    """The error for a run that ended early."""
    n_rows = len(result.rows)
    kept = "No row was finished." if not n_rows else f"{n_rows} finished rows are kept."
    if n_rows == 1:
        kept = "1 finished row is kept."
    error = find_error(failure)
    if isinstance(error, StoreError):  # the store may have fewer
        kept = kept.replace("kept", "reported")
    if error is None:
        return RunInterruptedError(f"Interrupted. {kept}", result=result)
    stopped = RunStoppedError(f"{error.message}\n{kept}", result=result, hint=error.hint)
    stopped.exit_code = error.exit_code
    return stopped
