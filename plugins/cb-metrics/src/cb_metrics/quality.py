"""How good the answers are: on average, against a bar, and dataset by dataset."""

from __future__ import annotations

import math
from collections.abc import Iterable

import attrs

from cb_metrics.scores import (
    check_name,
    check_threshold,
    fits_scale,
    given,
    note_missing,
    score_of,
    scores_of,
)
from cbcore.exceptions import UsageError
from cbcore.results import EvalRow
from cbcore.stats import Measured


@attrs.frozen(eq=False)
class MeanScore:
    """Mean of one score over the rows that have it.

    Emits `mean_score`; NaN when no row has the score.
    """

    name = "mean_score"
    automatic = "always"

    score_field: str = attrs.field(default="f1", validator=check_name)

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """Average the scores of one system's rows."""
        scores, missing = scores_of(rows, self.score_field)
        return note_missing(
            {"mean_score": Measured.mean(scores, kind="score")}, "mean_score", missing
        )


@attrs.frozen(eq=False)
class PassRate:
    """Share of scored rows whose score reaches the threshold.

    Emits `pass_rate`, between 0 and 1; NaN when no row has the score. A score equal to the
    threshold passes. Scores and threshold must be on the same scale.
    """

    name = "pass_rate"
    automatic = "always"

    score_field: str = attrs.field(default="f1", validator=check_name)
    threshold: float = attrs.field(default=0.7, validator=check_threshold)

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """Count the passing rows of one system."""
        scores, missing = scores_of(rows, self.score_field)
        bar = self.threshold
        self._check_scale(given(scores))
        passed = [1.0 if s >= bar else 0.0 if s < bar else math.nan for s in scores]
        return note_missing({"pass_rate": Measured.mean(passed, kind="rate")}, "pass_rate", missing)

    def _check_scale(self, scores: list[float]) -> None:
        """Refuse a threshold between 0 and 1 for scores on another scale, and the other way."""
        if not fits_scale(scores, self.threshold):
            raise UsageError(
                f"{self.score_field} ranges from {min(scores):g} to {max(scores):g}, so the threshold "
                f"{self.threshold:g} does not fit it. Set --threshold to a value on the same scale."
            )


@attrs.frozen(eq=False)
class PerDatasetBreakdown:
    """Mean of one score for each dataset of the run.

    Emits `dataset:<name>` in alphabetical order; rows without a dataset tag are
    `dataset:unknown`. NaN where no row of the dataset has the score; nothing without rows.
    """

    name = "per_dataset_breakdown"
    automatic = "several-datasets"

    score_field: str = attrs.field(default="f1", validator=check_name)

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """Average the scores of one system's rows, dataset by dataset."""
        scores: dict[str, list[float]] = {}
        positions: dict[str, list[int]] = {}
        for position, row in enumerate(rows):
            if row.error is not None:
                continue
            name = row.dataset or "unknown"
            score = score_of(row, self.score_field)
            scores.setdefault(name, []).append(math.nan if score is None else score)
            positions.setdefault(name, []).append(position)
        return {
            f"dataset:{name}": Measured.mean(scores[name], kind="score", positions=positions[name])
            for name in sorted(scores)
        }
