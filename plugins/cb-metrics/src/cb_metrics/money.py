"""Dollars that were paid to models that answer and to models that judge."""

from __future__ import annotations

import math
from collections.abc import Iterable

import attrs

from cb_metrics.scores import finite
from cbcore.results import EvalRow


@attrs.frozen(eq=False)
class Spending:
    """Dollars in all, as far as they are known.

    Emits `cost_usd`, what the system's calls cost, and `scoring_usd`, what judges and the like
    were paid for its rows; each only where a row tells of it. What some rows tell and others,
    which were answered, do not is NaN: unknown is not free. Failures count with what they cost.
    """

    name = "spending"
    automatic = "always"

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """Add up what one system's rows tell."""
        costs: list[float] = []
        scoring: list[float] = []
        silent = 0
        for row in rows:
            cost = finite(row.metadata.get("cost_usd"))
            if cost is not None:
                costs.append(cost)
            silent += cost is None and row.error is None
            judged = finite(row.metadata.get("scoring_usd"))
            if judged is not None:
                scoring.append(judged)
        values = {}
        if costs:
            values["cost_usd"] = math.nan if silent else math.fsum(costs)
        if scoring:
            values["scoring_usd"] = math.fsum(scoring)
        return values
