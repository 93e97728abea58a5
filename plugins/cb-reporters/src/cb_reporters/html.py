"""The result as one HTML file that needs nothing else."""

from __future__ import annotations

import attrs

from cb_reporters.page.document import MAX_MB, MAX_ROWS, render
from cbcore.results import EvalResult


def _check_max_rows(_: object, __: object, value: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"max_rows must be a whole number of at least 0, not {value!r}")


def _check_max_mb(_: object, __: object, value: float) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:
        raise ValueError(f"max_mb must be a number above 0, not {value!r}")


@attrs.frozen(eq=False)
class Html:
    """Self-contained web page: verdict, tables, charts, and every example side by side.

    Loads nothing from anywhere. Verdict, tables and causes of errors read without scripts; where
    scripts may run, charts are drawn and examples can be filtered, searched and opened.
    Examples with more than `max_rows` rows in all, or above `max_mb` megabytes, are sampled from
    every system and outcome; the numbers rest on all rows.
    """

    name = "html"
    extension = "html"

    max_rows: int = attrs.field(default=MAX_ROWS, validator=_check_max_rows)
    max_mb: float = attrs.field(default=MAX_MB, validator=_check_max_mb)

    def render(self, result: EvalResult) -> str:
        """The whole page."""
        return render(result, max_rows=self.max_rows, max_mb=self.max_mb)
