"""What the tokens bought: how many were saved, and how many a passing answer took."""

from __future__ import annotations

import math
from collections.abc import Iterable

import attrs

from cb_metrics.scores import check_name, check_threshold, measured, noting_missing, score_of
from cbcore.results import EvalRow


@attrs.frozen
class CompressionRatio:
    """Share of the input tokens that the system saved.

    Emits `compression_ratio`, one minus output over input tokens of all rows together: 0
    when nothing was saved, negative when the text grew, NaN without input. And
    `mean_input_tokens` and `mean_output_tokens` per row.
    """

    name = "compression_ratio"
    automatic = "always"

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """Add up the tokens of one system's rows."""
        n_rows = n_input = n_output = 0
        for row in measured(rows):
            n_rows += 1
            n_input += row.input_tokens
            n_output += row.output_tokens
        return {
            "compression_ratio": 1 - n_output / n_input if n_input else math.nan,
            "mean_input_tokens": n_input / n_rows if n_rows else math.nan,
            "mean_output_tokens": n_output / n_rows if n_rows else math.nan,
        }


@attrs.frozen
class CostOfPass:
    """Output tokens spent, over all rows, for each row that passes.

    Emits `cost_of_pass`, infinite when no row passes, and `num_passing`. Tokens of rows that
    fail or lack the score were spent too, and count.
    """

    name = "cost_of_pass"
    automatic = "always"

    score_field: str = attrs.field(default="f1", validator=check_name)
    threshold: float = attrs.field(default=0.7, validator=check_threshold)

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """Divide the output tokens of one system's rows by its passing rows."""
        n_output = n_passing = n_missing = 0
        for row in measured(rows):
            n_output += row.output_tokens
            score = score_of(row, self.score_field)
            n_missing += score is None
            n_passing += score is not None and score >= self.threshold
        values = {
            "cost_of_pass": n_output / n_passing if n_passing else math.inf,
            "num_passing": float(n_passing),
        }
        return noting_missing(values, "cost_of_pass", n_missing)
