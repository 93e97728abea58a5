"""Scores and costs of the systems of a run, on the examples for which all systems have both."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeAlias

import attrs

from cbcore.results import EvalRow
from cbcore.results.verdicts import ContextTotals
from cbcore.stats import CLUSTER

Key: TypeAlias = "tuple[str, str | int]"


@attrs.frozen
class Sample:
    """The examples that every system has a score and a cost for, in the order of the first.

    `scores` and `costs` have one value for each, the mean of its repeats; `groups` say which
    examples hang together, None where none do.
    """

    keys: Sequence[Key]
    scores: Mapping[str, Sequence[float]]
    costs: Mapping[str, Sequence[float]]
    groups: Sequence[Hashable] | None = None
    n_left_out: int = 0

    def mean_score(self, system: str) -> float:
        return math.fsum(self.scores[system]) / len(self.keys)

    def mean_cost(self, system: str) -> float:
        return math.fsum(self.costs[system]) / len(self.keys)


def find_full_context(rows_by_system: Mapping[str, Iterable[EvalRow]]) -> str | None:
    """The first system that leaves the context whole, or else the first; None without systems."""
    totals = {system: ContextTotals() for system in rows_by_system}
    for system, rows in rows_by_system.items():
        for row in rows:
            totals[system].add(row)
    return ContextTotals.find_baseline(totals)


def sample_of(
    rows_by_system: Mapping[str, Iterable[EvalRow]], score_field: str, cost: str
) -> Sample:
    """Go through the rows once."""
    scores: dict[str, dict[Key, list[float]]] = {system: {} for system in rows_by_system}
    costs: dict[str, dict[Key, list[float]]] = {system: {} for system in rows_by_system}
    clusters: dict[Key, Hashable] = {}
    seen: dict[Key, None] = {}
    for system, rows in rows_by_system.items():
        for row in rows:
            key = row.dataset, row.example_id
            seen[key] = None
            score, spent = row.scores.get(score_field), _cost(row, cost)
            if row.error is not None or score is None or spent is None:
                continue
            scores[system].setdefault(key, []).append(score)
            costs[system].setdefault(key, []).append(spent)
            cluster = row.metadata.get(CLUSTER)
            if cluster is not None:
                clusters[key] = cluster if isinstance(cluster, str | int) else repr(cluster)
    keys = [key for key in seen if all(key in one for one in scores.values())]
    groups = [(key[0], clusters[key]) if key in clusters else key for key in keys]
    return Sample(
        keys,
        {system: [_mean(one[key]) for key in keys] for system, one in scores.items()},
        {system: [_mean(one[key]) for key in keys] for system, one in costs.items()},
        groups if clusters else None,
        len(seen) - len(keys),
    )


def _cost(row: EvalRow, cost: str) -> float | None:
    if cost == "output_tokens":
        return float(row.output_tokens)
    value = row.latency if cost == "latency" else row.metadata.get(cost)
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return float(value) if math.isfinite(value) else None


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
