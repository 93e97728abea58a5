"""When a system is stopped before its data ends: too many of its rows failed."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from cbcore.exceptions import RunError
from cbcore.results import EvalRow
from cbcore.results.causes import alike
from cbcore.run.scorers import describe_missing

if TYPE_CHECKING:
    from cbcore.run.pair import Attempt
    from cbcore.settings.run_settings import RunSettings

SAME_ERRORS = 10
"""A system whose first examples all fail with the same error is stopped after so many."""
_ROWS_BEFORE_A_SHARE_COUNTS = 20


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
        self._first: dict[str, list[str]] = {}
        self._n_first = SAME_ERRORS * settings.repeats

    def count(self, row: EvalRow, *, is_data: bool) -> str | None:
        """The reason to stop the system of this row, if there is one now.

        A failure of the data counts for a limit that was asked for, and for nothing else.
        """
        limit = self._limit
        if limit is None:
            return None if is_data else self._find_same_errors(row)
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

    def _find_same_errors(self, row: EvalRow) -> str | None:
        errors = self._first.setdefault(row.system, [])
        if len(errors) == self._n_first:
            return None
        errors.append(alike(row.error or "", row.example_id))
        if len(errors) < self._n_first or len(set(errors)) > 1 or row.error is None:
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
