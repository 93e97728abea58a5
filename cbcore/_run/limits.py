"""When a run ends before its dataset does: too many errors."""

from __future__ import annotations

import math

import attrs

from cbcore._run.tracebacks import FailedScoring, Raised
from cbcore.exceptions import RunError
from cbcore.results import EvalRow

_ROWS_BEFORE_A_SHARE_COUNTS = 20


@attrs.define(eq=False, repr=False)
class ErrorLimit:
    """Stops at the first failure (`fail_fast`) or after more than `max_errors` errored rows.

    A failure is an errored row, or an evaluator that raised where it should have scored one. One
    that says why a score cannot be given has not failed, and the row is none that errored.
    `max_errors` is a number of rows, or, as a float, a share of all rows. A share is taken of
    the rows expected; where these are unknown, of the rows so far, once there are enough.
    """

    max_errors: int | float | None = None
    fail_fast: bool = False
    expected: int | None = None
    _rows: int = 0
    _errors: int = 0

    @property
    def limited(self) -> bool:
        """Whether there is any limit to keep."""
        return self.fail_fast or self.max_errors is not None

    def count(
        self, row: EvalRow, raised: Raised | None = None, failed: FailedScoring | None = None
    ) -> None:
        """Take one row into account; raises `RunError` when the limit is passed.

        That is chained to what an errored row `raised`, or the evaluator that `failed` on it.
        """
        self._rows += 1
        if row.error is None:
            if failed is not None and self.fail_fast:
                raise RunError(
                    f"evaluator {failed.evaluator!r} could not score example {row.example_id!r} "
                    f"of system {row.system!r}: {failed.reason}"
                ) from failed.raised.cause()
            return
        self._errors += 1
        cause = raised.cause() if raised is not None else None
        if self.fail_fast:
            raise RunError(
                f"system {row.system!r} failed on example {row.example_id!r}: {row.error}"
            ) from cause
        if self.max_errors is not None and self._errors > self._allowed():
            shown = str(self.max_errors)
            if isinstance(self.max_errors, float):
                shown = f"{self.max_errors * 100:.3g}% of rows"
            raise RunError(
                f"stopped after {self._errors} errored rows (max_errors is {shown}); "
                f"the last: {row.error}"
            ) from cause

    def _allowed(self) -> float:
        if not isinstance(self.max_errors, float):
            return self.max_errors or 0
        if self.expected is not None:
            return self.max_errors * self.expected
        if self._rows < _ROWS_BEFORE_A_SHARE_COUNTS:
            return math.inf
        return self.max_errors * self._rows
