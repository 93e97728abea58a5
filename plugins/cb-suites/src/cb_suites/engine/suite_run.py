"""Suites in a run: a benchmark for each task, and one table made of the rows.

A task that lacks a component, or whose data fails, has its reason in the table and does not keep
the others from running. Only when none can run is that an error; a mistake in a suite file always is.
"""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from cb_suites.engine.documents import functions_in
from cb_suites.engine.manager import shipped_path
from cb_suites.engine.metric_scoring import TEXT, MetricScorer, ProcessResults
from cb_suites.engine.model import Selection, TaskConfig
from cb_suites.engine.selecting import select
from cb_suites.engine.tables import SuiteTable, TaskOutcome, scores_by_row
from cb_suites.engine.task_benchmarks import TaskMaker
from cbcore.assembly import Benchmark, Builder
from cbcore.components import Component
from cbcore.exceptions import CBError, ConfigError, PluginError, UsageError
from cbcore.plugins import Catalog
from cbcore.protocols import Run
from cbcore.provenance import describe
from cbcore.results import EvalResult, EvalRow, Section
from cbcore.settings import RunSettings
from cbcore.stats import Units

COLUMNS = {"num_fewshot": "n-shot", "version": "version", "filter": "filter"}
"""The columns of the table: keys of its lines, and their headers."""


def add_suites(settings: RunSettings, builder: Builder) -> None:
    """Add the tasks of the suites that `settings` ask for to a run, and their table."""
    selection = select(
        settings.get("suite"),
        settings.get("include-path") or (),
        builder.catalog,
        settings.get("num-fewshot"),
        trust=settings.get("trust") or (),
        execute=not settings.dry_run,
    )
    for note in selection.notes:
        builder.warn(note)
    run = SuiteRun(selection)
    settings.datasets += _make_benchmarks(run, settings, builder)
    run.used = _find_used(selection, builder.catalog)
    builder.hooks.register(run)


def _make_benchmarks(run: SuiteRun, settings: RunSettings, builder: Builder) -> list[Benchmark]:
    """The benchmarks of all tasks that can run. Raises `UsageError` if none can."""
    maker = TaskMaker(settings, builder)
    benchmarks: list[Benchmark] = []
    first_error, place = None, ""
    for leaf in run.selection.leaves():
        outcome = run.outcomes[leaf.key] = TaskOutcome(leaf)
        if settings.dry_run and (code := functions_in(leaf.config.settings)):
            outcome.state, outcome.reason = "unavailable", f"a dry run does not run {code[0]}"
            builder.warn(f"{leaf.path} is not counted: {outcome.reason}")
            benchmarks.append(Benchmark(leaf.key, (), required=False))
            continue
        try:
            benchmark, run.metrics[leaf.key] = maker.make_benchmark(leaf, outcome)
            benchmarks.append(benchmark)
        except CBError as error:
            # A mistake in a suite file is for its author to mend, before anything is spent. One
            # task in thousands of somebody else's must not keep the others from running.
            strict = isinstance(error, PluginError) and builder.catalog.policy.strict
            if strict or (isinstance(error, ConfigError) and leaf.config.harness is None):
                raise
            if first_error is None:
                first_error, place = error, _place_of(error, leaf.config)
                place = "" if error.message.startswith(place) else place
            outcome.state = "unavailable"
            remedy = error.hint
            outcome.reason = f"{error.message} ({remedy})" if remedy else error.message
    if first_error is not None and not benchmarks:
        raise UsageError(
            f"none of the {len(run.outcomes)} tasks can run; the first: "
            f"{place}{first_error.message}",
            hint=first_error.hint,
        ) from first_error
    return benchmarks


def _place_of(error: CBError, config: TaskConfig) -> str:
    """The place in a suite file that names the missing component, to put before the message."""
    keys = {"format": "format", "evaluator": "evaluators", "metric": "metrics"}
    key = keys.get(getattr(error, "kind", ""), "dataset")
    origin = config.origins.get(key, config.origin)
    return f"{origin}: " if origin.file else ""


def _find_used(selection: Selection, catalog: Catalog) -> list[Component]:
    """The suites of plugins whose files the selection was read from."""
    origins = {leaf.config.origin.file for leaf in selection.leaves()}
    origins |= {root.origin.file for root in selection.roots if hasattr(root, "origin")}
    files = [Path(file).resolve() for file in origins if file is not None]
    used = []
    for component in catalog.components("suite"):
        with contextlib.suppress(CBError):  # a suite that fails shipped none of the files
            place = shipped_path(component).resolve()
            if any(file == place or place in file.parents for file in files):
                used.append(component)
    return used


@attrs.define(eq=False)
class SuiteRun:
    """The suites of one run and what comes of their tasks: an object with hooks.

    `outcomes` and the `metrics` of tasks are by the names of their benchmarks; a task that cannot
    run has no metrics. `used` are the suites of plugins.
    """

    selection: Selection
    outcomes: dict[str, TaskOutcome] = attrs.Factory(dict)
    metrics: dict[str, list[Any]] = attrs.Factory(dict)
    used: Sequence[Component] = ()

    def cb_run_started(self, run: Run) -> None:
        """Record the suites of plugins that the run uses."""
        if self.used:
            records = [describe(object(), name=c.name, component=c) for c in self.used]
            run.config["suite_plugins"] = records  # type: ignore[typeddict-unknown-key]

    def cb_summarize(self, run: Run, result: EvalResult) -> Section:
        """The table of all suites; problems are appended to those of the result."""
        rows = result.rows_by_system()
        lines, problems = self._make_table(rows, self._find_failures(run, rows))
        result.problems += problems
        columns = dict(COLUMNS)
        if any("by" in line for line in lines):
            columns["by"] = "by"
        return Section("Suites", lines, columns=columns)

    def _find_failures(self, run: Run, rows: Mapping[str, Sequence[EvalRow]]) -> Mapping[str, str]:
        """The reasons of tasks that the run could not finish, which are in its problems already."""
        if not run.stopped or rows.keys() - run.stopped.keys():
            return run.failures
        begun = {row.dataset for part in rows.values() for row in part}
        reason = f"not begun, since the run stopped {', '.join(run.stopped)}"
        return {**dict.fromkeys(self.metrics.keys() - begun, reason), **run.failures}

    def _make_table(
        self, rows: Mapping[str, Sequence[EvalRow]], failures: Mapping[str, str]
    ) -> tuple[list[dict[str, Any]], list[str]]:
        """The lines of the table, and its problems, from the rows of each system."""
        for system, of_system in rows.items():
            units = Units.of(of_system, keyed=False)
            for key, scores in scores_by_row(of_system, self.metrics).items():
                if key not in failures:
                    self.outcomes[key].measure(system, scores, units)
        remarks = []
        for key in self.metrics:
            if key not in failures:
                remarks += self._sum_up(key, rows)
        for key in self.metrics.keys() - failures.keys():
            if not any(self.outcomes[key].estimates.values()):
                self._tell_errors(key, rows, remarks)
        remarks += _unscored(rows, self.metrics)
        remarks += self._read_from_text()
        failed = [
            f"{outcome.leaf.path} {outcome.state}: {outcome.reason}"
            for outcome in self.outcomes.values()
            if outcome.state != "ran"
        ]
        for key in self.metrics.keys() & failures.keys():
            self.outcomes[key].state, self.outcomes[key].reason = "failed", failures[key]
        table = SuiteTable(self.outcomes, list(rows))
        lines = table.lines(self.selection.roots)
        return lines, list(dict.fromkeys([*failed, *table.problems, *remarks]))

    def _read_from_text(self) -> list[str]:
        """Of which systems choices were read from text, and what that cannot tell."""
        lacking: dict[str, dict[str, None]] = {}
        n_tasks: Counter[str] = Counter()
        for outcome in self.outcomes.values():
            for system, by in outcome.read_by.items():
                if by == TEXT:
                    n_tasks[system] += 1
                    known = {metric for metric, _ in outcome.estimates.get(system, {})}
                    lost = dict.fromkeys(name for name in outcome.shown if name not in known)
                    lacking.setdefault(system, {}).update(lost)
        return [
            f"{system} gives no likelihoods: choices of {n} tasks were read from its text"
            + (f", and {', '.join(lacking[system])} cannot be told" if lacking[system] else "")
            for system, n in n_tasks.items()
        ]

    def _tell_errors(
        self, key: str, rows: Mapping[str, Sequence[EvalRow]], remarks: Sequence[str]
    ) -> None:
        """A task of which no row worked has failed, and says why; so has one without a number."""
        own = [row for part in rows.values() for row in part if row.dataset == key]
        errors = [row.error for row in own]
        outcome = self.outcomes[key]
        if errors and None not in errors:
            outcome.state = "failed"
            outcome.reason = f"every row errored; the first: {errors[0]}"
        elif outcome.config.harness is not None:
            missing = [reason for row in own for reason in row.missing.values()]
            said = [remark for remark in remarks if remark.startswith(f"task {outcome.leaf.path}:")]
            outcome.state = "unavailable" if own else "failed"
            outcome.reason = next(iter([*missing, *said]), "there is no document to be asked")

    def _sum_up(self, key: str, rows: Mapping[str, Sequence[EvalRow]]) -> list[str]:
        """Add what a task's class and its own metrics make of its rows; what went wrong."""
        outcome, metrics = self.outcomes[key], self.metrics[key]
        problems = []
        if outcome.aggregations or outcome.config.harness is not None:
            for system, of_system in rows.items():
                problems += outcome.sum_up_results(system, of_system)
        if not metrics:
            return problems
        own = {system: [r for r in part if r.dataset == key] for system, part in rows.items()}
        found = EvalResult(rows=[row for part in own.values() for row in part], metrics=metrics)
        found.summarize(own)
        for system, values in found.summary.items():
            n_examples = sum(row.repeat == 0 and row.error is None for row in own[system])
            outcome.add_metrics(system, values, n_examples, found.estimates[system])
        return [*problems, *(f"task {key}: {problem}" for problem in found.problems)]


def _unscored(rows: Mapping[str, Sequence[EvalRow]], tasks: Collection[str]) -> list[str]:
    """Of which tasks `process_results` left rows without a score, of how many, and why."""
    reasons: dict[str, list[str]] = {}
    n_rows: Counter[str] = Counter()
    scorers = (ProcessResults.name, MetricScorer.base_name)
    for row in itertools.chain.from_iterable(rows.values()):
        n_rows[row.dataset] += row.error is None
        for name, reason in row.missing.items():
            if name.startswith(scorers):
                reasons.setdefault(row.dataset, []).append(reason)
                break
    return [
        f"task {key}: {len(reasons[key])} of {n_rows[key]} rows have no score of "
        f"{ProcessResults.name}: {reasons[key][0]}"
        for key in tasks
        if key in reasons
    ]
