"""What the evaluators share: columns, a judge or none, and what becomes of verdicts."""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import attrs

from cb_ragas_precision.fields import Field, Fields, names_of, with_legacy
from cb_ragas_precision.judging import Judgement, Judging
from cbcore.boundary import contained
from cbcore.columns import SUFFIX, Column
from cbcore.contexts import context_of
from cbcore.protocols import Cost, Scores
from cbcore.results import Scored

if TYPE_CHECKING:
    from typing_extensions import Self

    from cb_ragas_precision.judges import Judge

_USUAL_CONTEXTS = 5
_USUAL_RESPONSE = " word" * 512
Outcome = Scores | Scored
T = TypeVar("T")


class ColumnEvaluator:
    """An evaluator whose fields can be read from other columns."""

    name: ClassVar[str]
    emits: tuple[str, ...]
    needs: tuple[str, ...] = ()
    needs_output: tuple[str, ...] = ()
    uses: ClassVar[tuple[Field, ...]]

    def _set_columns(self, columns: dict[str, Column | None], legacy: Mapping[str, Any]) -> None:
        """Keep the columns as attributes, which are a part of the identity."""
        columns = with_legacy(columns, legacy, self.uses)
        self._fields = Fields(self.name, self.uses, columns)
        mapped = self._fields.reader.columns
        for parameter in columns:
            setattr(self, parameter, mapped.get(parameter.removesuffix(SUFFIX)))
        self.needs = tuple(field for field in self.needs if field not in mapped)
        self.needs_output = tuple(field for field in self.needs_output if field not in mapped)
        self.system: str | None = None

    @property
    def reads(self) -> tuple[str, ...]:
        """The fields it has `…_column` parameters for."""
        return names_of(self.uses)

    def for_system(self, name: str) -> Self:
        """This evaluator for the rows of one system, whose name stands for `{system}`."""
        if not self._fields.reader.depends_on_system:
            return self
        bound = copy.copy(self)
        bound.system = name
        return bound

    def read_columns(
        self, original: Mapping[str, Any], processed: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """The mapped fields of one row; `processed` is None before the call."""
        return self._fields.reader.read(original, processed, system=self.system)

    def _read(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, Any]:
        return self._fields.read(original, processed, self.system)

    def _nothing_retrieved(self) -> Scored:
        """The outcome of an empty retrieval: known, explained, and no number."""
        reason = "the system retrieved no contexts, so there is no ranking to score"
        return Scored({}, dict.fromkeys(self.emits, reason), {"outcome": "no contexts"})


class JudgedEvaluator(ColumnEvaluator):
    """An evaluator that asks a judge, and without one decides by what the data says.

    Subclasses have `_offline`, `_judged` and `_prompts`, and call `_set_judge`.
    """

    judge: Any
    model: str | None
    judging: Judging
    _judge: Judge | None

    def _set_judge(self, judge: Any, model: str | None, judging: Judging) -> None:
        self.judge = judge
        self.model = model
        self.judging = judging
        self._judge = None if judge is None else judging.make(judge, model)

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Outcome:
        """The scores. Raises `MissingScoreError` where there are none."""
        if self._judge is None:
            return self._offline(original, processed)
        return awaited(self._judged_once(original, processed))

    @property
    def ascore(self) -> Callable[[Mapping[str, Any], Mapping[str, Any]], Awaitable[Outcome]]:
        """As `score`, awaited. Only there with a judge: without one there is nothing to await."""
        if self._judge is None:
            raise AttributeError("ascore: there is no judge to wait for")
        return self._judged

    @property
    def max_cost(self) -> Callable[[Mapping[str, Any]], Cost]:
        """What judging may cost, by the contexts of the example; for a judge that declares a cost.

        If the example has none, five contexts as long as all that it has are taken.
        """
        declare = None if self._judge is None else self._judge.max_cost
        if declare is None:
            raise AttributeError("max_cost")

        def add_costs(example: Mapping[str, Any]) -> Cost:
            prompts = [str(example)] * _USUAL_CONTEXTS
            with contained():  # the example may lack fields, and columns may be functions
                found = {"contexts": [context_of(example)], "response": _USUAL_RESPONSE}
                prompts = self._prompts(self._read(example, {**found, **example}))
            return attrs.evolve(Cost.of_all(map(declare, prompts)), is_bound=False)

        return add_costs

    async def aclose(self) -> None:
        """Close the judge's connections."""
        if self._judge is not None:
            await self._judge.aclose()

    async def _judged_once(
        self, original: Mapping[str, Any], processed: Mapping[str, Any]
    ) -> Outcome:
        try:
            return await self._judged(original, processed)
        finally:
            await self.aclose()

    async def _ask(self, prompts: Sequence[str]) -> list[Judgement]:
        assert self._judge is not None  # noqa: S101 - only asked where there is one
        return await self._judge.judge(prompts)

    def _prompts(self, values: Mapping[str, Any]) -> list[str]:
        """What the judge is asked about a row. Raises `MissingScoreError` if a value is missing."""
        raise NotImplementedError

    def _offline(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Outcome:
        raise NotImplementedError

    async def _judged(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Outcome:
        raise NotImplementedError


def awaited(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, also where an event loop is running: then in a thread."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def details_of(judgements: Sequence[Judgement], **more: Any) -> dict[str, Any]:
    """Every verdict and reason, as they are kept in the row."""
    details: dict[str, Any] = {
        "verdicts": [j.verdict for j in judgements],
        "reasons": [j.reason for j in judgements],
        **more,
    }
    if any(j.votes for j in judgements):
        details["votes"] = [list(j.votes) for j in judgements]
    if unjudged := sum(j.verdict is None for j in judgements):
        details["unjudged"] = unjudged
    return details


def cost_of(judgements: Sequence[Judgement]) -> dict[str, Any]:
    """What all judgements cost."""
    cost: dict[str, Any] = {}
    for judgement in judgements:
        for name, amount in judgement.cost.items():
            cost[name] = cost.get(name, 0) + amount
    return cost


def why_unjudged(judgements: Sequence[Judgement], what: str) -> str:
    """Why a score is missing: how many could not be judged, and the first reason."""
    failed = [(n, j.reason) for n, j in enumerate(judgements, start=1) if j.verdict is None]
    rank, reason = failed[0]
    return (
        f"{len(failed)} of {len(judgements)} {what}s could not be judged; {what} {rank}: {reason}"
    )
