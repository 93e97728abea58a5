"""Stages that several systems of a run have in common, and what they did for the same input."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import attrs

from cbcore._run.parts import Part
from cbcore._run.work import private_copy
from cbcore.boundary import contained
from cbcore.chains import Chain, Renamed, chain
from cbcore.identity import content_key
from cbcore.plain import canonical_bytes
from cbcore.timing import current_waits

MOST_KEPT = 10_000
"""So many outputs of a stage are kept; the oldest go first, and are made anew if need be."""


def sharing_stages(systems: Sequence[Part]) -> list[Part]:
    """The systems, with stages that are alike in several of them working once for one input.

    The points of a sweep have most of their stages in common. A stage in front of the one that
    is swept gets the same input every time; one behind it does where the points differ in
    nothing that matters to the example.
    """
    counts = Counter(
        stage["digest"] for part in systems for stage in part.record.get("stages") or ()
    )
    kept: dict[str, dict[bytes, _Done]] = {}

    def shared(stage: Any, digest: str) -> Any:
        if counts[digest] < 2:
            return stage
        kind = _AwaitedStage if hasattr(stage, "aprocess") else _Stage
        return kind(stage, stage.name, kept.setdefault(digest, {}))

    return [_rebuilt(part, shared) for part in systems]


def _rebuilt(part: Part, shared: Any) -> Part:
    named = part.value
    whole = named.system if isinstance(named, Renamed) else named
    if not isinstance(whole, Chain) or len(part.record.get("stages") or ()) != len(whole.stages):
        return part
    digests = [stage["digest"] for stage in part.record["stages"]]
    stages = [shared(stage, digest) for stage, digest in zip(whole.stages, digests, strict=True)]
    value: Any = chain(stages, whole.name)
    if isinstance(named, Renamed):
        value = Renamed(value, named.name)
    return Part(value, part.record, part.component, part.making)


@attrs.frozen(eq=False, repr=False)
class _Done:
    """An output, and the seconds that it took."""

    output: dict[str, Any]
    took: float


class _Stage(Renamed):
    """A stage that remembers what it returned. What it took then, it takes again on paper:
    each system is measured as if it were alone."""

    def __init__(self, system: Any, name: str, kept: dict[bytes, _Done]) -> None:
        super().__init__(system, name)
        self._kept = kept

    def process(self, example: dict[str, Any]) -> Any:
        key = self._key(example)
        if (output := self._recalled(key)) is not None:
            return output
        started = time.perf_counter()
        return self._keep(key, self.system.process(example), started)

    def _key(self, example: dict[str, Any]) -> bytes | None:
        started = time.perf_counter()
        key = None
        with contained():  # an example may hold what cannot be written down: it is not shared
            key = content_key(canonical_bytes(example))
        current_waits().seconds += time.perf_counter() - started
        return key

    def _recalled(self, key: bytes | None) -> dict[str, Any] | None:
        done = None if key is None else self._kept.get(key)
        if done is None:
            return None
        started = time.perf_counter()
        output: dict[str, Any] = private_copy(done.output)
        current_waits().seconds += time.perf_counter() - started - done.took
        return output

    def _keep(self, key: bytes | None, output: Any, started: float) -> Any:
        ended = time.perf_counter()
        if key is not None and type(output) is dict:
            with contained():  # nor what cannot be copied
                if len(self._kept) >= MOST_KEPT:
                    del self._kept[next(iter(self._kept))]
                self._kept[key] = _Done(private_copy(output), ended - started)
        current_waits().seconds += time.perf_counter() - ended
        return output


class _AwaitedStage(_Stage):
    """The same for a stage that is awaited."""

    async def aprocess(self, example: dict[str, Any]) -> Any:
        key = self._key(example)
        if (output := self._recalled(key)) is not None:
            return output
        started = time.perf_counter()
        return self._keep(key, await self.system.aprocess(example), started)
