"""How long the system took."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import attrs

from cb_metrics.scores import given
from cbcore.results import EvalRow
from cbcore.stats import measured_mean


@attrs.frozen
class Latency:
    """Mean, median and tail of the seconds a row took.

    Emits `latency_mean`, `latency_median`, `latency_p95` and `latency_p99`, NaN without
    rows. Percentiles interpolate linearly between the closest ranks: Hyndman and Fan's
    type 7, the default of numpy and PERCENTILE.INC of spreadsheets.
    """

    name = "latency"
    automatic = "always"

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """Summarise the latencies of one system's rows."""
        taken = [math.nan if row.error is not None else row.latency for row in rows]
        seconds = sorted(given(taken))
        return {
            "latency_mean": measured_mean(taken, kind="amount", better="lower"),
            "latency_median": _percentile(seconds, 50),
            "latency_p95": _percentile(seconds, 95),
            "latency_p99": _percentile(seconds, 99),
        }


def _percentile(ordered: Sequence[float], percent: int) -> float:
    if not ordered:
        return math.nan
    # The position is an exact fraction, so that no rank is missed by a rounding error.
    below, hundredths = divmod((len(ordered) - 1) * percent, 100)
    low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
    return min(low + (high - low) * hundredths / 100, high)
