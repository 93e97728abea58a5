"""How often a score reaches a bar."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cbcore import EvalRow


class {{ cookiecutter.__class }}:
    """The share of scored rows whose score reaches a bar.

    Rows that failed are left out. Rows that lack the score are left out and counted, as
    `{{ cookiecutter.__snake }}_missing`. With no scored row there is no value.
    """

    name = "{{ cookiecutter.__name }}"

    def __init__(self, score_field: str = "f1", threshold: float = 0.7) -> None:
        # Parameters with these two names are given --score and --threshold of the run.
        if not math.isfinite(threshold):
            raise ValueError(f"threshold is {threshold}: it must be a finite number")
        self.score_field = score_field
        self.threshold = threshold

    def compute(self, rows: Sequence[EvalRow]) -> dict[str, float]:
        """Sum up the rows of one system."""
        found = [row.scores.get(self.score_field) for row in rows if row.error is None]
        scores = [score for score in found if score is not None]
        passed = [score for score in scores if score >= self.threshold]
        share = len(passed) / len(scores) if scores else math.nan
        values = {"{{ cookiecutter.__snake }}": share}
        if len(scores) < len(found):
            values["{{ cookiecutter.__snake }}_missing"] = float(len(found) - len(scores))
        return values
