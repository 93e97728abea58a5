"""How the scores of a system are distributed."""

from __future__ import annotations

import math
from collections.abc import Iterable

import attrs

from cb_metrics.scores import check_name, given, scores_of
from cbcore.results import EvalRow
from cbcore.stats import Measured


@attrs.frozen
class ScoreStatistics:
    """Mean, median, spread and coverage of one score.

    Emits `score_mean`, `score_median`, `score_std` (of a sample; NaN below two scores),
    `score_min`, `score_max`, `score_scored` and `score_missing` (rows without an error that
    have and lack the score), and `score_coverage`: the scored share of all rows, those with
    an error included. NaN where there is nothing to measure.
    """

    name = "score_statistics"

    score_field: str = attrs.field(default="f1", validator=check_name)

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """Sum up the scores of one system's rows."""
        import statistics  # dear, and this metric is asked for by few

        by_row, missing = scores_of(rows, self.score_field)
        scores = given(by_row)
        covered = [0.0 if math.isnan(score) else 1.0 for score in by_row]
        return {
            "score_mean": Measured.mean(by_row, kind="score"),
            "score_median": statistics.median(scores) if scores else math.nan,
            "score_std": statistics.stdev(scores) if len(scores) > 1 else math.nan,
            "score_min": min(scores, default=math.nan),
            "score_max": max(scores, default=math.nan),
            "score_scored": float(len(scores)),
            "score_missing": float(missing),
            "score_coverage": Measured.mean(covered, kind="rate"),
        }
