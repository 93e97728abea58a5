"""Systems in a row: `bm25:max_tokens=400 | extractive` hands each output to the next stage."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cbcore.components import describe_exception
from cbcore.exceptions import CBError, ProcessError
from cbcore.protocols import Example, Output


class Chain:
    """Runs its stages in order; what a stage returns replaces those fields for the next."""

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

    def process(self, example: Example) -> Output:
        current = example
        for stage in self.stages:
            try:
                output = stage.process(current)
            except (Exception, SystemExit) as error:
                raise _blame(stage, error) from error
            current = _merged(stage, current, output, example)
        return current


class AsyncChain(Chain):
    """A chain with at least one awaited stage; the others run in threads beside the loop."""

    async def aprocess(self, example: Example) -> Output:
        current = example
        for stage in self.stages:
            try:
                if hasattr(stage, "aprocess"):
                    output = await stage.aprocess(current)
                else:
                    output = await asyncio.to_thread(stage.process, current)
            except (Exception, SystemExit) as error:
                raise _blame(stage, error) from error
            current = _merged(stage, current, output, example)
        return current

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


def _merged(stage: Any, current: Example, output: Any, example: Example) -> Example:
    if not isinstance(output, dict):
        raise ProcessError(f"stage {stage.name!r} returned {type(output).__name__}, not a dict")
    merged = {**current, **output}
    before, now = current.get("metadata"), merged.get("metadata")
    # The facts of the last stage replace those before, but what was paid adds up.
    if now is not before is not example.get("metadata") and isinstance(now, Mapping):
        spent = _cost_usd(before)
        merged["metadata"] = {**now, "cost_usd": spent + _cost_usd(now)} if spent else now
    return merged


def _cost_usd(metadata: Any) -> float:
    cost = metadata.get("cost_usd") if isinstance(metadata, Mapping) else None
    return float(cost) if isinstance(cost, int | float) else 0.0


def _blame(stage: Any, error: BaseException) -> ProcessError:
    told = error.message if isinstance(error, CBError) else describe_exception(error)
    return ProcessError(f"stage {stage.name!r}: {told}")
