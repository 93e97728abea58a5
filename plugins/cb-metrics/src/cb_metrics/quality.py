"""How good the answers are: on average, against a bar, and dataset by dataset."""

from __future__ import annotations

import math
from collections.abc import Iterable

import attrs

from cb_metrics.scores import (
    check_name,
    check_threshold,
    mean,
    measured,
    noting_missing,
    score_of,
    split,
)
from cbcore.results import EvalRow


@attrs.frozen
class MeanScore:
    """Mean of one score over the rows that have it.

    Emits `mean_score`; NaN when no row has the score.
    """

    name = "mean_score"
    automatic = "always"

    score_field: str = attrs.field(default="f1", validator=check_name)

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """Average the scores of one system's rows."""
        scores, missing = split(rows, self.score_field)
        return noting_missing({"mean_score": mean(scores)}, "mean_score", missing)


@attrs.frozen
class PassRate:
    """Share of scored rows whose score reaches the threshold.

    Emits `pass_rate`, between 0 and 1; NaN when no row has the score. A score equal to the
    threshold passes.
    """

    name = "pass_rate"
    automatic = "always"

    score_field: str = attrs.field(default="f1", validator=check_name)
    threshold: float = attrs.field(default=0.7, validator=check_threshold)

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """Count the passing rows of one system."""
        scores, missing = split(rows, self.score_field)
        passing = sum(score >= self.threshold for score in scores)
        rate = passing / len(scores) if scores else math.nan
        return noting_missing({"pass_rate": rate}, "pass_rate", missing)


@attrs.frozen
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
        scores_by_dataset: dict[str, list[float]] = {}
        for row in measured(rows):
            scores = scores_by_dataset.setdefault(row.dataset or "unknown", [])
            score = score_of(row, self.score_field)
            if score is not None:
                scores.append(score)
        return {
            f"dataset:{name}": mean(scores_by_dataset[name]) for name in sorted(scores_by_dataset)
        }
