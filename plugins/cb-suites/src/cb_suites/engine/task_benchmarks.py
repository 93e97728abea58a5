"""Tasks as benchmarks: their examples, evaluators and metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from cb_suites.engine.class_requests import OwnExamples, own_filters, own_task
from cb_suites.engine.class_tasks import ClassSays, asks_itself, made_task, with_class
from cb_suites.engine.data import TaskData
from cb_suites.engine.fewshot import choose_seed
from cb_suites.engine.filters import Filter, make_filter
from cb_suites.engine.formats import Format, make_format
from cb_suites.engine.locating import ABOUT_DATA
from cb_suites.engine.mapping import columns_for, unread_columns
from cb_suites.engine.metric_scoring import MetricScorer, TaskMetrics
from cb_suites.engine.model import FIRST_RESPONSE, NO_FILTER, Leaf, TaskConfig
from cb_suites.engine.scoring import ReadAnswer, make_scorer
from cb_suites.engine.tables import TaskOutcome
from cb_suites.engine.task import Task, check_usable, format_name
from cb_suites.engine.task_examples import TaskExamples
from cbcore.assembly import Benchmark, Builder, Built
from cbcore.columns import map_columns
from cbcore.exceptions import UsageError
from cbcore.provenance import describe
from cbcore.settings import RunSettings
from cbcore.specs import Spec

_F1 = "f1"


@attrs.define
class TaskMaker:
    """Makes benchmarks of the tasks of one run. Evaluators that the run has already are shared."""

    settings: RunSettings
    builder: Builder
    _read_answer: Built = attrs.field(init=False)
    _metrics: TaskMetrics | None = attrs.field(default=None, init=False)

    @_read_answer.default
    def _build_read_answer(self) -> Built:
        return self.builder.build("evaluator", ReadAnswer())

    def make_benchmark(self, leaf: Leaf, outcome: TaskOutcome) -> tuple[Benchmark, list[Any]]:
        """A task as a benchmark, with its own metrics. Raises `CBError` if it cannot run."""
        if leaf.config.problem:
            raise UsageError(leaf.config.problem)
        config, says = with_class(leaf.config)
        outcome.config = config
        instruction = self.settings.get("system-instruction")
        seed = choose_seed(config, self.settings.seed)
        if config.task_class is not None and asks_itself(made := made_task(config)):
            own = OwnExamples(leaf.key, made, config, seed, instruction)
            task = own_task(config, made, says, own.output_type())
            outcome.config = attrs.evolve(config, harness=dict(config.settings))
            scorers = self._metric_scorers(task, own_filters(made, config), outcome)
            return self._make(leaf, own, scorers, _first_metric(task), None), []
        task = Task.of(config, instruction, self._make_format(config))
        check_usable(task, sandboxed=self._runs_code_safely())
        datasets: list[Built] = []

        def load(wanted: Any) -> Iterable[Any]:
            datasets.append(self._build("dataset", wanted, check=config.check(*ABOUT_DATA)))
            found: Iterable[Any] = datasets[-1].value
            return found

        data = TaskData(config, load)
        data.prepare()
        as_turns = bool(self.settings.get("fewshot-as-multiturn"))
        examples = TaskExamples(leaf.key, task, data, seed, as_turns)
        where = config.origins.get("filter_list", config.origin)
        if config.harness is not None:
            given = config.filters if "filter_list" in config.settings else (FIRST_RESPONSE,)
            filters = [make_filter(one, where) for one in given]
            scorers = self._metric_scorers(task, filters, outcome)
            dataset = next(iter(datasets), None)
            return self._make(leaf, examples, scorers, _first_metric(task), dataset), []
        outcome.aggregations = says.aggregations
        dataset = datasets[0]
        chosen = self._scoring(config, says, task.format, dataset, outcome)
        filters = [make_filter(one, where) for one in config.filters or (NO_FILTER,)]
        scorers = [
            make_scorer(evaluator, one, task.format, first=position == 0)
            for position, one in enumerate(filters)
            for evaluator in chosen
        ]
        outcome.filters = [one.name for one in filters]
        main_score = self._find_main_score(chosen, dataset.tasks) or says.main_score
        extra = {} if config.primary_score is None else {"score_field": config.primary_score}
        check = config.check("metrics")
        metrics = [self._build("metric", m, extra, check).value for m in config.metrics]
        return self._make(leaf, examples, scorers, main_score, dataset), metrics

    def _make(
        self,
        leaf: Leaf,
        examples: Iterable[Any],
        evaluators: Sequence[Built],
        main_score: str | None,
        dataset: Built | None,
    ) -> Benchmark:
        config = leaf.config
        return Benchmark(
            leaf.key,
            examples,
            list(evaluators),
            repeats=config.repeats if config.repeats > 1 else self.settings.repeats,
            main_score=config.primary_score or main_score,
            record=self._describe(leaf, dataset),
            required=False,
        )

    def _make_format(self, config: TaskConfig) -> Format | None:
        name = format_name(config)
        if name is None:
            return None
        params = config.formats.get(name, {})
        return make_format(name, params, self.builder.catalog, config.check("formats"))

    def _metric_scorers(
        self, task: Task, filters: Sequence[Filter], outcome: TaskOutcome
    ) -> list[Built]:
        """A scorer of a task's metrics behind each filter; or the evaluators that the user named."""
        settings, metrics, share = self.settings, task.metrics, self.builder.share
        outcome.filters = [one.name for one in filters]
        outcome.higher_is_better = {
            m.name: m.higher_is_better for m in metrics if m.higher_is_better is not None
        }
        outcome.aggregations = {m.name: m.aggregate for m in metrics if not m.is_mean}
        added = [share(self._build("evaluator", wanted)) for wanted in settings.added_evaluators]
        if settings.evaluators is not None:
            return [*(share(self._build("evaluator", w)) for w in settings.evaluators), *added]
        outcome.shown = [metric.name for metric in metrics]
        if self._metrics is None:
            self._metrics = TaskMetrics()
            share(self._build("evaluator", self._metrics))
        own = [MetricScorer(task, one, first=i == 0) for i, one in enumerate(filters)]
        for scorer in own:
            self._metrics.add(scorer)
        return [*map(Built, own), *added]

    def _find_main_score(self, chosen: Sequence[Built], tasks: Sequence[str]) -> str | None:
        """The score that quality means if a task names none; None if its evaluators declare none.

        It is the first score of an evaluator that was named. Of automatic ones it is F1, else the
        first score of the only evaluator that names the main task, else the first of all.
        """
        scoring = [part for part in chosen if part.emits]
        scores = [score for part in scoring for score in part.emits]
        if not scores or not scoring[0].is_automatic:
            return next(iter(scores), None)
        meant = (_F1, self.builder.score_of_task(tasks))
        return next((score for score in meant if score in scores), scores[0])

    def _runs_code_safely(self) -> bool:
        offered = self.builder.catalog.components("evaluator")
        return any(component.name == "code_execution" for component in offered)

    def _build(
        self, kind: str, wanted: Any, extra: Mapping[str, Any] | None = None, check: Any = None
    ) -> Built:
        """A component. Its record has no spec, since the user asked for the suite."""
        part = self.builder.build(kind, wanted, extra, check)
        part.record.pop("spec", None)
        return part

    def _describe(self, leaf: Leaf, dataset: Built | None) -> dict[str, Any]:
        """The record of a task's dataset; one of its own is recorded as coming from this plugin."""
        if dataset is None:
            suite = self.builder.find("option", "cb-suites/suite")
            record = describe(object(), name=leaf.key, component=suite)
        elif dataset.component is None and attrs.has(type(dataset.value)):
            record = describe(dataset.value, name=leaf.key)
        else:
            record = dataset.record
        return {**record, "name": leaf.key}

    def _scoring(
        self,
        config: TaskConfig,
        says: ClassSays,
        task_format: Format | None,
        dataset: Built,
        outcome: TaskOutcome,
    ) -> list[Built]:
        """The evaluators of a task."""
        declared = _declared_metrics(config)
        outcome.shown = list(declared)
        of_task = {k: v for k, v in declared.items() if v is not None}
        outcome.higher_is_better = {**says.higher_is_better, **of_task}
        asked: list[Built] = []
        automatic: list[Built] = []
        reads = task_format is not None and getattr(task_format, "reads_answer", True)
        named = config.evaluators if config.evaluators is not None else self.settings.evaluators
        check = None if config.evaluators is None else config.check("evaluators")
        if named is not None:
            for wanted in named:
                spec = _evaluator_spec(wanted)
                part = self._build("evaluator", spec, check=check)
                asked.append(self._mapped(part, spec, config, automatic=False))
        elif not reads:
            tasks = dataset.tasks or ("qa",)
            for part in self.builder.automatic_evaluators(tasks, dataset):
                spec = Spec(part.component.qualified_name) if part.component else None
                automatic.append(self._mapped(part, spec, config, automatic=True))
        values = [part.value for part in (*asked, *automatic)]
        for message in unread_columns(values, config):
            self.builder.warn(message)
        emitted = {name for value in values for name in getattr(value, "emits", ())}
        if (reads or config.doc_to_choice is not None) and "acc" not in emitted:
            asked.insert(0, self._read_answer)
        added = [self._build("evaluator", wanted) for wanted in self.settings.added_evaluators]
        share = self.builder.share
        return [
            *map(share, asked),
            *(attrs.evolve(share(part), is_automatic=True) for part in automatic),
            *map(share, added),
        ]

    def _mapped(self, part: Built, spec: Any, config: TaskConfig, *, automatic: bool) -> Built:
        """An evaluator, pointed at the task's columns as far as it reads them."""
        mapping = columns_for(part.value, config, automatic=automatic)
        if not mapping:
            return part
        source = config.find_untrusted("columns")
        if source is not None:
            source.check_all(part.name, mapping)
            source = attrs.evolve(source, parameters=frozenset(mapping))
        if config.evaluators is not None:  # else its other parameters come from the user
            source = config.find_untrusted("evaluators") or source
        if isinstance(spec, Spec):
            spec = attrs.evolve(spec, params={**mapping, **spec.params})
            return self._build("evaluator", spec, check=source and source.check)
        return self._build("evaluator", map_columns(part.value, **mapping))


def _first_metric(task: Task) -> str | None:
    return next((metric.name for metric in task.metrics), None)


def _evaluator_spec(wanted: Any) -> Any:
    """`name`, `name:key=value` or `{name: {key: value}}` as a spec; objects as they are."""
    if isinstance(wanted, str):
        return Spec.parse(wanted)
    if isinstance(wanted, Mapping) and len(wanted) == 1:
        ((text, params),) = wanted.items()
        spec = Spec.parse(str(text))
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
