"""Suites in a run: tasks set up as sources, and their table made of the rows.

A task whose parts are not to be had, or whose data fails, is shown as such and keeps no other
from running. Only when none can run is that an error; a mistake in a suite file always is.
"""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from cb_suites.engine.class_tasks import ClassSays, asks_itself, made_task, with_class
from cb_suites.engine.documents import functions_in
from cb_suites.engine.filters import Pipeline, make_pipeline
from cb_suites.engine.formats import Format, make_format
from cb_suites.engine.harness import ProcessResults
from cb_suites.engine.harness_tasks import HarnessMaker, HarnessOptions
from cb_suites.engine.locating import data_stranger
from cb_suites.engine.manager import shipped_path
from cb_suites.engine.mapping import columns_for, unread_columns
from cb_suites.engine.model import NO_FILTER, Leaf, Selection, TaskConfig
from cb_suites.engine.running import format_name, task_examples
from cb_suites.engine.scoring import ReadAnswer, task_scorer
from cb_suites.engine.tables import SuiteTable, TaskOutcome, scores_by_row
from cb_suites.harness.scoring import TEXT, HarnessScorer
from cbcore import columns, provenance, specs
from cbcore.components import Component
from cbcore.exceptions import (
    CBError,
    ConfigError,
    PluginError,
    UsageError,
)
from cbcore.extensions import (
    Contribution,
    Part,
    Scorer,
    Setup,
    Source,
)
from cbcore.plugins import Catalog
from cbcore.results import EvalRow, Section, sum_up
from cbcore.specs import Spec
from cbcore.stats import Units


@attrs.frozen
class TaskSetup:
    """One task, ready to run. `main_score` is the score that its quality means, if known."""

    source: Source
    dataset: dict[str, Any]
    metrics: Sequence[Any]
    main_score: str | None = None


@attrs.define
class SuiteContribution(Contribution):
    """The suites of one run: what is to be run, and what becomes of it."""

    selection: Selection = attrs.field(kw_only=True)
    catalog: Catalog = attrs.field(kw_only=True)
    setups: dict[str, TaskSetup] = attrs.Factory(dict)
    outcomes: dict[str, TaskOutcome] = attrs.Factory(dict)

    def take_up(self) -> None:
        """Say what there is to run, each task once and in order, once all are set up."""
        self.sources = [setup.source for setup in self.setups.values()]
        self.datasets = [setup.dataset for setup in self.setups.values()]
        # Of several that are named alike often, the one that comes first.
        named = Counter(s.main_score for s in self.setups.values() if s.main_score is not None)
        self.main_score = max(named, key=named.__getitem__, default=None)
        self.used = self._used(self.catalog.components("suite"))

    def _used(self, components: Iterable[Component]) -> list[Component]:
        """Those of the plugins' suites whose files the selection was read from."""
        origins = {leaf.config.origin.file for leaf in self.selection.leaves()}
        origins |= {root.origin.file for root in self.selection.roots if hasattr(root, "origin")}
        files = [Path(file).resolve() for file in origins if file is not None]
        used = []
        for component in components:
            with contextlib.suppress(CBError):  # one that fails shipped none of the files
                place = shipped_path(component).resolve()
                if any(file == place or place in file.parents for file in files):
                    used.append(component)
        return used

    def section(
        self, rows: Mapping[str, Iterable[EvalRow]], failures: Mapping[str, str]
    ) -> tuple[Section | None, list[str]]:
        """The table of all suites, and what has to be said of it."""
        lines, problems = self.table(rows, failures)
        section = Section("Suites", lines)
        if any("by" in line for line in lines):
            section.columns["by"] = "by"
        return section, problems

    def table(
        self, rows: Mapping[str, Iterable[EvalRow]], failures: Mapping[str, str]
    ) -> tuple[list[dict[str, Any]], list[str]]:
        """The table of all suites, and what has to be said of it."""
        for key, reason in failures.items():
            self.outcomes[key].state, self.outcomes[key].reason = "failed", reason
        for system, of_system in rows.items():
            sampled = of_system if isinstance(of_system, Sequence) else list(of_system)
            units = Units.of(sampled, keyed=False)
            for key, scores in scores_by_row(of_system, self.setups).items():
                if key not in failures:
                    self.outcomes[key].measure(system, scores, units)
        remarks = []
        for key in self.setups:
            if key not in failures:
                remarks += self._sum_up(key, rows)
        for key in self.setups.keys() - failures.keys():
            if not any(self.outcomes[key].estimates.values()):
                self._tell_errors(key, rows, remarks)
        remarks += _unscored(rows, self.setups)
        remarks += self._read_from_text()
        table = SuiteTable(self.outcomes, list(rows))
        lines = table.lines(self.selection.roots)
        return lines, list(dict.fromkeys([*table.problems, *remarks]))

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
        self, key: str, rows: Mapping[str, Iterable[EvalRow]], remarks: Sequence[str]
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

    def _sum_up(self, key: str, rows: Mapping[str, Iterable[EvalRow]]) -> list[str]:
        """Add what a task's class and its own metrics make of its rows; what went wrong."""
        outcome, metrics = self.outcomes[key], self.setups[key].metrics
        problems = []
        if outcome.aggregations or outcome.config.harness is not None:
            for system, of_system in rows.items():
                problems += outcome.sum_up_results(system, of_system)
        if not metrics:
            return problems
        own = {system: [r for r in part if r.dataset == key] for system, part in rows.items()}
        found = sum_up(own, metrics)
        for system, values in found.summary.items():
            n_examples = sum(row.repeat == 0 and row.error is None for row in own[system])
            outcome.add_metrics(system, values, n_examples, found.estimates[system])
        return [*problems, *(f"task {key}: {problem}" for problem in found.problems)]


def _unscored(rows: Mapping[str, Iterable[EvalRow]], tasks: Collection[str]) -> list[str]:
    """Of which tasks `process_results` left rows without a score, of how many, and why."""
    reasons: dict[str, list[str]] = {}
    n_rows: Counter[str] = Counter()
    scorers = (ProcessResults.name, HarnessScorer.base_name)
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


def set_up(
    selection: Selection, setup: Setup, harness: HarnessOptions | None = None
) -> SuiteContribution:
    """Set every task of a selection up. Evaluators that the run has already are shared."""
    run = SuiteContribution(selection=selection, catalog=setup.catalog)
    maker = _TaskMaker(setup, HarnessMaker(setup, harness or HarnessOptions()))
    first_error, place = None, ""
    leaves = selection.leaves()
    if setup.settings.dry_run:
        leaves = [leaf for leaf in leaves if not _names_code(leaf, setup.warn)]
    for leaf in leaves:
        outcome = run.outcomes[leaf.key] = TaskOutcome(leaf)
        try:
            run.setups[leaf.key] = maker.task(leaf, outcome)
        except CBError as error:
            # A mistake in a suite file is for its author to mend, before anything is spent. One
            # task in thousands of somebody else's must not keep the others from running.
            strict = isinstance(error, PluginError) and setup.catalog.policy.strict
            if strict or (isinstance(error, ConfigError) and leaf.config.harness is None):
                raise
            if first_error is None:
                first_error, place = error, _place_of(error, leaf.config)
                place = "" if error.message.startswith(place) else place
            outcome.state = "unavailable"
            remedy = error.hint
            outcome.reason = f"{error.message} ({remedy})" if remedy else error.message
    if first_error is not None and not run.setups:
        raise UsageError(
            f"none of the {len(run.outcomes)} tasks can run; the first: "
            f"{place}{first_error.message}",
            hint=first_error.hint,
        ) from first_error
    run.take_up()
    return run


def _names_code(leaf: Leaf, warn: Callable[[str], None]) -> bool:
    """Whether a task needs code of its own to be run, which is told: it cannot be counted."""
    named = functions_in(leaf.config.settings)
    if named:
        warn(f"{leaf.path} is not counted: a dry run does not run {named[0]}")
    return bool(named)


def _place_of(error: CBError, config: TaskConfig) -> str:
    """Where a suite file names what is not to be had, in front of the message."""
    keys = {"format": "format", "evaluator": "evaluators", "metric": "metrics"}
    key = keys.get(getattr(error, "kind", ""), "dataset")
    origin = config.origins.get(key, config.origin)
    return f"{origin}: " if origin.file else ""


def _read_answer() -> Part:
    evaluator = ReadAnswer()
    return Part(evaluator, provenance.describe(evaluator, name=evaluator.name))


@attrs.define
class _TaskMaker:
    setup: Setup
    harness: HarnessMaker
    read_answer: Part = attrs.Factory(_read_answer)

    def task(self, leaf: Leaf, outcome: TaskOutcome) -> TaskSetup:
        if leaf.config.problem:
            raise UsageError(leaf.config.problem)
        if leaf.config.harness is not None:
            source, data, main = self.harness.task(leaf, outcome)
            record = {} if data is None else _dataset_record(data)
            return TaskSetup(source, {**record, "name": leaf.key}, (), main)
        config, says = with_class(leaf.config)
        if config.task_class is not None and asks_itself(made := made_task(config)):
            source, main = self.harness.own_task(leaf, config, made, says, outcome)
            return TaskSetup(source, {"name": leaf.key}, (), main)
        outcome.config, outcome.aggregations = config, says.aggregations
        name = format_name(config)
        params = config.formats.get(name, {}) if name else {}
        stranger = config.stranger("formats")
        task_format = make_format(name, params, self.setup.catalog, stranger) if name else None
        datasets: list[Part] = []

        def load(wanted: Any) -> Iterable[Any]:
            datasets.append(self.setup.build("dataset", wanted, stranger=data_stranger(config)))
            found: Iterable[Any] = datasets[-1].value
            return found

        examples = task_examples(leaf.key, config, task_format, load, self.setup.settings.seed)
        dataset = datasets[0]
        chosen = self._scoring(config, says, task_format, dataset, outcome)
        where = config.origins.get("filter_list", config.origin)
        pipelines = [make_pipeline(p, where) for p in config.filters or (NO_FILTER,)]
        repeats = config.repeats if config.repeats > 1 else self.setup.settings.repeats
        each: list[Scorer] = []
        pooled: list[Scorer] = []
        for position, pipeline in enumerate(pipelines):
            for part, automatic in chosen:
                behind = _behind_filter(part, pipeline, task_format, first=position == 0)
                together = pipeline.pools and repeats > 1
                (pooled if together else each).append(Scorer.of(behind, automatic=automatic))
        outcome.filters = [pipeline.name for pipeline in pipelines]
        source = Source(
            leaf.key, examples, each, repeats=repeats, pooled=tuple(pooled), contained=True
        )
        record = {**_dataset_record(dataset), "name": leaf.key}
        extra = {} if config.primary_score is None else {"score_field": config.primary_score}
        stranger = config.stranger("metrics")
        metrics = [self.setup.build("metric", m, extra, stranger).value for m in config.metrics]
        main_score = config.primary_score or self.setup.main_score(chosen, dataset)
        return TaskSetup(source, record, metrics, main_score or says.main_score)

    def _scoring(
        self,
        config: TaskConfig,
        says: ClassSays,
        task_format: Format | None,
        dataset: Part,
        outcome: TaskOutcome,
    ) -> list[tuple[Part, bool]]:
        """The evaluators of a task, each with whether it was chosen automatically."""
        declared = _declared_metrics(config)
        outcome.shown = list(declared)
        of_task = {k: v for k, v in declared.items() if v is not None}
        outcome.higher_is_better = {**says.higher_is_better, **of_task}
        chosen: list[tuple[Part, bool]] = []
        reads = task_format is not None and getattr(task_format, "reads_answer", True)
        named = (
            config.evaluators if config.evaluators is not None else self.setup.settings.evaluators
        )
        stranger = config.stranger("evaluators") if config.evaluators is not None else None
        if named is not None:
            for wanted in named:
                spec = _evaluator_spec(wanted)
                part = self.setup.build("evaluator", spec, stranger=stranger)
                chosen.append((self._mapped(part, spec, config, automatic=False), False))
        elif not reads:
            tasks = self.setup.tasks_of(dataset) or ("qa",)
            for part in self.setup.automatic_evaluators(tasks, dataset):
                spec = Spec(part.component.qualified_name) if part.component else None
                chosen.append((self._mapped(part, spec, config, automatic=True), True))
        for message in unread_columns([part.value for part, _ in chosen], config):
            self.setup.warn(message)
        emitted = {name for part, _ in chosen for name in getattr(part.value, "emits", ())}
        if (reads or config.doc_to_choice is not None) and "acc" not in emitted:
            chosen.insert(0, (self.read_answer, False))
        chosen += [
            (self.setup.build("evaluator", wanted), False)
            for wanted in self.setup.settings.added_evaluators
        ]
        return [(self.setup.shared(part), automatic) for part, automatic in chosen]

    def _mapped(self, part: Part, spec: Any, config: TaskConfig, *, automatic: bool) -> Part:
        """An evaluator, pointed at the task's columns as far as it reads them."""
        mapping = columns_for(part.value, config, automatic=automatic)
        if not mapping:
            return part
        stranger = config.stranger("columns")
        if stranger is not None:
            stranger.check_all(part.name, mapping)
            stranger = attrs.evolve(stranger, parameters=frozenset(mapping))
        if config.evaluators is not None:  # else what it is given besides is the user's word
            stranger = config.stranger("evaluators") or stranger
        if isinstance(spec, Spec):
            spec = attrs.evolve(spec, params={**mapping, **spec.params})
            return self.setup.build("evaluator", spec, stranger=stranger)
        return self.setup.build("evaluator", columns.map_columns(part.value, **mapping))


def _behind_filter(
    part: Part, pipeline: Pipeline, task_format: Format | None, *, first: bool
) -> Part:
    """An evaluator that is shown what a filter and a format leave; itself, if they leave all."""
    scorer = task_scorer(part.value, pipeline, task_format, first=first, record=part.record)
    # One behind a filter has an identity that covers its record already.
    return part if scorer is part.value else Part(scorer)


def _evaluator_spec(wanted: Any) -> Any:
    """`name`, `name:key=value` or `{name: {key: value}}` as a spec; objects as they are."""
    if isinstance(wanted, str):
        return specs.parse(wanted)
    if isinstance(wanted, Mapping) and len(wanted) == 1:
        ((text, params),) = wanted.items()
        spec = specs.parse(str(text))
        return attrs.evolve(spec, params={**spec.params, **(params or {})})
    return wanted


def _declared_metrics(config: TaskConfig) -> dict[str, bool | None]:
    """The scores a task wants to be shown by, and whether more of each is better."""
    listed = config.settings.get("metric_list") or ()
    found: dict[str, bool | None] = {}
    if config.primary_score is not None:
        found[config.primary_score] = None
    for item in listed if isinstance(listed, list | tuple) else [listed]:
        name = item.get("metric") if isinstance(item, Mapping) else item
        if isinstance(name, str):
            found[name] = item.get("higher_is_better") if isinstance(item, Mapping) else None
    return found


def _dataset_record(dataset: Part) -> dict[str, Any]:
    if dataset.component is not None or not attrs.has(type(dataset.value)):
        return dataset.record
    return provenance.describe(dataset.value, name="")
