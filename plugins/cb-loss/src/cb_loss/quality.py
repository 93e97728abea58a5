"""The number everybody computes by hand: how much of the quality is left."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import attrs

from cbcore.results import EvalRow
from cbcore.stats import measured_ratio


@attrs.frozen
class QualityRetained:
    """Quality relative to a baseline system, on the examples that both have a score for.

    Emits `quality_retained`, the sum of this system's scores over that of the baseline's, with
    a paired interval; 1 is as good. `baseline` is the name of a system; without it, the first
    that leaves the context whole, or else the first. NaN where the baseline scores nothing.
    """

    name = "quality_retained"
    automatic = "several-systems"

    score_field: str = "f1"
    baseline: str | None = None

    def compare(
        self, rows_by_system: Mapping[str, Iterable[EvalRow]]
    ) -> dict[str, dict[str, float]]:
        """Relate every system to the baseline."""
        if self.baseline is not None and self.baseline not in rows_by_system:
            raise ValueError(f"baseline {self.baseline!r} is none of {', '.join(rows_by_system)}")
        seen = {system: self._scores(rows) for system, rows in rows_by_system.items()}
        whole = [system for system, (_, kept_all) in seen.items() if kept_all]
        base = self.baseline or next(iter(whole or seen), None)
        if base is None:
            return {}
        full = dict(seen[base][0])
        found: dict[str, dict[str, float]] = {}
        for system, (scores, _) in seen.items():
            theirs = [full.get(key, math.nan) for key, _ in scores]
            mine = [score + 0 * other for (_, score), other in zip(scores, theirs, strict=True)]
            below = [0.0 if math.isnan(other) else other for other in theirs]
            found[system] = {"quality_retained": _ratio(mine, below)}
        return found

    def _scores(
        self, rows: Iterable[EvalRow]
    ) -> tuple[list[tuple[tuple[str, str | int, int], float]], bool]:
        """The score of each example, NaN where there is none, and whether all context was kept."""
        found = []
        before = after = 0
        for row in rows:
            good = row.error is None
            score = row.scores.get(self.score_field, math.nan) if good else math.nan
            found.append(((row.dataset, row.example_id, row.repeat), score))
            before += row.input_tokens if good else 0
            after += row.output_tokens if good else 0
        return found, after >= before > 0


def _ratio(mine: list[float], below: list[float]) -> float:
    counted = [b for a, b in zip(mine, below, strict=True) if not math.isnan(a)]
    if not counted or math.fsum(counted) <= 0 or min(counted) < 0:
        return math.nan
    return measured_ratio(mine, below, better="higher")
