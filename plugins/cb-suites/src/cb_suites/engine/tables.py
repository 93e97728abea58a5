"""The table of a run's suites: groups above their members, every number with its error.

It is plain data, one line after another in the order of the files, so that every report shows
the same and a saved result keeps it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import attrs

from cb_suites.engine.aggregates import aggregate
from cb_suites.engine.metric_scoring import BY, MetricScorer, ProcessResults, kept_results
from cb_suites.engine.model import AggregateMetric, GroupNode, Leaf, Node, TaskConfig
from cb_suites.engine.scoring import score_key
from cbcore.boundary import contained
from cbcore.json_data import to_json_safe
from cbcore.names import hint
from cbcore.results import EvalRow
from cbcore.stats import Estimate, Measured, Terms, Units

_HIGHER = frozenset({"acc", "acc_norm", "exact_match", "f1", "recall", "precision", "contains"})
_MOST_NAMES = 5


@attrs.define
class TaskOutcome:
    """What came of one task: numbers for each system, or the reason there are none.

    `state` is `ran`, `unavailable` (it could not be set up) or `failed` (its data ended it).
    `config` is the task's with what its class says; `aggregations` are the class's own ways to
    make one number of what `process_results` gave for each document.
    """

    leaf: Leaf
    config: TaskConfig = attrs.Factory(lambda outcome: outcome.leaf.config, takes_self=True)
    state: str = "ran"
    reason: str = ""
    filters: Sequence[str] = ("none",)
    shown: Sequence[str] = ()
    higher_is_better: Mapping[str, bool] = attrs.Factory(dict)
    aggregations: Mapping[str, Callable[[list[Any]], Any]] = attrs.Factory(dict)
    estimates: dict[str, dict[tuple[str, str], Estimate]] = attrs.Factory(dict)
    read_by: dict[str, str] = attrs.Factory(dict)
    own_metrics: dict[str, None] = attrs.Factory(dict)

    def measure(self, system: str, scores: Mapping[str, RowScores], units: Units) -> None:
        """Take in the scores of one system, by the names rows hold them under.

        `units` are all its rows, which say what hangs together.
        """
        found: dict[tuple[str, str], Estimate] = {}
        for key, of_rows in scores.items():
            estimate = of_rows.estimate(units)
            if estimate is not None:
                found[self._name_and_filter(key)] = estimate
        self.estimates[system] = found

    def sum_up_results(self, system: str, rows: Iterable[EvalRow]) -> list[str]:
        """Let the class make its numbers of what it gave for each document; what went wrong.

        They go before the mean that the scores of the same name would have, and have no
        standard error, since nothing is known of the function.
        """
        problems = []
        rows = list(rows)
        self.read_by[system] = _read_by(rows, self.leaf.key)
        collected = results_by_document(rows, self.leaf.key, self.filters)
        for (metric, name), results in collected.items():
            with contained() as tried:
                value = float(self.aggregations.get(metric, _mean)(results))
                if not math.isfinite(value):
                    raise ArithmeticError(f"it gave {value}")
                self.estimates[system][metric, name] = Estimate(value, None, len(results))
            if why := tried.reason:
                problems.append(f"task {self.leaf.path}: the aggregation of {metric} failed: {why}")
                self.estimates[system].pop((metric, name), None)
        return problems

    def add_metrics(
        self,
        system: str,
        values: Mapping[str, float | None],
        n: int,
        sure: Mapping[str, Estimate],
    ) -> None:
        """Add what the task's own metrics computed, of `n` examples.

        Those that are no means or ratios of what rows say, and so not in `sure`, have no
        standard error.
        """
        found = self.estimates.setdefault(system, {})
        for name, value in values.items():
            if value is not None:
                estimate = sure.get(name) or Estimate(value, None, n)
                found.setdefault((name, self.filters[0]), estimate)
                self.own_metrics[name] = None

    def _name_and_filter(self, key: str) -> tuple[str, str]:
        for name in self.filters[1:]:
            if key.endswith(ending := score_key("", name, first=False)):
                return key.removesuffix(ending), name
        return key, self.filters[0]

    def better(self, metric: str) -> bool | None:
        """Whether more of a metric is better; None where nobody said."""
        return self.higher_is_better.get(metric, True if metric in _HIGHER else None)

    @property
    def num_fewshot(self) -> Any:
        """The number of worked examples to show: what its metadata claim, or what it was given."""
        return self.config.metadata.get("num_fewshot", self.config.num_fewshot or 0)


def _mean(results: Sequence[Any]) -> Any:
    return sum(results) / len(results)


@attrs.frozen(eq=False, repr=False)
class RowScores:
    """The values of one score, row by row, and which of a system's rows they are of."""

    values: list[float] = attrs.Factory(list)
    positions: list[int] = attrs.Factory(list)

    def add(self, value: float, position: int) -> None:
        """Take in the value of one more row."""
        self.values.append(value)
        self.positions.append(position)

    def estimate(self, units: Units) -> Estimate | None:
        """Their mean, by the rule of a run's summary, and how sure it is.

        Where each row stands for itself, the standard error is that of the sample also of scores
        that are 0 or 1, as in lm-evaluation-harness.
        """
        try:
            mean = Measured.mean(self.values, kind="score", positions=self.positions)
        except OverflowError:  # of the sum, not of the mean
            return Terms(self.values).estimate()
        found = mean.terms.estimate(units)
        if found is None or units.at(self.positions).groups is not None:
            return found
        plain = Terms(self.values).estimate()
        return plain and attrs.evolve(plain, interval=found.interval, method=found.method)


def scores_by_row(
    rows: Iterable[EvalRow], keys: Mapping[str, Any]
) -> dict[str, dict[str, RowScores]]:
    """Task → score → its value in each row that has it."""
    found: dict[str, dict[str, RowScores]] = {key: {} for key in keys}
    for position, row in enumerate(rows):
        of_task = found.get(row.dataset)
        if of_task is not None:
            for name, value in row.scores.items():
                of_task.setdefault(name, RowScores()).add(value, position)
    return found


def _read_by(rows: Iterable[EvalRow], task: str) -> str:
    """How choices were found: by likelihood, or read from text; empty where there are none."""
    for row in rows:
        if row.dataset == task:
            said = row.metadata.get(MetricScorer.base_name) or {}
            if isinstance(said, Mapping) and said.get(BY):
                return str(said[BY])
    return ""


def results_by_document(
    rows: Iterable[EvalRow], task: str, filters: Sequence[str]
) -> dict[tuple[str, str], list[Any]]:
    """What `process_results` gave for a task, by metric and filter: one result per document.

    Of several repeats that were scored one by one, the first counts.
    """
    found: dict[tuple[str, str], list[Any]] = {}
    seen: set[tuple[str, str]] = set()
    for row in rows:
        if row.dataset != task:
            continue
        if row.repeat == 0:
            seen.clear()
        for position, name in enumerate(filters):
            for metric, result in _kept(row, name, first=position == 0).items():
                if (metric, name) not in seen:
                    seen.add((metric, name))
                    found.setdefault((metric, name), []).append(result)
    return found


def _kept(row: EvalRow, name: str, *, first: bool) -> Mapping[str, Any]:
    """What a row keeps of one filter for the aggregation, by metric."""
    for scorer in (MetricScorer.base_name, ProcessResults.name):
        if details := row.metadata.get(score_key(scorer, name, first=first)):
            return kept_results(details)
    return {}


class SuiteTable:
    """Builds the lines of the table, and collects what has to be said about them."""

    def __init__(self, tasks: Mapping[str, TaskOutcome], systems: Sequence[str]) -> None:
        self.tasks = tasks
        self.systems = systems
        self.problems: list[str] = []

    def lines(self, roots: Iterable[Node]) -> list[dict[str, Any]]:
        """Every node as one line, groups before their members, as often as it is reached."""
        return [line for root in roots for line in self._node(root, 0, ())]

    def _node(
        self, node: Node, depth: int, above: tuple[AggregateMetric, ...]
    ) -> Iterator[dict[str, Any]]:
        if isinstance(node, Leaf):
            yield self._task(node, depth, above)
            return
        yield self._group(node, depth)
        for child in node.children:
            yield from self._node(child, depth + 1, (*above, *node.aggregates))

    def _task(self, leaf: Leaf, depth: int, above: tuple[AggregateMetric, ...]) -> dict[str, Any]:
        outcome = self.tasks[leaf.key]
        config = outcome.config
        found = {pair: None for of_system in outcome.estimates.values() for pair in of_system}
        metrics = dict.fromkeys(metric for metric, _ in found)
        measured = [pair for pair in product(metrics, outcome.filters) if pair in found]
        aggregated = (metric.metric for metric in above)
        wanted = dict.fromkeys([*outcome.shown, *aggregated, *outcome.own_metrics])
        listed = [pair for name in wanted for pair in measured if pair[0] == name]
        said = {m.metric: m.higher_is_better for m in above if m.higher_is_better is not None}
        scores = [
            _score(
                metric,
                name,
                said.get(metric) if (own := outcome.better(metric)) is None else own,
                self._values(outcome, metric, name),
            )
            for metric, name in (listed if outcome.shown and listed else measured)
        ]
        return {
            **_head("task", leaf.path, config.name, leaf.alias, depth, config.metadata),
            "key": leaf.key,
            "num_fewshot": outcome.num_fewshot,
            "state": outcome.state,
            "reason": outcome.reason or None,
            "scores": scores,
            **({"by": by} if (by := _said_by(outcome.read_by)) else {}),
        }

    def _values(self, outcome: TaskOutcome, metric: str, name: str) -> dict[str, Estimate]:
        return {
            system: found
            for system in self.systems
            if (found := outcome.estimates.get(system, {}).get((metric, name))) is not None
        }

    def _group(self, group: GroupNode, depth: int) -> dict[str, Any]:
        leaves = list(group.leaves())
        shots = {self.tasks[leaf.key].num_fewshot for leaf in leaves}
        shown = group.metadata.get("num_fewshot", shots.pop() if len(shots) == 1 else None)
        return {
            **_head("group", group.path, group.name, group.alias, depth, group.metadata),
            "key": None,
            "num_fewshot": shown,
            "state": "ran" if any(self.tasks[x.key].state == "ran" for x in leaves) else "failed",
            "reason": None,
            "scores": [
                score
                for metric in group.aggregates
                for score in self._aggregated(group, metric, leaves)
            ],
        }

    def _aggregated(
        self, group: GroupNode, metric: AggregateMetric, leaves: Sequence[Leaf]
    ) -> list[dict[str, Any]]:
        by_filter: dict[str, dict[str, Estimate]] = {}
        metric = self._with_filters(metric, leaves)
        for system in self.systems:
            scores = {leaf.key: self.tasks[leaf.key].estimates.get(system, {}) for leaf in leaves}
            with contained() as tried:
                found = aggregate(group, metric, scores)
            if why := tried.reason:
                self.problems.append(f"group {group.path}: {metric.metric} failed: {why}")
                return []
            for name, estimate in found.items():
                by_filter.setdefault(name, {})[system] = estimate
        self._tell_missing(group, metric, leaves)
        better = metric.higher_is_better
        if better is None:
            said = {self.tasks[leaf.key].better(metric.metric) for leaf in leaves}
            better = said.pop() if len(said) == 1 else None
        made_by = metric.aggregation
        if not isinstance(made_by, str):
            made_by = getattr(made_by, "__name__", "function")
        return [
            {
                **_score(metric.metric, name, better, values),
                "aggregation": _described(metric, made_by),
            }
            for name, values in by_filter.items()
        ]

    def _with_filters(self, metric: AggregateMetric, leaves: Sequence[Leaf]) -> AggregateMetric:
        """The aggregate over the filters that its members have, where it names none itself."""
        if not metric.any_filter:
            return metric
        found = {
            name
            for leaf in leaves
            for scores in self.tasks[leaf.key].estimates.values()
            for score, name in scores
            if score == metric.metric
        }
        if not found or found & set(metric.filters):
            return metric
        return attrs.evolve(metric, filters=tuple(sorted(found)))

    def _tell_missing(
        self, group: GroupNode, metric: AggregateMetric, leaves: Sequence[Leaf]
    ) -> None:
        """Say which tasks a group's number leaves out, and for which systems."""
        if metric.filters == ():
            return
        known: set[str] = set()
        elsewhere: set[str] = set()
        systems_lacking: dict[tuple[str, ...], list[str]] = {}
        for system in self.systems:
            lacking = []
            for leaf in leaves:
                scores = self.tasks[leaf.key].estimates.get(system, {})
                names = {n for n, used in scores if used in metric.filters}
                elsewhere |= {used for n, used in scores if n == metric.metric}
                known |= names
                if metric.metric not in names:
                    lacking.append(leaf.path)
            systems_lacking.setdefault(tuple(lacking), []).append(system)
        said = f"group {group.path}:"
        if metric.metric not in known and elsewhere:
            wanted, there = ", ".join(metric.filters), ", ".join(sorted(elsewhere))
            self.problems.append(
                f"{said} {metric.metric!r} is not reported under the filter {wanted}; "
                f"write filter_list: [{there}]"
            )
            return
        if metric.metric not in known:
            listed = ", ".join(sorted(known)) or "none"
            meant = hint(metric.metric, sorted(known), f"reported: {listed}")
            self.problems.append(f"{said} no task reports {metric.metric!r}; {meant}")
            return
        for paths, systems in systems_lacking.items():
            if paths:
                of = "" if len(systems_lacking) == 1 else f" of {', '.join(systems)}"
                covered = f"{len(leaves) - len(paths)}/{len(leaves)} tasks"
                listed = ", ".join(paths[:_MOST_NAMES]) + (" …" if paths[_MOST_NAMES:] else "")
                self.problems.append(f"{said} {metric.metric}{of} covers {covered}, not {listed}")


def _said_by(read_by: Mapping[str, str]) -> str:
    """`likelihood` or `text`; by system, where they differ."""
    said = {system: by for system, by in read_by.items() if by}
    if len(set(said.values())) <= 1:
        return next(iter(said.values()), "")
    return ", ".join(f"{system}: {by}" for system, by in said.items())


def _described(metric: AggregateMetric, made_by: str) -> str:
    """How a group's number was made, in words."""
    if made_by == "mean":
        made_by = "micro mean" if metric.weight_by_size else "macro mean"
    return f"{made_by} over {metric.over}"


def _head(
    kind: str, path: str, name: str, alias: str, depth: int, metadata: Mapping[str, Any]
) -> dict[str, Any]:
    version = metadata.get("version")
    return {
        "kind": kind,
        "path": path,
        "name": name,
        "alias": alias,
        "depth": depth,
        "version": None if version is None else str(version),
    }


def _score(
    metric: str, name: str, better: bool | None, values: Mapping[str, Estimate]
) -> dict[str, Any]:
    return {
        "metric": metric,
        "filter": name,
        "higher_is_better": better,
        "values": {
            system: {
                "value": found.value,
                "stderr": found.stderr,
                "interval": to_json_safe(found.interval),
                "n": found.n,
            }
            for system, found in values.items()
        },
    }
