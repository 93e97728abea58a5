"""From rows to the summary: one pass of every metric over every system's rows."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from cbcore.boundary import contained
from cbcore.exceptions import CBError
from cbcore.introspection import public_attributes
from cbcore.results._idle import with_idle
from cbcore.results.thresholds import THRESHOLD
from cbcore.stats import Estimate, Measured, Units, estimate_of
from cbcore.stats._estimates import FEW_CLUSTERS, FEWEST_UNITS

if TYPE_CHECKING:
    from cbcore.results import EvalRow
    from cbcore.results._config import RunConfig
    from cbcore.results.verdicts import Verdict

__all__ = ("sum_up",)

Summary: TypeAlias = dict[str, dict[str, "float | None"]]
"""System → metric value. None stands for "no finite value": nothing scored, nothing passed."""

Estimates: TypeAlias = dict[str, dict[str, Estimate]]
"""System → metric → how sure its value is, for the values of which that is known."""


@attrs.define(eq=False, repr=False)
class SummedUp:
    """The summary, how sure its values are, and what went wrong.

    `undecided` names, for each metric by which one system is best, the systems that are not
    significantly different from it. `idle` are the names of metrics that gave no value to any
    system, and did not fail.
    """

    summary: Summary
    estimates: Estimates = attrs.Factory(dict)
    undecided: dict[str, list[str]] = attrs.Factory(dict)
    verdicts: list[Verdict] = attrs.Factory(list)
    problems: list[str] = attrs.Factory(list)
    idle: set[str] = attrs.Factory(set)

    def told(self, config: RunConfig, sections: Collection[str] = ()) -> RunConfig:
        """The config with what is known now of its metrics: which gave neither value nor section."""
        return with_idle(config, "metrics", self.idle.difference(sections))


def sum_up(
    rows_by_system: Mapping[str, Sequence[EvalRow]],
    metrics: Sequence[Any],
    score_field: str | None = None,
    *,
    config: RunConfig | None = None,
) -> SummedUp:
    """Compute every metric for every system.

    A metric that raises loses its own values only. When two instances of a metric emit the
    same key, the first keeps it and the later ones are qualified by what sets them apart:
    `mean_score`, `mean_score[score_field=recall]`. Of each `Measured` value it is said how sure
    it is, and who is as good as the best; with a `score_field`, also what to make of each
    system. `config` describes the run of the rows: its systems, and
    the threshold from which a score is right.
    """
    found = SummedUp({system: {} for system in rows_by_system})
    found.estimates = {system: {} for system in rows_by_system}
    several = len(rows_by_system) > 1
    units = _LazyUnits(rows_by_system, keyed=several)
    known: RunConfig = config or {}
    threshold = float(known.get("settings", {}).get("threshold", THRESHOLD))
    rows = (row for of_system in rows_by_system.values() for row in of_system)
    if score_field is not None and (
        several or not any(row.scores.get(score_field, 0.0) >= threshold for row in rows)
    ):
        from cbcore.results.verdicts import verdicts_of

        # A run is over by now: whatever its rows hold, it must not be lost.
        with contained() as tried:
            found.verdicts = verdicts_of(
                *(rows_by_system, score_field, units),
                threshold=threshold,
                records=known.get("systems") or (),
            )
        if tried.error is not None:
            found.problems.append(f"systems could not be compared: {tried.reason}")
    taken: set[str] = set()
    gave: set[str] = set()
    for position, metric in enumerate(metrics):
        values_by_system, problem = _values(metric, rows_by_system)
        if problem:
            found.problems.append(problem)
        is_idle = not problem and not any(values_by_system.values())
        (found.idle if is_idle else gave).add(_name(metric))
        # A key means the same for every system, also where an earlier metric left a system out.
        unique: dict[str, str] = {}
        for key in dict.fromkeys(key for values in values_by_system.values() for key in values):
            name = key if key not in taken else _qualified(key, metric, metrics[:position])
            while name in taken:
                name += "'"
            unique[key] = name
            taken.add(name)
        for system, values in values_by_system.items():
            for key, value in values.items():
                finite = value is not None and math.isfinite(value)
                found.summary[system][unique[key]] = float(value) if finite else None  # type: ignore[arg-type]
        _add_estimates(found, metric, values_by_system, unique, units)
    found.idle -= gave  # of two with one name, nobody could tell which it is
    found.problems += _few_clusters(found.estimates, units)
    return found


def _values(
    metric: Any, rows_by_system: Mapping[str, Sequence[EvalRow]]
) -> tuple[dict[str, dict[str, float | None]], str | None]:
    with contained() as tried:
        if hasattr(metric, "compare"):
            compared = metric.compare(rows_by_system)
            values = {system: dict(compared.get(system, {})) for system in rows_by_system}
        else:
            values = {system: dict(metric.compute(rows)) for system, rows in rows_by_system.items()}
        for per_system in values.values():
            for key, value in per_system.items():
                if not isinstance(key, str):
                    raise TypeError(f"a key is {key!r}, not a string")
                if value is not None and not isinstance(value, Measured):
                    per_system[key] = float(value)
        return values, None
    if isinstance(tried.error, CBError):
        return {}, f"metric {_name(metric)!r} is missing: {tried.error.message}"
    return {}, f"metric {_name(metric)!r} failed: {tried.reason}"


def _name(metric: Any) -> str:
    return str(getattr(metric, "name", type(metric).__name__))


def _add_estimates(
    found: SummedUp,
    metric: Any,
    values_by_system: Mapping[str, Mapping[str, float | None]],
    names: Mapping[str, str],
    units: _LazyUnits,
) -> None:
    """Say of each value that is `Measured` how sure it is, and which system is best by it."""
    with contained() as tried:
        measured: dict[str, dict[str, Measured]] = {}
        for system, values in values_by_system.items():
            for key, value in values.items():
                if not isinstance(value, Measured):
                    continue
                measured.setdefault(names[key], {})[system] = value
                estimate = estimate_of(value.terms, units[system])
                if estimate is not None and math.isfinite(value):
                    found.estimates[system][names[key]] = estimate
        if units.keyed:
            from cbcore.results.verdicts import allow_for_choice, find_unranked, not_told_from_best

            score = getattr(metric, "score_field", None)
            left_out = find_unranked(found.verdicts, by_score=score is not None)
            for name, by_system in measured.items():
                ranked = {
                    s: value
                    for s, value in by_system.items()
                    if s not in left_out and math.isfinite(value)
                }
                # A low cost of a pass is not quality, which the verdicts are on.
                on_same = [
                    one
                    for one in found.verdicts
                    if one.score == score and by_system[next(iter(by_system))].better == "higher"
                ]
                if (alike := not_told_from_best(ranked, units, on_same)) is None:
                    continue
                found.undecided[name] = alike
                best = _best(ranked)
                for system in (s for s, value in ranked.items() if float(value) == best):
                    if (estimate := found.estimates[system].get(name)) is not None:
                        found.estimates[system][name] = allow_for_choice(
                            estimate, ranked[system], units[system], len(ranked)
                        )
    if tried.error is not None:
        found.problems.append(
            f"metric {_name(metric)!r}: how sure it is cannot be said: {tried.reason}"
        )


def _best(ranked: Mapping[str, Measured]) -> float:
    better = next(value.better for value in ranked.values())
    return (max if better == "higher" else min)(map(float, ranked.values()))


class _LazyUnits(dict[str, Units]):
    """What was sampled of each system, looked at when it is first asked for."""

    def __init__(self, rows_by_system: Mapping[str, Sequence[EvalRow]], *, keyed: bool) -> None:
        super().__init__()
        self.keyed = keyed
        self._rows = rows_by_system

    def __missing__(self, system: str) -> Units:
        self[system] = Units.of(self._rows[system], keyed=self.keyed)
        return self[system]


def _few_clusters(estimates: Estimates, units: Mapping[str, Units]) -> list[str]:
    """A remark if intervals, or tests, rest on few clusters."""
    counts = [
        estimate.clusters
        for system, of_system in estimates.items()
        if system in units and units[system].clustered
        for estimate in of_system.values()
        if estimate.clusters is not None
    ]
    if not counts or min(counts) >= FEW_CLUSTERS:
        return []
    fewest = min(counts)
    if fewest < FEWEST_UNITS:
        why = f"too few independent sources to test ({fewest}; at least {FEWEST_UNITS} needed)"
        return [f"{why}: no system is marked as best or as a tie"]
    return [f"intervals rest on {fewest} clusters; with fewer than {FEW_CLUSTERS} they are rough"]


def _qualified(key: str, metric: Any, earlier: Sequence[Any]) -> str:
    mine = public_attributes(metric)
    rivals = [public_attributes(m) for m in earlier if type(m) is type(metric)]
    different = {
        name: value
        for name, value in sorted(mine.items())
        if any(rival.get(name, value) != value for rival in rivals)
    }
    if not different:
        return f"{key}[{_name(metric)}]"
    return f"{key}[{','.join(f'{name}={value}' for name, value in different.items())}]"
