"""The metric: sweeps of a run as curves, in a section of the result."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from operator import sub
from typing import Any

import attrs

from cb_sweeps import curves as reading
from cb_sweeps.curves import Curve
from cb_sweeps.options import DEFAULT_MARGIN
from cb_sweeps.samples import Sample, find_full_context, sample_of
from cb_sweeps.smallest import ALPHA, lower_bound_of, smallest_budget
from cb_sweeps.sweeps import find_sweeps
from cbcore.results import EvalRow, Section
from cbcore.results.verdicts import format_p_value, format_too_few
from cbcore.stats import Estimate, Terms, compare_pairs, holm

ABSENT = "–"
_UNITS = {"output_tokens": "tokens", "latency": "seconds"}


@attrs.frozen
class BudgetCurves:
    """Swept systems as curves of quality against cost.

    Emits no number for a system; its section has a line for each sweep: the mean quality over
    the costs that all sweeps cover (the area under the curve, over its width), the knee, the
    smallest budget at which quality is no worse than full context by more than the `margin`, and
    the quality at 25 % of the cost of full context. Then every two sweeps are compared as
    curves, on the same examples. Full context is the first system outside the sweeps that
    leaves the context whole, or else the first. `cost` is `output_tokens`, `latency`, or a key
    of the rows' metadata such as `net_usd`.
    """

    name = "budget_curves"
    automatic = "several-systems"

    score_field: str = "f1"
    margin: float = DEFAULT_MARGIN
    cost: str = "output_tokens"
    share: float = 0.25

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """Nothing: all numbers are of sweeps, not of systems."""
        return {}

    def section(
        self, rows_by_system: Mapping[str, Iterable[EvalRow]], config: Mapping[str, Any]
    ) -> Section | None:
        """A line for each sweep; None for a run without any."""
        records = config.get("systems") or ()
        sweeps = find_sweeps(record for record in records if record.get("name") in rows_by_system)
        if not sweeps:
            return None
        levels = {sweep.name: ALPHA / sweep.n_looks for sweep in sweeps}
        swept = {system for sweep in sweeps for system in sweep.systems}
        others = [system for system in rows_by_system if system not in swept]
        full = find_full_context({s: rows_by_system[s] for s in others})
        wanted = [*([full] if full else ()), *swept]
        sample = sample_of({s: rows_by_system[s] for s in wanted}, self.score_field, self.cost)
        if not sample.keys:
            return None
        curves = [Curve.of(sweep, sample) for sweep in sweeps]
        lines = [self._line(curve, curves, sample, full, levels[curve.name]) for curve in curves]
        alpha = min(levels.values())
        return Section(
            title=self._title(sample, full) + self._too_few(sample, full, alpha),
            lines=[*lines, *_compared(curves, sample)],
            header="sweep",
            columns=self._columns(curves, full),
            chart=self._chart(curves, sample, full),
        )

    def _title(self, sample: Sample, full: str | None) -> str:
        against = f", compared with {full}" if full else ""
        return f"Budgets: {self.score_field} on {len(sample.keys):,} examples{against}"

    def _too_few(self, sample: Sample, full: str | None, alpha: float) -> str:
        """A note if no budget can be claimed, however well the sweeps do."""
        if full is None or not all(0 <= s <= 1 for own in sample.scores.values() for s in own):
            return ""
        whole = _mean(sample.scores[full], sample)
        if whole is None or not whole.is_testable:
            n_clusters = None if sample.groups is None else len(set(sample.groups))
            return f", {format_too_few(len(sample.keys), n_clusters)}"
        least = lower_bound_of([0.0] * len(sample.keys), sample.groups, alpha=alpha)
        if least is None or least >= -self.margin:
            return ""
        return f", too few to rule out a loss of {self.margin:g}"

    def _columns(self, curves: Sequence[Curve], full: str | None) -> dict[str, str]:
        shared = reading.shared_range(curves)
        unit = _UNITS.get(self.cost, self.cost)
        over = f" over {_number(shared[0])} to {_number(shared[1])} {unit}" if shared else ""
        columns = {}
        if full:
            columns["smallest"] = f"within {self.margin:g} from"
            columns["share"] = f"of its {unit}"
            columns["at_share"] = f"at {100 * self.share:.0f}% of its {unit}"
        return {**columns, "area": f"mean{over}", "knee": "knee"}

    def _line(
        self,
        curve: Curve,
        curves: Sequence[Curve],
        sample: Sample,
        full: str | None,
        alpha: float,
    ) -> dict[str, Any]:
        line: dict[str, Any] = {"name": curve.name, "area": ABSENT, "knee": ABSENT}
        if (shared := reading.shared_range(curves)) is not None:
            estimate = _mean(reading.areas(curve, *shared), sample)
            line["area"] = _estimate(estimate)
            line["area_value"] = None if estimate is None else estimate.value
        bend = reading.knee(curve.costs, curve.means)
        if bend is not None:
            line["knee"] = _number(curve.budgets[bend])
        if full is not None:
            line.update(self._against(curve, sample, full, alpha))
        return line

    def _against(self, curve: Curve, sample: Sample, full: str, alpha: float) -> dict[str, Any]:
        """The cells on a curve that compare it with the whole context."""
        whole = sample.mean_cost(full)
        found = smallest_budget(curve, sample.scores[full], self.margin, sample.groups, alpha=alpha)
        quality = reading.quality_at(curve, self.share * whole, sample)
        told = {
            "smallest": f"none [{_budget(found.low)}, {_budget(found.high)}]",
            "share": ABSENT,
            "at_share": _estimate(quality) if quality else ABSENT,
            "smallest_value": None,
            "smallest_low": found.low if math.isfinite(found.low) else None,
            "smallest_high": found.high if math.isfinite(found.high) else None,
        }
        if found.index is not None:
            budget = curve.budgets[found.index]
            told["smallest"] = f"{_number(budget)} [{_budget(found.low)}, {_budget(found.high)}]"
            told["smallest_value"] = budget
            if whole:
                told["share"] = f"{100 * curve.costs[found.index] / whole:.0f}%"
        return told

    def _chart(self, curves: Sequence[Curve], sample: Sample, full: str | None) -> dict[str, Any]:
        series = [
            {
                "name": curve.name,
                "points": [
                    _point(cost, _mean(scores, sample), system)
                    for cost, scores, system in zip(
                        curve.costs, curve.scores, curve.systems, strict=True
                    )
                ],
            }
            for curve in curves
        ]
        if full is not None:
            own = _mean(sample.scores[full], sample)
            series.append({"name": full, "points": [_point(sample.mean_cost(full), own, full)]})
        x = _UNITS.get(self.cost, self.cost)
        return {"kind": "curves", "x": f"{x} per example", "y": self.score_field, "series": series}


def _compared(curves: Sequence[Curve], sample: Sample) -> list[dict[str, Any]]:
    """Every two curves over the costs that both cover, paired on examples."""
    found: list[tuple[str, list[float]]] = []
    for one, other in itertools.combinations(curves, 2):
        shared = reading.shared_range([one, other])
        if shared is not None:
            both = map(sub, reading.areas(one, *shared), reading.areas(other, *shared))
            found.append((f"{one.name} − {other.name}", list(both)))
    differences = [_mean(lost, sample) for _, lost in found]
    if not all(one and one.is_testable for one in differences):
        return [
            {"name": name, "area": _estimate(_difference(lost, sample), sign="+"), "p_value": None}
            for name, lost in found
        ]
    p_values = holm([compare_pairs(lost, sample.groups)[0] for _, lost in found])
    return [
        {
            "name": name,
            "area": f"{_estimate(_difference(lost, sample), sign='+')}, "
            f"{format_p_value(p_value, len(found))}",
            "p_value": p_value,
        }
        for (name, lost), p_value in zip(found, p_values, strict=True)
    ]


def _difference(lost: Sequence[float], sample: Sample) -> Estimate | None:
    """The mean difference, with the interval of differences of which few may be other than 0."""
    mean, steady = _mean(lost, sample), Estimate.of_differences(lost, sample.groups, reach=None)
    if mean is None:
        return None
    return attrs.evolve(mean, interval=None if steady is None else steady.interval)


def _mean(values: Sequence[float], sample: Sample) -> Estimate | None:
    return Terms(values).estimate_grouped(sample.groups)


def _point(cost: float, estimate: Estimate | None, label: str) -> dict[str, Any]:
    low, high = (None, None) if estimate is None or not estimate.interval else estimate.interval
    y = None if estimate is None else estimate.value
    return {"x": cost, "y": y, "low": low, "high": high, "label": label}


def _estimate(estimate: Estimate | None, *, sign: str = "") -> str:
    if estimate is None:
        return ABSENT
    told = f"{estimate.value:{sign}.3f}"
    if estimate.interval is None:
        return told
    return f"{told} [{estimate.interval[0]:{sign}.2f}, {estimate.interval[1]:{sign}.2f}]"


def _budget(value: float) -> str:
    return _number(value) if math.isfinite(value) else "none"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:.3g}"
