"""Memories as systems of a run: built from what `--memory` is given, alone or with readers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from cb_memory.gold_errors import GoldErrors
from cb_memory.reporting.section import MemoryReport
from cb_memory.running import WORKERS, MemoryRun, Way
from cb_memory.snapshots import Snapshots
from cbcore.assembly import Builder, Built
from cbcore.boundary import contained
from cbcore.exceptions import ParameterError, UsageError
from cbcore.settings import RunSettings
from cbcore.specs import Spec
from cbcore.store.identity import Identities

_FOUND = "evidence_recall"


def add_memories(settings: RunSettings, builder: Builder) -> None:
    """Append a system for each memory, and register the section on them.

    Values are specs, memories, functions that make one, or lists of a memory and its readers. If
    nobody answers, neither a memory nor a reader, the run is judged by the evidence that was found.
    """
    if settings.executor is not None:
        raise UsageError(
            "memories and --executor do not go together: what a memory keeps between two questions "
            "would be in one worker, and missing in another",
            hint="leave one of them out",
        )
    builder.hooks.register(MemoryReport(GoldErrors.read(settings.get("memory-gold-errors") or ())))
    is_alone = not settings.systems
    answers = False
    for wanted in settings.get("memory"):
        memory, system = _build_system(settings, builder, wanted)
        settings.systems.append(system)
        answers |= getattr(memory.value, "answers", True) or "stages" in system.record
    if is_alone and not answers and settings.score is None and settings.evaluators is None:
        settings.added_evaluators.append("evidence")
        settings.score = _FOUND


def _build_system(settings: RunSettings, builder: Builder, wanted: Any) -> tuple[Built, Built]:
    """The memory as it was asked for, and the system of the run that calls it."""
    first, *rest = stages(wanted)
    name = _given_name([first, *rest])
    first, budget = _budget_of(first)
    memory, make = _build_memory(builder, first)
    readers = [builder.build("system", reader) for reader in rest]
    parts = [memory, *readers]
    way = Way(
        workers=settings.concurrency or WORKERS,
        alone=make is None,
        budget=budget,
        ingest_timeout_s=settings.get("memory-ingest-timeout"),
        snapshots=_snapshots(settings, memory),
    )
    run = MemoryRun(
        name or _joined_name(parts, budget),
        make or (lambda: memory.value),
        parts=parts,
        way=way,
    )
    # Its spec is one of --memory, not of --system.
    record = {key: value for key, value in memory.record.items() if key != "spec"}
    record["name"] = run.name
    if budget is not None:
        record["params"] = {**record["params"], "budget": budget}
    if readers:
        record["stages"] = [part.record for part in parts]
    return memory, Built(run, record)


def _build_memory(builder: Builder, wanted: Any) -> tuple[Built, Callable[[], Any] | None]:
    """A memory to know it by, and what makes another one for each history, if anything does.

    An object is copied for each history. An object that cannot be copied, or that sets
    `one_at_a_time`, serves them one after another.
    """
    if isinstance(wanted, Spec):
        return builder.build("memory", wanted), lambda: builder.build("memory", wanted).value
    if isinstance(wanted, type) or (callable(wanted) and not hasattr(wanted, "query")):
        return builder.build("memory", wanted()), wanted
    part = builder.build("memory", wanted)
    if getattr(wanted, "one_at_a_time", False):
        return part, None
    with contained() as tried:  # what it holds may refuse in any way
        copy.deepcopy(wanted)
    if tried.error is None:
        return part, lambda: copy.deepcopy(wanted)
    builder.warn(
        f"the memory {part.name!r} cannot be copied ({tried.reason}), so histories run one "
        "after another: give its class, or a function that makes one"
    )
    return part, None


def stages(wanted: Any) -> list[Any]:
    """A memory and its readers: from a chain, from a run file's mapping, or from a list."""
    if isinstance(wanted, str):
        return list(Spec.parse_chain(wanted))
    if isinstance(wanted, dict):
        return _from_mapping(wanted)
    if isinstance(wanted, list | tuple) and wanted:
        head, *rest = wanted
        return [*(stages(head) if isinstance(head, str | dict) else [head]), *rest]
    return [wanted]


def _from_mapping(wanted: dict[Any, Any]) -> list[Any]:
    """`chain: {parameter: value}`, whose parameters are those of the last stage."""
    if len(wanted) == 1:
        ((text, params),) = wanted.items()
        if isinstance(text, str) and (params is None or isinstance(params, dict)):
            found = Spec.parse_chain(text)
            last = found[-1]
            found[-1] = Spec(last.name, last.config, {**last.params, **(params or {})})
            return list(found)
    raise UsageError(
        f"memory: {wanted!r} is neither a spec nor one spec with its parameters",
        hint='write - "bm25:k=10 | extractive", or - bm25: {k: 10}',
    )


def _given_name(parts: list[Any]) -> str | None:
    """`name=` on the last stage names the whole."""
    last = parts[-1]
    return str(last.params["name"]) if isinstance(last, Spec) and "name" in last.params else None


def _joined_name(parts: list[Built], budget: int | None) -> str:
    first, *rest = (part.name for part in parts)
    limited = f"{first} ≤{budget}" if budget is not None else first
    return " | ".join((limited, *rest))


def _budget_of(wanted: Any) -> tuple[Any, int | None]:
    """The tokens that each query is given, which any memory takes beside its own parameters."""
    if not isinstance(wanted, Spec) or "budget" not in wanted.params:
        return wanted, None
    params = dict(wanted.params)
    given = params.pop("budget")
    try:
        budget = int(given)
    except (TypeError, ValueError):
        budget = 0
    if budget < 1:
        raise ParameterError(wanted.name, f"budget is {given!r}: it must be a number of tokens")
    return attrs.evolve(wanted, params=params), budget


def _snapshots(settings: RunSettings, memory: Built) -> Snapshots | None:
    """Where memories are saved, if there is a store, and a key to find them by."""
    if settings.cache_dir is not None:
        with contained():  # what the memory declares is its own code
            key = Identities().key_of(memory.value, memory.record)
            return Snapshots(Path(settings.cache_dir) / "memories" / key[:16])
    return None
