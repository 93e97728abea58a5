"""The number everybody computes by hand: how much of the quality is left."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import attrs

from cbcore.results import EvalRow
from cbcore.results.verdicts import ContextTotals, is_blank
from cbcore.stats import Measured


@attrs.frozen
class QualityRetained:
    """Quality relative to a baseline system, on the examples that both have a score for.

    Emits `quality_retained`, the sum of this system's scores over that of the baseline's, with
    a paired interval; 1 is as good. `baseline` is the name of a system; without it, the first
    that leaves the context whole, or else the first. NaN where the baseline scores nothing, or
    so little without one score that reaches the `threshold` that it cannot do the task.
    """

    name = "quality_retained"
    automatic = "several-systems"

    score_field: str = "f1"
    baseline: str | None = None
    threshold: float = 0.7

    def compare(
        self, rows_by_system: Mapping[str, Iterable[EvalRow]]
    ) -> dict[str, dict[str, float]]:
        """Relate every system to the baseline."""
        if self.baseline is not None and self.baseline not in rows_by_system:
            raise ValueError(f"baseline {self.baseline!r} is none of {', '.join(rows_by_system)}")
        seen = {system: self._scores(rows) for system, rows in rows_by_system.items()}
        totals = {system: of_system for system, (_, of_system) in seen.items()}
        base = self.baseline or ContextTotals.find_baseline(totals)
        if base is None:
            return {}
        full = dict(seen[base][0])
        if is_blank(list(full.values()), self.threshold):
            return {system: {"quality_retained": math.nan} for system in seen}
        found: dict[str, dict[str, float]] = {}
        for system, (scores, _) in seen.items():
            theirs = [full.get(key, math.nan) for key, _ in scores]
            mine = [score + 0 * other for (_, score), other in zip(scores, theirs, strict=True)]
            below = [0.0 if math.isnan(other) else other for other in theirs]
            found[system] = {"quality_retained": _ratio(mine, below)}
        return found

    def _scores(
        self, rows: Iterable[EvalRow]
    ) -> tuple[list[tuple[tuple[str, str | int, int], float]], ContextTotals]:
        """The score of each example, NaN where there is none, and the tokens of all."""
        found, totals = [], ContextTotals()
        for row in rows:
            score = row.scores.get(self.score_field, math.nan) if row.error is None else math.nan
            found.append(((row.dataset, row.example_id, row.repeat), score))
            totals.add(row)
        return found, totals


def _ratio(mine: list[float], below: list[float]) -> float:
    counted = [b for a, b in zip(mine, below, strict=True) if not math.isnan(a)]
    if not counted or math.fsum(counted) <= 0 or min(counted) < 0:
        return math.nan
    return Measured.ratio(mine, below, better="higher", kind="score")
