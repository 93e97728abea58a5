"""How long the system took."""

from __future__ import annotations

from collections.abc import Iterable

import cb_metrics
from cbcore.results import EvalRow


class Latency(cb_metrics.Latency):
    """Mean, median and tail of the seconds a row took; percentiles interpolate."""

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """Summarise the latencies of one system's rows; 0.0 without rows."""
        rows = list(rows)
        values = super().compute(rows)
        return values if rows else dict.fromkeys(values, 0.0)
