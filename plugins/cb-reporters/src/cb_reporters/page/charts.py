"""The data of the charts of the page; `figures` writes the same as tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import attrs

from cb_reporters.formats import finite
from cb_reporters.page.distributions import ScoreSpread, latencies, score_spreads
from cb_reporters.page.survey import Survey
from cb_reporters.view import View, components
from cbcore.results import EvalResult, Section

_LEAST = 3

_Stages: TypeAlias = "list[tuple[str, dict[str, Any]]]"
_Key: TypeAlias = "tuple[int, str]"


class Family(NamedTuple):
    """Systems by the value of the one parameter that sets them apart."""

    name: str
    parameter: str
    systems: tuple[tuple[float, str], ...]


def families_of(records: Sequence[Mapping[str, Any]]) -> list[Family]:
    """Every set of at least three systems that are the same but for one numeric parameter."""
    found: list[Family] = []
    taken: set[str] = set()
    described = [(str(record.get("name")), _stages(record)) for record in records]
    for name, stages in described:
        for key in _numbers(stages):
            if name in taken:
                break
            members = [
                (float(_at(others, key)), other)
                for other, others in described
                if other not in taken and _without(others, key) == _without(stages, key)
            ]
            if len({at for at, _ in members}) >= _LEAST:
                taken |= {other for _, other in members}
                found.append(Family(_named(stages), key[1], tuple(sorted(members))))
    return found


def _stages(record: Mapping[str, Any]) -> _Stages:
    stages = record.get("stages") or [record]
    return [(str(stage.get("component")), dict(stage.get("params") or {})) for stage in stages]


def _numbers(stages: _Stages) -> list[_Key]:
    return [
        (i, name)
        for i, (_, params) in enumerate(stages)
        for name, value in params.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]


def _at(stages: _Stages, key: _Key) -> Any:
    return stages[key[0]][1][key[1]]


def _without(stages: _Stages, key: _Key) -> _Stages | None:
    """The stages without one parameter; None where it is not there, or no number."""
    if key not in _numbers(stages):
        return None
    where, name = key
    return [
        (component, {k: v for k, v in params.items() if (i, k) != (where, name)})
        for i, (component, params) in enumerate(stages)
    ]


def _named(stages: _Stages) -> str:
    return " | ".join(component for component, _ in stages)


# -- charts --------------------------------------------------------------------------------------


Estimate: TypeAlias = "tuple[float, float | None, float | None]"
"""A value with the bounds of its 95 % interval, where they are known; in a section that knows of
none, with one standard error to either side."""

_MOST_GROUPS = 40


@attrs.frozen(eq=False, repr=False)
class Axis:
    """The cost of a system, as one axis of the first chart."""

    key: str
    label: str
    unit: str


@attrs.frozen(eq=False, repr=False)
class Point:
    """A system, its quality, and what it costs by each axis."""

    system: str
    quality: Estimate
    costs: dict[str, Estimate]


@attrs.frozen(eq=False, repr=False)
class Placed:
    """The value of a system in one place: a dataset, or a group of a suite."""

    place: str
    system: str
    value: Estimate


@attrs.frozen(eq=False, repr=False)
class Group:
    """The chart of a section: one metric in several places, with intervals if there are any."""

    id: str
    title: str
    metric: str
    lines: list[Placed]
    intervals: bool = False


class Charts(NamedTuple):
    """Everything that is drawn. What would have nothing to compare is left out."""

    quality: str
    axes: list[Axis]
    points: list[Point]
    families: list[tuple[Family, dict[str, Estimate]]]
    datasets: list[Placed]
    groups: list[Group]
    spreads: list[ScoreSpread]
    latency: list[dict[str, Any]]

    @classmethod
    def of(cls, result: EvalResult, view: View, survey: Survey) -> Charts:
        """The charts that have data. Distributions are there when all rows were read."""
        quality = _estimates(result, "mean_score")
        is_whole = survey.is_whole(result)
        costs = survey.mean_costs() if is_whole else {}
        axes, points = _frontier(result, quality, costs)
        column = view.first("mean_score")
        families = families_of(components(result.config, "systems"))
        return cls(
            quality=column.header if column else "quality",
            axes=axes,
            points=points,
            families=[
                (family, quality)
                for family in families
                if all(system in quality for _, system in family.systems)
            ],
            datasets=_datasets(result) if len(view.datasets) > 1 else [],
            groups=list(_groups(result)),
            spreads=score_spreads(survey.index) if is_whole else [],
            latency=latencies(survey.index) if is_whole else [],
        )

    def to_json(self) -> dict[str, Any]:
        """As the page wants it; what is not there has no key."""
        spreads = [drawn for spread in self.spreads if (drawn := spread.drawn())]
        found: dict[str, Any] = {
            "frontier": self.axes and {"axes": _plain(self.axes), "points": _plain(self.points)},
            "families": [
                {
                    "family": family.name,
                    "parameter": family.parameter,
                    "points": [
                        {"system": system, "at": at, "quality": quality[system]}
                        for at, system in family.systems
                    ],
                }
                for family, quality in self.families
            ],
            "datasets": _plain(self.datasets),
            "groups": _plain(self.groups),
            "distributions": spreads,
            "latency": self.latency,
        }
        return {"quality": self.quality, **{key: value for key, value in found.items() if value}}


def _plain(records: Sequence[Any]) -> list[dict[str, Any]]:
    return [attrs.asdict(record) for record in records]


def _estimates(result: EvalResult, key: str) -> dict[str, Estimate]:
    """A metric of every system that has a finite value of it."""
    found: dict[str, Estimate] = {}
    for system, values in result.summary.items():
        value = values.get(key)
        if value is None or not math.isfinite(value):
            continue
        estimate = result.estimates.get(system, {}).get(key)
        low, high = None, None
        if estimate is not None and estimate.interval is not None and estimate.is_bounded:
            low, high = estimate.interval
        found[system] = (value, low, high)
    return found


def _frontier(
    result: EvalResult, quality: Mapping[str, Estimate], costs: Mapping[str, float]
) -> tuple[list[Axis], list[Point]]:
    """The axes by which at least two systems can be told apart, and the systems on them."""
    kept = {
        system: (1 - saved, *(None if b is None else 1 - b for b in (high, low)))
        for system, (saved, low, high) in _estimates(result, "compression_ratio").items()
    }
    known: list[tuple[Axis, Mapping[str, Any]]] = [
        (Axis("kept", "tokens kept", "share"), kept),
        (
            Axis("usd", "cost per example", "usd"),
            {system: (cost, None, None) for system, cost in costs.items()},
        ),
        (
            Axis("latency", "median latency", "seconds"),
            _estimates(result, "latency_median"),
        ),
    ]
    shown = [
        (axis, values) for axis, values in known if sum(system in quality for system in values) > 1
    ]
    points = [
        Point(system, value, {axis.key: told[system] for axis, told in shown if system in told})
        for system, value in quality.items()
    ]
    return [axis for axis, _ in shown], points if shown else []


def _datasets(result: EvalResult) -> list[Placed]:
    keys = dict.fromkeys(
        key for values in result.summary.values() for key in values if key.startswith("dataset:")
    )
    return [
        Placed(key.removeprefix("dataset:"), system, value)
        for key in keys
        for system, value in _estimates(result, key).items()
    ]


def _groups(result: EvalResult) -> Iterator[Group]:
    for number, section in enumerate(result.sections.values()):
        found = list(_section_scores(section))
        if not found:
            continue
        (metric, _), *_ = Counter(metric for metric, *_ in found).most_common(1)
        drawn = [(name, system, told) for of, name, system, told in found if of == metric]
        if 1 < len({name for name, *_ in drawn}) <= _MOST_GROUPS:
            intervals = any(_interval(told) for *_, told in drawn)
            bounds = _interval if intervals else _around
            lines = [
                Placed(name, system, (told["value"], *(bounds(told) or (None, None))))
                for name, system, told in drawn
            ]
            yield Group(f"group-{number}", str(section.title), metric, lines, intervals)


def _section_scores(section: Section) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    """Of every line: each metric, its name, a system, and what is told of its finite value."""
    for line in section.lines:
        name = str(line.get("alias") or line.get("name") or "")
        # Of a metric that a line has several times, by other means or filters, the first is drawn.
        scores = {
            str(score.get("metric") or ""): score
            for score in reversed(line.get("scores") or ())
            if isinstance(score, Mapping)
        }
        for metric, score in scores.items():
            values = score.get("values")
            for system, told in values.items() if isinstance(values, Mapping) else ():
                if isinstance(told, Mapping) and finite(told.get("value")) is not None:
                    yield metric, name, str(system), told


def _interval(told: Mapping[str, Any]) -> tuple[float, float] | None:
    bounds = told.get("interval")
    if not isinstance(bounds, list | tuple) or len(bounds) != 2:
        return None
    low, high = map(finite, bounds)
    return None if low is None or high is None else (low, high)


def _around(told: Mapping[str, Any]) -> tuple[float, float] | None:
    value, error = finite(told.get("value")), finite(told.get("stderr"))
    return None if value is None or error is None else (value - error, value + error)
