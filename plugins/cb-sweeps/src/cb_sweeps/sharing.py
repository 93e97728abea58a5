"""Stages that points of a sweep have in common, which run once for the same input."""

from __future__ import annotations

import copy
import hashlib
import json
import time
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

import attrs

from cbcore.assembly import Builder, Built
from cbcore.boundary import contained
from cbcore.chains import Renamed
from cbcore.specs import Spec
from cbcore.timing import waiting

MOST_OUTPUTS = 10_000
"""The number of outputs that are kept of a stage. The oldest go first."""

Memory = dict[bytes, tuple[dict[str, Any], float]]
"""The outputs of a stage by the digest of their input, and the seconds that each call took."""

memories: ContextVar[list[tuple[Spec, Memory]]] = ContextVar("cb_sweeps_memories")
"""The outputs of stages that several runs share."""


def share_stages(builder: Builder, systems: Iterable[Any]) -> list[Any]:
    """The systems; points of sweeps get stages that share the outputs of equal stages.

    A stage in front of the swept one gets the same input for each point, a stage behind it
    wherever the points differ in nothing that matters to the example.
    """
    known = memories.get([])
    return [
        _share_stages_of(builder, system, known)
        if isinstance(system, list) and any(map(_is_labeled, system))
        else system
        for system in systems
    ]


def _share_stages_of(
    builder: Builder, stages: list[Spec], known: list[tuple[Spec, Memory]]
) -> list[Any]:
    *others, last = stages
    if not _is_labeled(last):  # its name is that of the chain, which has a label
        unnamed = {key: value for key, value in last.params.items() if key != "name"}
        last = attrs.evolve(last, params=unnamed)
    return [
        stage if _is_labeled(stage) else _share(builder, stage, known) for stage in (*others, last)
    ]


def _is_labeled(stage: Any) -> bool:
    return isinstance(stage, Spec) and bool(stage.label)


def _share(builder: Builder, stage: Spec, known: list[tuple[Spec, Memory]]) -> Built:
    memory = next((memory for spec, memory in known if spec == stage), None)
    if memory is None:
        memory = {}
        known.append((stage, memory))
    part = builder.build("system", stage)
    kind = AsyncSharedStage if hasattr(part.value, "aprocess") else SharedStage
    return attrs.evolve(part, value=kind(part.value, memory))


class SharedStage(Renamed):
    """A stage that returns its earlier output for an equal example.

    The time of the earlier call counts again, so that each system is measured as if it were alone.
    """

    def __init__(self, system: Any, memory: Memory) -> None:
        super().__init__(system, system.name)
        self._memory = memory

    def process(self, example: dict[str, Any]) -> Any:
        key = _digest(example)
        if (output := self._find(key)) is not None:
            return output
        started = time.perf_counter()
        return self._keep(key, self.system.process(example), started)

    def _find(self, key: bytes | None) -> dict[str, Any] | None:
        if key is None or key not in self._memory:
            return None
        output, took_s = self._memory[key]
        waiting.take_off(took_s)
        with waiting():
            return copy.deepcopy(output)

    def _keep(self, key: bytes | None, output: Any, started: float) -> Any:
        took_s = time.perf_counter() - started
        if key is not None and isinstance(output, dict):
            with waiting(), contained():  # an output that cannot be copied is not shared
                if len(self._memory) >= MOST_OUTPUTS:
                    del self._memory[next(iter(self._memory))]
                self._memory[key] = copy.deepcopy(output), took_s
        return output


class AsyncSharedStage(SharedStage):
    """The same for a stage that is awaited."""

    async def aprocess(self, example: dict[str, Any]) -> Any:
        key = _digest(example)
        if (output := self._find(key)) is not None:
            return output
        started = time.perf_counter()
        return self._keep(key, await self.system.aprocess(example), started)


def _digest(example: dict[str, Any]) -> bytes | None:
    """The key of an example; None if it holds what JSON cannot."""
    with waiting(), contained():
        return hashlib.sha256(json.dumps(example, sort_keys=True).encode()).digest()
    return None
