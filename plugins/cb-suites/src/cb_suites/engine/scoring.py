"""Scoring the answers of a task: its filters first, then its format, then its evaluators."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from typing import Any

import attrs

from cb_suites.engine.filters import Filter
from cb_suites.engine.formats import Format
from cb_suites.engine.reading import Reading, normalized
from cbcore.assembly import Built
from cbcore.exceptions import MissingScoreError, ScoringError
from cbcore.protocols import Cost
from cbcore.results import Scored
from cbcore.scoring import response_of
from cbcore.store.identity import Identities


class ReadAnswer:
    """Accuracy of the answer as the task's format read it.

    `acc` is 1 where the response names the right choice or, without choices, equals one of
    the answers; case, spacing and surrounding marks aside. What cannot be read is wrong.
    """

    name = "read_answer"
    emits = ("acc",)
    needs = ("answers",)

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scored:
        answers = original.get("answers")
        if not answers:
            raise MissingScoreError("the document has no answer to compare with")
        response = response_of(processed)
        read = processed.get("reading") or Reading(response)
        if original.get("choices"):
            right = read.choice is not None and read.choice in answers
        else:
            right = normalized(read.text) in {normalized(str(answer)) for answer in answers}
        return Scored({"acc": float(right)}, details={"read": read.choice or read.text})


@attrs.frozen
class TaskScorer:
    """An evaluator that is shown what a task's filter and format made of the response.

    Its scores are renamed when the filter is not the task's first: `acc,strict`.
    """

    evaluator: Any
    filter: Filter
    format: Format | None
    first: bool = True
    record: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        inner: str = self.evaluator.name
        return inner if self.first else f"{inner},{self.filter.name}"

    @property
    def emits(self) -> tuple[str, ...]:
        return tuple(map(self._renamed, getattr(self.evaluator, "emits", ())))

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(getattr(self.evaluator, "needs", ()))

    @property
    def needs_output(self) -> tuple[str, ...]:
        return tuple(getattr(self.evaluator, "needs_output", ()))

    @property
    def identity(self) -> dict[str, Any]:
        """All that can change a score: the evaluator, the filter and the format."""
        key_of = Identities().key_of
        return {
            "version": metadata.version("cb-suites"),
            "evaluator": key_of(self.evaluator, self.record),
            "filter": [self.filter.name, self.filter.written, *self.filter.functions],
            "format": None if self.format is None else key_of(self.format),
            "first": self.first,
        }

    def for_system(self, name: str) -> TaskScorer:
        """This scorer for the rows of one system."""
        bind = getattr(self.evaluator, "for_system", None)
        return self if bind is None else attrs.evolve(self, evaluator=bind(name))

    def read_columns(
        self, original: Mapping[str, Any], processed: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """The mapped fields of one document."""
        read = getattr(self.evaluator, "read_columns", None)
        return {} if read is None else dict(read(original, processed))

    def score(
        self, original: Mapping[str, Any], processed: Mapping[str, Any]
    ) -> dict[str, float] | Scored:
        return self._score(original, [processed])

    def _score(
        self, original: Mapping[str, Any], outputs: Sequence[Mapping[str, Any]]
    ) -> dict[str, float] | Scored:
        """The scores of what the filter leaves of the outputs, averaged."""
        shown = self._shown(original, outputs)
        return self._averaged([self.evaluator.score(original, output) for output in shown])

    def _shown(
        self, original: Mapping[str, Any], outputs: Sequence[Mapping[str, Any]]
    ) -> list[dict[str, Any]]:
        """The outputs as the evaluator is to see them."""
        answered = [output for output in outputs if output.get("response") is not None]
        if not answered:
            return [dict(outputs[-1])]
        left = self.filter.apply([str(output["response"]) for output in answered], original)
        texts = left if isinstance(left, list) else [left]
        return [self._read(original, {**answered[-1], "response": str(text)}) for text in texts]

    def _read(self, original: Mapping[str, Any], output: dict[str, Any]) -> dict[str, Any]:
        if self.format is not None:
            choices = tuple(original.get("choices") or ())
            reading = self.format.read(output["response"], choices)
            output |= {"response": reading.text, "reading": reading}
        return output

    def _averaged(self, scored: Sequence[Any]) -> dict[str, float] | Scored:
        if not scored:
            raise MissingScoreError(f"the filter {self.filter.name!r} left no response")
        if len(scored) == 1:
            named: dict[str, float] | Scored = self._named(scored[0])
            return named
        given = [one.scores if isinstance(one, Scored) else one for one in scored]
        means = {
            name: math.fsum(float(scores[name]) for scores in given) / len(given)
            for name in given[0]
            if all(name in scores for scores in given)
        }
        averaged = {self._renamed(name): value for name, value in means.items()}
        cost = _add_costs([one.cost for one in scored if isinstance(one, Scored)])
        return Scored(averaged, cost=cost) if cost else averaged

    def _named(self, scored: Any) -> Any:
        if isinstance(scored, Scored):
            return Scored(
                self._named(scored.scores),
                self._named(scored.missing),
                dict(scored.details),
                scored.cost,
            )
        if isinstance(scored, Mapping):
            return {self._renamed(name): value for name, value in scored.items()}
        return scored

    def _renamed(self, name: str) -> str:
        return score_key(name, self.filter.name, first=self.first)


@attrs.frozen
class PoolingTaskScorer(TaskScorer):
    """A `TaskScorer` whose filter chooses among all responses to a document."""

    def score_repeats(
        self, original: Mapping[str, Any], outputs: Sequence[Mapping[str, Any]]
    ) -> dict[str, float] | Scored:
        return self._score(original, outputs)


@attrs.frozen
class AwaitedTaskScorer(TaskScorer):
    """A `TaskScorer` whose evaluator is awaited."""

    @property
    def max_cost(self) -> Callable[[Mapping[str, Any]], Cost]:
        """What scoring one response costs at most, if the evaluator declares that."""
        declared: Callable[[Mapping[str, Any]], Cost] = self.evaluator.max_cost
        return declared

    async def ascore(
        self, original: Mapping[str, Any], processed: Mapping[str, Any]
    ) -> dict[str, float] | Scored:
        return await self._ascore(original, [processed])

    async def _ascore(
        self, original: Mapping[str, Any], outputs: Sequence[Mapping[str, Any]]
    ) -> dict[str, float] | Scored:
        scored: list[Any] = []
        for output in self._shown(original, outputs):
            try:
                scored.append(await self.evaluator.ascore(original, output))
            except ScoringError as error:
                costs = [one.cost for one in scored if isinstance(one, Scored)]
                error.cost = _add_costs([*costs, error.cost])
                raise
        return self._averaged(scored)

    async def aclose(self) -> None:
        """Let the evaluator close what it holds."""
        if hasattr(self.evaluator, "aclose"):
            await self.evaluator.aclose()


@attrs.frozen
class AwaitedPoolingTaskScorer(AwaitedTaskScorer):
    """A `PoolingTaskScorer` whose evaluator is awaited."""

    async def ascore_repeats(
        self, original: Mapping[str, Any], outputs: Sequence[Mapping[str, Any]]
    ) -> dict[str, float] | Scored:
        return await self._ascore(original, outputs)


def _add_costs(costs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    total: dict[str, Any] = {}
    for cost in costs:
        for name, amount in cost.items():
            total[name] = total.get(name, 0) + amount
    return total


def score_key(name: str, pipeline: str, *, first: bool) -> str:
    """Under which name a row holds a score: that of the first filter is plain."""
    return name if first else f"{name},{pipeline}"


def make_scorer(
    evaluator: Built, task_filter: Filter, task_format: Format | None, *, first: bool
) -> Built:
    """The evaluator behind a filter and a format; itself, where neither changes anything."""
    if first and not task_filter.steps and task_format is None:
        return evaluator
    kind: type[TaskScorer] = PoolingTaskScorer if task_filter.pools else TaskScorer
    if hasattr(evaluator.value, "ascore"):
        kind = AwaitedPoolingTaskScorer if task_filter.pools else AwaitedTaskScorer
    scorer = kind(evaluator.value, task_filter, task_format, first, evaluator.record)
    return Built(scorer, is_automatic=evaluator.is_automatic)
