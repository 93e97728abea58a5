"""Systems in a row: `bm25:max_tokens=400 | extractive` hands each output to the next stage."""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from cbcore.components import describe_exception
from cbcore.exceptions import CBError, ProcessError
from cbcore.protocols import Example, Output
from cbcore.texts import with_rewritten_twin
from cbcore.timing import _waits

__all__ = ("chain",)

USAGE_FIELDS = ("usage", "api_usage")
"""Where an output says what an endpoint counted."""
_ANSWERS = ("response", "tool_calls")


class Chain:
    """Runs its stages in order; what a stage returns replaces those fields for the next.

    `usage` is that of the stage which gave the answer; what every stage reported is kept in
    `stage_usage`, so that none stands for another.
    """

    def __init__(self, stages: Sequence[Any], name: str | None = None) -> None:
        self.stages = tuple(stages)
        self.name = name or " | ".join(stage.name for stage in self.stages)

    @property
    def estimate_usd(self) -> Callable[[int, int], float] | None:
        """What calls would cost: the sum over the stages that have prices.

        None where no stage has any, or where one does not know its own. Each stage is taken to
        get what the first one is given, so that a stage that shortens makes it an upper bound.
        """
        estimates = [stage.estimate_usd for stage in self.stages if hasattr(stage, "estimate_usd")]
        if not estimates or not all(map(callable, estimates)):
            return None
        return lambda calls, tokens: sum(estimate(calls, tokens) for estimate in estimates)

    def warm_up(self) -> Awaitable[None] | None:
        """Let every stage prepare itself; to be awaited where one of them has to be."""
        begun = [stage.warm_up() for stage in self.stages if hasattr(stage, "warm_up")]
        awaited = [one for one in begun if inspect.isawaitable(one)]
        return _all_of(awaited) if awaited else None

    def process(self, example: Example) -> Output:
        passage = _Passage(example)
        for stage in self.stages:
            try:
                output = stage.process(passage.current)
            except (Exception, SystemExit) as error:  # plain, as it is passed for every row
                raise _blame(stage, error) from error
            passage.take(stage, output)
        return passage.output()


class AsyncChain(Chain):
    """A chain with at least one awaited stage; the others run in threads beside the loop."""

    def warm_up(self) -> Awaitable[None]:
        """As of any chain; the threads for stages that are called are started as well."""
        import asyncio

        begun = super().warm_up()
        return _all_of([asyncio.to_thread(int), *([begun] if begun is not None else [])])

    async def aprocess(self, example: Example) -> Output:
        passage = _Passage(example)
        for stage in self.stages:
            try:
                if hasattr(stage, "aprocess"):
                    output = await stage.aprocess(passage.current)
                else:
                    output = await _in_a_thread(stage.process, passage.current)
            except (Exception, SystemExit) as error:  # plain, as it is passed for every row
                raise _blame(stage, error) from error
            passage.take(stage, output)
        return passage.output()

    async def aclose(self) -> None:
        for stage in self.stages:
            if hasattr(stage, "aclose"):
                await stage.aclose()


class Renamed:
    """A system under another name; everything else is the system's own."""

    def __init__(self, system: Any, name: str) -> None:
        self.system = system
        self.name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute == "system":  # not there yet while being unpickled
            raise AttributeError(attribute)
        return getattr(self.system, attribute)


def chain(stages: Sequence[Any], name: str | None = None) -> Chain:
    """A chain of systems that is awaited when one of its stages is."""
    kind = AsyncChain if any(hasattr(stage, "aprocess") for stage in stages) else Chain
    return kind(stages, name)


class _Passage:
    """An example on its way through the stages of a chain, and what each of them reported."""

    def __init__(self, example: Example) -> None:
        self.current = example
        self._example = example
        self._usage: dict[str, Any] = {}
        self._stage_usage: list[dict[str, Any]] = []

    def take(self, stage: Any, output: Any) -> None:
        """Go on with what a stage returned."""
        if not isinstance(output, dict):
            raise ProcessError(f"stage {stage.name!r} returned {type(output).__name__}, not a dict")
        before = self.current
        merged = {**before, **output}
        self._set_usage_aside(stage, output, merged, before)
        was, now = before.get("metadata"), merged.get("metadata")
        # The facts of the last stage replace those before, but what was paid adds up.
        if now is not was is not self._example.get("metadata") and isinstance(now, Mapping):
            spent = _cost_usd(was)
            merged["metadata"] = {**now, "cost_usd": spent + _cost_usd(now)} if spent else now
        self.current = with_rewritten_twin(before, merged)

    def _set_usage_aside(
        self, stage: Any, output: Output, merged: dict[str, Any], before: Example
    ) -> None:
        """Keep a stage's usage from the next, which would hand it on as if it were its own."""
        reported = {}
        for field in USAGE_FIELDS:
            if field in merged and merged[field] != self._example.get(field):
                reported[field] = merged.pop(field)
                if field in self._example:
                    merged[field] = self._example[field]
        inner = merged.pop("stage_usage", None)
        if isinstance(inner, list):  # of a chain inside this one
            self._stage_usage += inner
        else:
            for usage in reported.values():
                self._stage_usage.append({"stage": stage.name, "usage": usage})
        changed = any(merged.get(field) != before.get(field) for field in _ANSWERS)
        # A model may give the same answer as the stage before it; a stage that hands back all
        # it was given has not said so.
        named = any(field in output for field in _ANSWERS) and not before.keys() <= output.keys()
        if changed or (reported and named):
            self._usage = reported

    def output(self) -> Output:
        """What the chain returns."""
        if not self._stage_usage:
            return self.current
        return {**self.current, **self._usage, "stage_usage": self._stage_usage}


async def _in_a_thread(function: Callable[[Example], Any], example: Example) -> Any:
    """Call a stage beside the event loop. Waiting for a thread is not the stage's time."""
    import asyncio

    waits = _waits.current_waits()
    asked = time.perf_counter()

    def call() -> tuple[Any, float]:
        waits.add(time.perf_counter() - asked)
        return _waits.among_threads(function, example)

    output, waited = await asyncio.to_thread(call)
    waits.add(waited)
    return output


async def _all_of(awaitables: Iterable[Awaitable[Any]]) -> None:
    import asyncio

    await asyncio.gather(*awaitables)


def _cost_usd(metadata: Any) -> float:
    cost = metadata.get("cost_usd") if isinstance(metadata, Mapping) else None
    return float(cost) if isinstance(cost, int | float) else 0.0


def _blame(stage: Any, error: BaseException) -> ProcessError:
    told = error.message if isinstance(error, CBError) else describe_exception(error)
    return ProcessError(f"stage {stage.name!r}: {told}")
