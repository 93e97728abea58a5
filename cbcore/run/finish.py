"""The end of a run: from its rows to a result, how it ended, and when too many rows failed."""

from __future__ import annotations

import math
import os
from collections import Counter
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
from cbcore.results.causes import alike
from cbcore.results.summary import mark_idle
from cbcore.run.calling import MORE_ROOM
from cbcore.run.scorers import describe_missing
from cbcore.store.rows import StoredRows, StoredTexts

if TYPE_CHECKING:
    from cbcore.run.pair import Attempt
    from cbcore.run.runner import Runner
    from cbcore.settings.run_settings import RunSettings


SAME_ERRORS = 10
"""A system whose first examples all fail with the same error is stopped after so many."""
_ROWS_BEFORE_A_SHARE_COUNTS = 20


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
        texts = Joined(
            [
                StoredTexts(reader, run.run_id, system, positions=_find_positions(rows))
                for system, rows in run.rows.items()
            ]
        )
    result = EvalResult(
        rows=rows,
        timing=run.timing,
        config=mark_idle(config, "evaluators", run.idle),
        metrics=run.metrics,
        texts=texts,
    )
    result.summarize(run.rows, run)
    return result


def _find_positions(rows: Sequence[EvalRow]) -> Sequence[int]:
    return rows.positions if isinstance(rows, StoredRows) else [row.position for row in rows]


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


# -- when a system is stopped -------------------------------------------------------------------


class ErrorLimit:
    """The failed rows of each system, and whether they are too many.

    `settings.max_errors` is a number of rows or, as a float, a share of the `expected` rows of a
    system; if these are unknown, of the rows so far, once there are enough.
    """

    def __init__(self, settings: RunSettings, expected: int | None) -> None:
        self._limit = settings.max_errors
        self._expected = expected
        self._rows: Counter[str] = Counter()
        self._failed: Counter[str] = Counter()
        self._same: dict[str, str | None] = {}  # of each system whose first rows are all alike

    def count(self, row: EvalRow, n_repeats: int, *, is_data: bool) -> str | None:
        """The reason to stop the system of this row, if there is one now.

        `n_repeats` are those of its example. A failure of the data counts for a limit that was
        asked for, and for nothing else.
        """
        limit = self._limit
        if limit is None:
            return None if is_data else self._find_same_errors(row, n_repeats)
        self._rows[row.system] += 1
        if row.error is None:
            return None
        self._failed[row.system] += 1
        n_failed, most, shown = self._failed[row.system], float(limit), str(limit)
        if isinstance(limit, float):
            shown = f"{limit * 100:.3g}% of rows"
            n_rows = self._rows[row.system]
            is_early = self._expected is None and n_rows < _ROWS_BEFORE_A_SHARE_COUNTS
            most = math.inf if is_early else limit * (self._expected or n_rows)
        if n_failed <= most:
            return None
        rows = "1 row" if n_failed == 1 else f"{n_failed} rows"
        return f"{rows} failed, and --max-errors is {shown}. The last error: {row.error}"

    def _find_same_errors(self, row: EvalRow, n_repeats: int) -> str | None:
        error = row.error and alike(row.error, row.example_id)
        if error is None or error != self._same.setdefault(row.system, error):
            self._same[row.system] = None
            return None
        self._failed[row.system] += 1
        if self._failed[row.system] != SAME_ERRORS * n_repeats:
            return None
        return f"Its first {SAME_ERRORS} examples failed with the same error: {row.error}"


def check_fail_fast(row: EvalRow, attempt: Attempt) -> None:
    """Raise `RunError` for a row that failed, or that an evaluator failed on."""
    if row.error is not None:
        raise RunError(
            f"System {row.system!r} failed on example {row.example_id!r}: {row.error}"
        ) from attempt.raised
    if (failed := attempt.find_failed_scorer()) is not None:
        evaluator, error = failed
        raise RunError(
            f"Evaluator {evaluator!r} could not score example {row.example_id!r} of system "
            f"{row.system!r}: {describe_missing(error)}"
        ) from error
