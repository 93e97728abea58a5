"""From rows to the summary: one pass of every metric over every system's rows."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import attrs

from cbcore.boundary import contained
from cbcore.exceptions import CBError
from cbcore.introspection import public_attributes
from cbcore.results.eval_row import EvalRow
from cbcore.results.verdicts import (
    Verdict,
    allow_for_choice,
    compare_systems,
    find_ties,
    format_too_few,
)
from cbcore.stats import Estimate, Measured, Units
from cbcore.stats.estimates import FEW_CLUSTERS, FEWEST_UNITS

if TYPE_CHECKING:
    from cbcore.results.eval_result import RunConfig

Summary: TypeAlias = dict[str, dict[str, "float | None"]]
"""System → metric → value. None means that there is no finite value: nothing scored or passed."""

Estimates: TypeAlias = dict[str, dict[str, Estimate]]
"""System → metric → the uncertainty of its value, for the values of which that is known."""


@attrs.define(eq=False, repr=False)
class SummedUp:
    """The summary, its uncertainty, and what went wrong.

    `undecided` names, for each metric by which one system is best, the systems that are not
    significantly different from it. `idle` are the names of metrics that gave no value to any
    system, and did not fail.
    """

    summary: Summary
    estimates: Estimates
    undecided: dict[str, list[str]] = attrs.Factory(dict)
    verdicts: list[Verdict] = attrs.Factory(list)
    problems: list[str] = attrs.Factory(list)
    idle: set[str] = attrs.Factory(set)


def find_means(
    rows_by_system: Mapping[str, Sequence[EvalRow]], score: str | None
) -> dict[str, float | None]:
    """The mean of a score for each system; None if no row has it."""
    means: dict[str, float | None] = {}
    for system, rows in rows_by_system.items():
        values = [row.scores[score] for row in rows if score in row.scores]
        means[system] = math.fsum(values) / len(values) if values else None
    return means


def mark_idle(config: RunConfig, kind: str, names: Collection[str]) -> RunConfig:
    """The config in which the components of a kind that gave nothing, by their names, are `idle`.

    They stay there: with other rows, as of a filter, they may give something.
    """
    marked: dict[str, Any] = {**config}
    records = [{k: v for k, v in one.items() if k != "idle"} for one in marked.get(kind) or ()]
    if records:
        marked[kind] = [{**r, "idle": True} if r.get("name") in names else r for r in records]
    return cast("RunConfig", marked)


def sum_up(
    rows_by_system: Mapping[str, Sequence[EvalRow]],
    metrics: Sequence[Any],
    score_field: str | None = None,
    *,
    config: RunConfig | None = None,
) -> SummedUp:
    """Compute every metric for every system.

    A metric that raises loses its own values only. When two instances of a metric emit the same
    key, the first keeps it and the later ones are qualified by what sets them apart: `mean_score`,
    `mean_score[score_field=recall]`. Each `Measured` value gets an estimate and the systems that
    tie with the best; with a `score_field`, each system gets a verdict. `config` describes the run
    of the rows: its systems, and the threshold from which a score is right.
    """
    found = SummedUp({s: {} for s in rows_by_system}, {s: {} for s in rows_by_system})
    several = len(rows_by_system) > 1
    units = {s: Units.of(rows, keyed=several) for s, rows in rows_by_system.items()}
    if score_field is not None:
        # The run is over by now: whatever its rows hold, it must not be lost.
        with contained() as tried:
            found.verdicts = compare_systems(rows_by_system, score_field, config or {}, units)
        if tried.error is not None:
            found.problems.append(f"systems could not be compared: {tried.reason}")
    taken: set[str] = set()
    gave: set[str] = set()
    for position, metric in enumerate(metrics):
        with contained() as tried:
            values_by_system = _compute(metric, rows_by_system)
        if tried.error is not None:
            values_by_system = {}
            reason = f"failed: {tried.reason}"
            if isinstance(tried.error, CBError):
                reason = f"is missing: {tried.error.message}"
            found.problems.append(f"metric {_name(metric)!r} {reason}")
        is_idle = tried.error is None and not any(values_by_system.values())
        (found.idle if is_idle else gave).add(_name(metric))
        # A key means the same for every system, also if an earlier metric left a system out.
        names: dict[str, str] = {}
        for key in dict.fromkeys(key for values in values_by_system.values() for key in values):
            name = key if key not in taken else _qualify(key, metric, metrics[:position])
            while name in taken:
                name += "'"
            names[key] = name
            taken.add(name)
        for system, values in values_by_system.items():
            for key, value in values.items():
                finite = value is not None and math.isfinite(value)
                found.summary[system][names[key]] = float(value) if finite else None  # type: ignore[arg-type]
        with contained() as tried:
            _add_estimates(found, metric, values_by_system, names, units)
        if tried.error is not None:
            found.problems.append(
                f"metric {_name(metric)!r}: how sure it is cannot be said: {tried.reason}"
            )
    found.idle -= gave  # of two metrics with one name, one gave something
    found.problems += _few_clusters(found.estimates, units)
    return found


def _compute(metric: Any, rows_by_system: Mapping[str, Sequence[EvalRow]]) -> Summary:
    """The values of a metric. Raises what the metric raises, or TypeError for other values."""
    if hasattr(metric, "compare"):
        compared = metric.compare(rows_by_system)
        values = {system: dict(compared.get(system, {})) for system in rows_by_system}
    else:
        values = {system: dict(metric.compute(rows)) for system, rows in rows_by_system.items()}
    for of_system in values.values():
        for key, value in of_system.items():
            if not isinstance(key, str):
                raise TypeError(f"a key is {key!r}, not a string")
            if value is not None and not isinstance(value, Measured):
                of_system[key] = float(value)
    return values


def _name(metric: Any) -> str:
    return str(getattr(metric, "name", type(metric).__name__))


def _add_estimates(
    found: SummedUp,
    metric: Any,
    values_by_system: Summary,
    names: Mapping[str, str],
    units: Mapping[str, Units],
) -> None:
    """Add the uncertainty of each value that is `Measured`, and the systems that tie by it."""
    measured: dict[str, dict[str, Measured]] = {}
    for system, values in values_by_system.items():
        for key, value in values.items():
            if isinstance(value, Measured) and math.isfinite(value):
                measured.setdefault(names[key], {})[system] = value
                estimate = value.terms.estimate(units[system])
                if estimate is not None:
                    found.estimates[system][names[key]] = estimate
    if len(units) < 2:
        return
    score = getattr(metric, "score_field", None)
    by_score = score is not None
    unranked = {one.system for one in found.verdicts if not one.is_ranked(by_score=by_score)}
    for name, by_system in measured.items():
        ranked = {system: value for system, value in by_system.items() if system not in unranked}
        # A low cost of a pass is not quality, which the verdicts are on.
        is_quality = next(iter(by_system.values())).better == "higher"
        on_same = [one for one in found.verdicts if is_quality and one.score == score]
        best, ties = find_ties(ranked, units, on_same)
        if ties is None:
            continue
        found.undecided[name] = ties
        for system in best:
            if (estimate := found.estimates[system].get(name)) is not None:
                found.estimates[system][name] = allow_for_choice(
                    estimate, ranked[system], units[system], len(ranked)
                )


def _few_clusters(estimates: Estimates, units: Mapping[str, Units]) -> list[str]:
    """A remark if intervals, or tests, rest on few clusters."""
    clustered = (of for system, of in estimates.items() if units[system].clustered)
    counts = (estimate.clusters for of_system in clustered for estimate in of_system.values())
    fewest = min((count for count in counts if count is not None), default=FEW_CLUSTERS)
    if fewest >= FEW_CLUSTERS:
        return []
    if fewest < FEWEST_UNITS:
        return [f"{format_too_few(0, fewest)}: no system is marked as best or as a tie"]
    return [f"intervals rest on {fewest} clusters; with fewer than {FEW_CLUSTERS} they are rough"]


def _qualify(key: str, metric: Any, earlier: Sequence[Any]) -> str:
    rivals = [public_attributes(m) for m in earlier if type(m) is type(metric)]
    different = [
        f"{name}={value}"
        for name, value in sorted(public_attributes(metric).items())
        if any(rival.get(name, value) != value for rival in rivals)
    ]
    return f"{key}[{','.join(different) or _name(metric)}]"
