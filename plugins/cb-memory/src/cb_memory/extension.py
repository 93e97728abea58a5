"""Memories in a run: what `cb run --memory` asks for, and its further flags."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs

from cb_memory.gold_errors import GoldErrors
from cb_memory.reporting.section import MemoryContribution
from cb_memory.running import WORKERS, MemoryRun, Way
from cb_memory.snapshots import Snapshots
from cbcore import specs
from cbcore.boundary import contained
from cbcore.exceptions import ParameterError, UsageError
from cbcore.extensions import Part, Setup
from cbcore.settings import Option
from cbcore.specs import Spec

GOLD_ERRORS = Option(
    name="gold_errors",
    type=Path,
    metavar="FILE",
    help="List of questions whose gold is known to be wrong; the ceiling is told. Repeatable.",
    many=True,
)

INGEST_TIMEOUT = Option(
    name="ingest_timeout_s",
    type=float,
    metavar="S",
    help="Seconds a memory may take to be fed with one history.",
    above=0,
)


class Memories:
    """Memory system, alone or with readers: "bm25:k=10 | extractive". Repeatable.

    `wanted` are specs, memories, functions that make one, or lists of a memory and its readers.
    `gold_errors` are files with questions whose gold is wrong. One history may be fed for at
    most `ingest_timeout_s`. An object is copied for each history; one that cannot be, or with
    `one_at_a_time`, serves them one after another.
    """

    name = "memories"
    metavar = "SPEC"

    def __init__(
        self,
        wanted: Sequence[Any],
        gold_errors: Sequence[str | Path] = (),
        ingest_timeout_s: float | None = None,
        one_at_a_time: bool = False,
    ) -> None:
        self.wanted = [wanted] if isinstance(wanted, str) else list(wanted)
        self.gold_errors = gold_errors
        self.ingest_timeout_s = ingest_timeout_s
        self.one_at_a_time = one_at_a_time

    def set_up(self, setup: Setup) -> MemoryContribution:
        """Every memory as a system of the run."""
        errors = GoldErrors.read(self.gold_errors)
        made = [self._system(setup, wanted) for wanted in self.wanted]
        used = [memory.component for memory, _ in made if memory.component is not None]
        return MemoryContribution(
            systems=[part for _, part in made],
            used=used,
            gold_errors=errors,
            main_score=_main_score(made),
        )

    def _system(self, setup: Setup, wanted: Any) -> tuple[Part, Part]:
        """The memory as it was asked for, and the system of the run that asks it."""
        first, *rest = stages(wanted)
        name = _given_name([first, *rest])
        first, budget = _budget_of(first)
        memory, make = self._memory(setup, first)
        readers = [setup.build("system", reader) for reader in rest]
        parts = [memory, *readers]
        way = Way(
            workers=setup.settings.concurrency or WORKERS,
            alone=make is None,
            budget=budget,
            ingest_timeout_s=self.ingest_timeout_s,
            snapshots=_snapshots(setup, memory),
        )
        run = MemoryRun(
            name or _joined_name(parts, budget),
            make or (lambda: memory.value),
            identities=[part.identity for part in parts],
            why_unidentified=next(filter(None, (p.why_unidentified for p in parts)), None),
            readers=[part.value for part in readers],
            way=way,
        )
        record = {**memory.record, "name": run.name}
        if budget is not None:
            record["params"] = {**record["params"], "budget": budget}
        if readers:
            record["stages"] = [part.record for part in parts]
        return memory, Part(run, record)

    def _memory(self, setup: Setup, wanted: Any) -> tuple[Part, Callable[[], Any] | None]:
        """A memory to know it by, and what makes another one for each history, if anything does."""
        if isinstance(wanted, Spec):
            return setup.build("memory", wanted), lambda: setup.build("memory", wanted).value
        if isinstance(wanted, type) or (callable(wanted) and not hasattr(wanted, "query")):
            return setup.build("memory", wanted()), wanted
        part = setup.build("memory", wanted)
        if self.one_at_a_time:
            return part, None
        with contained() as tried:  # what it holds may refuse in any way
            copy.deepcopy(wanted)
        if tried.error is None:
            return part, lambda: copy.deepcopy(wanted)
        setup.warn(
            f"the memory {part.name!r} cannot be copied ({tried.reason}), so histories run one "
            "after another: give its class, or a function that makes one"
        )
        return part, None


def _main_score(made: Sequence[tuple[Part, Part]]) -> str | None:
    """What was found, where nobody answers: neither a memory nor a reader behind it."""
    silent = (
        getattr(memory.value, "answers", True) is False and "stages" not in part.record
        for memory, part in made
    )
    return "evidence_recall" if all(silent) else None


def stages(wanted: Any) -> list[Any]:
    """A memory and its readers: from a chain, from a run file's mapping, or from a list."""
    if isinstance(wanted, str):
        return list(specs.parse_chain(wanted))
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
            found = specs.parse_chain(text)
            last = found[-1]
            found[-1] = Spec(last.name, last.config, {**last.params, **(params or {})})
            return list(found)
    raise UsageError(
        f"memories: {wanted!r} is neither a spec nor one spec with its parameters",
        hint='write - "bm25:k=10 | extractive", or - bm25: {k: 10}',
    )


def _given_name(parts: Sequence[Any]) -> str | None:
    """`name=` on the last stage names the whole."""
    last = parts[-1]
    return str(last.params["name"]) if isinstance(last, Spec) and "name" in last.params else None


def _joined_name(parts: Sequence[Part], budget: int | None) -> str:
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


def _snapshots(setup: Setup, memory: Part) -> Snapshots | None:
    folder = setup.settings.cache_dir
    if folder is None or memory.identity is None:
        return None
    return Snapshots(Path(folder) / "memories" / memory.identity.hex()[:16])
