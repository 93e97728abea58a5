"""How long the system took."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from cb_metrics.scores import finite
from cbcore.results import EvalRow, Section
from cbcore.stats import Estimate, measured_mean, measured_quantile, quantile_at, quantile_of


@attrs.frozen(eq=False)
class Latency:
    """Mean, median and tail of the seconds a row took, end to end.

    Emits `latency_mean`, `latency_median`, `latency_p95` and `latency_p99`, NaN without
    rows. Percentiles interpolate linearly between the closest ranks: Hyndman and Fan's
    type 7, the default of numpy and PERCENTILE.INC of spreadsheets; their intervals are bounded
    by values of the sample itself, and left out where it is too small. Where answers were streamed,
    `first_token_median` and `first_token_p95` are the seconds until their first piece came.
    """

    name = "latency"
    automatic = "always"

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """Summarise the latencies of one system's rows."""
        taken: list[float] = []
        first: list[float] = []
        streamed = False
        for row in rows:
            good = row.error is None
            taken.append(row.latency if good else math.nan)
            told = finite(row.metadata.get("first_token_s")) if good else None
            first.append(math.nan if told is None else told)
            streamed = streamed or told is not None
        values: dict[str, float] = {
            "latency_mean": measured_mean(taken, kind="amount", better="lower"),
            "latency_median": measured_quantile(taken, 0.5),
            "latency_p95": measured_quantile(taken, 0.95),
            "latency_p99": measured_quantile(taken, 0.99),
        }
        if streamed:
            values["first_token_median"] = measured_quantile(first, 0.5)
            values["first_token_p95"] = measured_quantile(first, 0.95)
        return values


@attrs.frozen(eq=False)
class StageLatency:
    """What each stage of a chain takes, for rows that were called and not from the store.

    Emits no number; its section has a line for each stage of each system, with the median and
    the tail of its seconds and its share of all that the system took.
    """

    name = "stage_latency"

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """Nothing: stages are told in the section."""
        return {}

    def section(
        self, rows_by_system: Mapping[str, Iterable[EvalRow]], config: Mapping[str, Any]
    ) -> Section | None:
        """The stages; None for a run without chains."""
        lines = []
        for system, rows in rows_by_system.items():
            stages: dict[str, list[float]] = {}
            total = 0.0
            for row in rows:
                told = row.metadata.get("stage_s")
                for stage, seconds in told.items() if isinstance(told, Mapping) else ():
                    stages.setdefault(str(stage), []).append(seconds)
                    total += seconds
            if stages:
                lines.append({"name": system, "kind": "group"})
            lines += [_stage(stage, own, total) for stage, own in stages.items()]
        columns = {"p50": "p50", "p95": "p95", "p99": "p99", "share": "share", "n": "n"}
        return Section("Latency by stage", lines, "stage", columns) if lines else None


def _stage(stage: str, seconds: list[float], total: float) -> dict[str, Any]:
    ordered = sorted(seconds)
    return {
        "name": stage,
        "depth": 1,
        **{f"p{p}": _text(quantile_of(ordered, p / 100)) for p in (50, 95, 99)},
        "share": f"{100 * math.fsum(ordered) / total:.0f}%" if total else "",
        "n": len(ordered),
        "median_s": quantile_at(ordered, 0.5),
    }


def _text(estimate: Estimate | None) -> str:
    if estimate is None:
        return ""
    told = f"{1000 * estimate.value:.3g} ms"
    if estimate.interval is None:
        return told
    low, high = (f"{1000 * bound:.3g}" for bound in estimate.interval)
    return f"{told} [{low}, {high}]"
