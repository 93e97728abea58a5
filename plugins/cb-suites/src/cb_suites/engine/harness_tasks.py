"""Setting up tasks that are run by the rules of lm-evaluation-harness."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from cb_suites.engine.class_tasks import ClassSays
from cb_suites.engine.locating import data_stranger
from cb_suites.engine.model import Leaf, TaskConfig
from cb_suites.engine.tables import TaskOutcome
from cb_suites.harness.data import HarnessData
from cb_suites.harness.examples import HarnessExamples
from cb_suites.harness.filters import DEFAULT, Filter, make_filter
from cb_suites.harness.own_requests import OwnExamples, own_filters, own_task
from cb_suites.harness.scoring import HarnessMetrics, HarnessScorer
from cb_suites.harness.shots import DEFAULT_SEED
from cb_suites.harness.task import HarnessTask, check_usable
from cbcore import provenance
from cbcore.extensions import Part, Scorer, Setup, Source


@attrs.frozen
class HarnessOptions:
    """How the tasks of a run are asked that follow the rules of lm-evaluation-harness."""

    system_instruction: str | None = None
    fewshot_as_multiturn: bool = False


@attrs.define
class HarnessMaker:
    """Makes the sources of a run's tasks, and lets the run know which scores there will be."""

    setup: Setup
    options: HarnessOptions
    _metrics: HarnessMetrics | None = attrs.field(default=None, init=False)

    def task(self, leaf: Leaf, outcome: TaskOutcome) -> tuple[Source, Part | None, str | None]:
        """A task as a source, its dataset if it has one, and the score it is judged by."""
        config, setup = leaf.config, self.setup
        task = HarnessTask.of(config, self.options.system_instruction)
        check_usable(task, sandboxed=self._runs_code_safely())
        datasets: list[Part] = []

        def load(wanted: Any) -> Iterable[Any]:
            datasets.append(setup.build("dataset", wanted, stranger=data_stranger(config)))
            found: Iterable[Any] = datasets[-1].value
            return found

        data = HarnessData(config, load)
        data.prepare()
        as_turns = self.options.fewshot_as_multiturn
        examples = HarnessExamples(leaf.key, task, data, self._seed(config), as_turns)
        where = config.origins.get("filter_list", config.origin)
        given = config.filters if "filter_list" in config.settings else (DEFAULT,)
        filters = [make_filter(pipeline, where) for pipeline in given]
        source, main = self._source(leaf, examples, task, filters, outcome)
        return source, next(iter(datasets), None), main

    def own_task(
        self, leaf: Leaf, config: TaskConfig, made: Any, says: ClassSays, outcome: TaskOutcome
    ) -> tuple[Source, str | None]:
        """A task whose object asks for itself as a source, and the score it is judged by."""
        examples = OwnExamples(
            leaf.key, made, config, self._seed(config), self.options.system_instruction
        )
        task = own_task(config, made, says, examples.output_type())
        outcome.config = attrs.evolve(config, harness=dict(config.settings))
        return self._source(leaf, examples, task, own_filters(made, config), outcome)

    def _source(
        self,
        leaf: Leaf,
        examples: Iterable[Any],
        task: HarnessTask,
        filters: Sequence[Filter],
        outcome: TaskOutcome,
    ) -> tuple[Source, str | None]:
        config, setup = task.config, self.setup
        repeats = config.repeats if config.repeats > 1 else setup.repeats
        scorers = self._scorers(task, filters)
        together = repeats > 1 and setup.asked is None
        added = [setup.shared(setup.build("evaluator", wanted)) for wanted in setup.added]
        source = Source(
            leaf.key,
            examples,
            [*([] if together else scorers), *map(Scorer.of, added)],
            repeats=repeats,
            pooled=tuple(scorers) if together else (),
            contained=True,
        )
        _tell(outcome, task, filters, asked=setup.asked is not None)
        main = config.primary_score or next((metric.name for metric in task.metrics), None)
        return source, main

    def _seed(self, config: TaskConfig) -> int:
        fewshot = (config.harness or {}).get("fewshot_config") or {}
        seeds = (config.seed, fewshot.get("seed"), self.setup.seed, DEFAULT_SEED)
        return next(int(seed) for seed in seeds if seed is not None)

    def _scorers(self, task: HarnessTask, filters: Sequence[Filter]) -> list[Scorer]:
        """A scorer behind each filter; or the evaluators that the user named."""
        setup = self.setup
        if setup.asked is not None:
            parts = [setup.build("evaluator", wanted) for wanted in setup.asked]
            return [Scorer.of(setup.shared(part)) for part in parts]
        if self._metrics is None:
            self._metrics = HarnessMetrics()
            record = provenance.describe(self._metrics, name=self._metrics.name)
            setup.shared(Part(self._metrics, record))
        own = [HarnessScorer(task, one, first=i == 0) for i, one in enumerate(filters)]
        for scorer in own:
            self._metrics.add(scorer)
        return [Scorer.of(Part(one)) for one in own]

    def _runs_code_safely(self) -> bool:
        offered = self.setup.catalog.components("evaluator")
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
