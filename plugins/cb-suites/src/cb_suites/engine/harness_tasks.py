"""Setting up tasks that are run by the rules of lm-evaluation-harness."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from cb_suites.engine.class_tasks import ClassSays
from cb_suites.engine.locating import ABOUT_DATA
from cb_suites.engine.model import Leaf, TaskConfig
from cb_suites.engine.parts import build_part
from cb_suites.engine.tables import TaskOutcome
from cb_suites.harness.data import HarnessData
from cb_suites.harness.examples import HarnessExamples
from cb_suites.harness.filters import DEFAULT, Filter, make_filter
from cb_suites.harness.own_requests import OwnExamples, own_filters, own_task
from cb_suites.harness.scoring import HarnessMetrics, HarnessScorer
from cb_suites.harness.shots import DEFAULT_SEED
from cb_suites.harness.task import HarnessTask, check_usable
from cbcore.assembly import Benchmark, Builder, Built
from cbcore.settings import RunSettings


@attrs.define
class HarnessMaker:
    """Makes benchmarks of tasks, and lets the run know which scores there will be."""

    settings: RunSettings
    builder: Builder
    _metrics: HarnessMetrics | None = attrs.field(default=None, init=False)

    @property
    def _system_instruction(self) -> str | None:
        instruction: str | None = self.settings.get("system-instruction")
        return instruction

    def make_benchmark(self, leaf: Leaf, outcome: TaskOutcome) -> tuple[Benchmark, Built | None]:
        """A task as a benchmark, and its dataset if it has one."""
        config = leaf.config
        task = HarnessTask.of(config, self._system_instruction)
        check_usable(task, sandboxed=self._runs_code_safely())
        datasets: list[Built] = []

        def load(wanted: Any) -> Iterable[Any]:
            check = config.check(*ABOUT_DATA)
            datasets.append(build_part(self.builder, "dataset", wanted, check=check))
            found: Iterable[Any] = datasets[-1].value
            return found

        data = HarnessData(config, load)
        data.prepare()
        as_turns = bool(self.settings.get("fewshot-as-multiturn"))
        examples = HarnessExamples(leaf.key, task, data, self._seed(config), as_turns)
        where = config.origins.get("filter_list", config.origin)
        given = config.filters if "filter_list" in config.settings else (DEFAULT,)
        filters = [make_filter(pipeline, where) for pipeline in given]
        benchmark = self._make_benchmark(leaf, examples, task, filters, outcome)
        return benchmark, next(iter(datasets), None)

    def make_own_benchmark(
        self, leaf: Leaf, config: TaskConfig, made: Any, says: ClassSays, outcome: TaskOutcome
    ) -> Benchmark:
        """A task whose object asks for itself as a benchmark."""
        seed, instruction = self._seed(config), self._system_instruction
        examples = OwnExamples(leaf.key, made, config, seed, instruction)
        task = own_task(config, made, says, examples.output_type())
        outcome.config = attrs.evolve(config, harness=dict(config.settings))
        filters = own_filters(made, config)
        return self._make_benchmark(leaf, examples, task, filters, outcome)

    def _make_benchmark(
        self,
        leaf: Leaf,
        examples: Iterable[Any],
        task: HarnessTask,
        filters: Sequence[Filter],
        outcome: TaskOutcome,
    ) -> Benchmark:
        config, settings = task.config, self.settings
        evaluators = self._make_scorers(task, filters)
        evaluators += [self._build(wanted) for wanted in settings.added_evaluators]
        _tell(outcome, task, filters, asked=settings.evaluators is not None)
        return Benchmark(
            leaf.key,
            examples,
            evaluators,
            repeats=config.repeats if config.repeats > 1 else settings.repeats,
            main_score=config.primary_score or next((m.name for m in task.metrics), None),
            required=False,
        )

    def _seed(self, config: TaskConfig) -> int:
        fewshot = (config.harness or {}).get("fewshot_config") or {}
        seeds = (config.seed, fewshot.get("seed"), self.settings.seed, DEFAULT_SEED)
        return next(int(seed) for seed in seeds if seed is not None)

    def _make_scorers(self, task: HarnessTask, filters: Sequence[Filter]) -> list[Built]:
        """A scorer behind each filter; or the evaluators that the user named."""
        if self.settings.evaluators is not None:
            return [self._build(wanted) for wanted in self.settings.evaluators]
        if self._metrics is None:
            self._metrics = HarnessMetrics()
            self._build(self._metrics)
        own = [HarnessScorer(task, one, first=i == 0) for i, one in enumerate(filters)]
        for scorer in own:
            self._metrics.add(scorer)
        return [Built(one) for one in own]

    def _build(self, wanted: Any) -> Built:
        return self.builder.share(build_part(self.builder, "evaluator", wanted))

    def _runs_code_safely(self) -> bool:
        offered = self.builder.catalog.components("evaluator")
        return any(component.name == "code_execution" for component in offered)


def _tell(
    outcome: TaskOutcome, task: HarnessTask, filters: Sequence[Filter], *, asked: bool
) -> None:
    """Let the table know what the task measures."""
    metrics = task.metrics
    outcome.filters = [one.name for one in filters]
    outcome.shown = [] if asked else [metric.name for metric in metrics]
    outcome.higher_is_better = {
        m.name: m.higher_is_better for m in metrics if m.higher_is_better is not None
    }
    outcome.aggregations = {m.name: m.aggregate for m in metrics if not m.is_mean}
