"""The judge's scores of one system, summed up beside whatever else a run measures."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable

from cbcore.results import EvalRow

_logger = logging.getLogger("cb.llm_judge")


class JudgeSummary:
    """Mean judge score and agreement, and how many rows the judge could not rate.

    Emits `judge_score`, `judge_agreement` where there were several votes, and
    `judge_score_missing` where a measured row lacks its score; the first reason is logged.
    """

    name = "judge_summary"

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """The means over the rows that have the scores; NaN where none has."""
        scores: list[float] = []
        agreements: list[float] = []
        missing: list[str] = []
        for row in rows:
            if row.error is not None:
                continue
            if "judge_score" in row.scores:
                scores.append(row.scores["judge_score"])
            else:
                missing.append(row.missing.get("judge_score", "nobody asked for it"))
            if "judge_agreement" in row.scores:
                agreements.append(row.scores["judge_agreement"])
        found = {"judge_score": _mean(scores)}
        if agreements:
            found["judge_agreement"] = _mean(agreements)
        if missing:
            found["judge_score_missing"] = float(len(missing))
            _logger.warning("judge_score is missing in %d rows: %s", len(missing), missing[0])
        return found


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan
