"""How long the system took."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import attrs

from cb_metrics.quantiles import measured_quantile
from cb_metrics.scores import finite
from cbcore.results import EvalRow, Section
from cbcore.stats import Estimate, Measured, Units

Better: TypeAlias = Literal["lower"] | None


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
        return _Times.of(rows).values(better="lower")

    def compare(
        self, rows_by_system: Mapping[str, Iterable[EvalRow]]
    ) -> dict[str, dict[str, float]]:
        """Summarise each system. None is best if some rows are cached: that was another day."""
        found = {system: _Times.of(rows) for system, rows in rows_by_system.items()}
        mixed = len({was_cached for times in found.values() for was_cached in times.cached}) > 1
        better: Better = None if mixed else "lower"
        return {system: times.values(better=better) for system, times in found.items()}


class _Times(NamedTuple):
    """The seconds of one system's rows, and whether rows are cached, new, or some of each."""

    taken: list[float]
    first: list[float]
    cached: set[bool]

    @classmethod
    def of(cls, rows: Iterable[EvalRow]) -> _Times:
        found = cls([], [], set())
        for row in rows:
            good = row.error is None
            found.taken.append(row.latency if good else math.nan)
            told = finite(row.metadata.get("first_token_s")) if good else None
            found.first.append(math.nan if told is None else told)
            if good:
                found.cached.add(row.cached)
        return found

    def values(self, *, better: Better) -> dict[str, float]:
        found: dict[str, float] = {
            "latency_mean": Measured.mean(self.taken, kind="amount", better=better),
            "latency_median": measured_quantile(self.taken, 0.5),
            "latency_p95": measured_quantile(self.taken, 0.95),
            "latency_p99": measured_quantile(self.taken, 0.99),
        }
        if _told(self.first):
            found["first_token_median"] = measured_quantile(self.first, 0.5)
            found["first_token_p95"] = measured_quantile(self.first, 0.95)
        return found


@attrs.frozen(eq=False)
class StageLatency:
    """Latency of each stage of a chain, for rows that are not cached.

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
        for system, given in rows_by_system.items():
            rows = given if isinstance(given, Sequence) else list(given)
            stages: dict[str, list[float]] = {}
            for place, row in enumerate(rows):
                told = None if row.cached else row.metadata.get("stage_s")
                for stage, seconds in told.items() if isinstance(told, Mapping) else ():
                    own = stages.setdefault(str(stage), [math.nan] * len(rows))
                    own[place] = seconds
            if not stages:
                continue
            lines.append({"name": system, "kind": "group"})
            units = Units.of(rows)
            sums = {stage: math.fsum(_told(own)) for stage, own in stages.items()}
            total = math.fsum(sums.values())
            lines += [
                _stage(stage, own, units, sums[stage] / total if total else None)
                for stage, own in stages.items()
            ]
        columns = {"p50": "p50", "p95": "p95", "p99": "p99", "share": "share", "n": "n"}
        return Section("Latency by stage", lines, "stage", columns) if lines else None


def _told(seconds: Iterable[float]) -> list[float]:
    """Those of the rows that tell any."""
    return [one for one in seconds if not math.isnan(one)]


def _stage(stage: str, seconds: list[float], units: Units, share: float | None) -> dict[str, Any]:
    found = {p: measured_quantile(seconds, p / 100) for p in (50, 95, 99)}
    return {
        "name": stage,
        "depth": 1,
        **{f"p{p}": _text(value.terms.estimate(units)) for p, value in found.items()},
        "share": "" if share is None else f"{100 * share:.0f}%",
        "n": len(_told(seconds)),
        "median_s": float(found[50]),
    }


def _text(estimate: Estimate | None) -> str:
    if estimate is None:
        return ""
    told = f"{1000 * estimate.value:.3g} ms"
    if estimate.interval is None:
        return told
    low, high = (f"{1000 * bound:.3g}" for bound in estimate.interval)
    return f"{told} [{low}, {high}]"
