"""How good the answers are, and the scores of one text against another."""

from __future__ import annotations

import math
from collections.abc import Iterable

import cb_metrics
from cb_answerquality import exact_match, f1_score, recall_score
from cb_answerquality import normalize as normalize_answer
from cbcore.results import EvalRow

__all__ = [
    "MeanScore",
    "PassRate",
    "exact_match",
    "f1_score",
    "normalize_answer",
    "recall_score",
]


class MeanScore(cb_metrics.MeanScore):
    """Mean of one score over the rows that have it."""

    def __init__(self, score_field: str = "score") -> None:
        super().__init__(score_field=score_field)

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """Average the scores of one system's rows; 0.0 without rows, NaN without a score."""
        rows = list(rows)
        return super().compute(rows) if rows else {"mean_score": 0.0}


class PassRate(cb_metrics.PassRate):
    """Share of rows whose score reaches the threshold; a row without the score has not passed.

    Rows with an error were not measured and do not count. Those without the score are told as
    `pass_rate_missing`.
    """

    def __init__(self, threshold: float = 0.7, score_field: str = "score") -> None:
        super().__init__(score_field=score_field, threshold=threshold)

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """Count the passing rows of one system; 0.0 without rows."""
        rows = list(rows)
        if not rows:
            return {"pass_rate": 0.0}
        values = super().compute(rows)
        missing = values.get("pass_rate_missing", 0.0)
        measured = sum(row.error is None for row in rows)
        if missing:
            scored = measured - missing
            values["pass_rate"] = values["pass_rate"] * scored / measured if scored else math.nan
        return values
