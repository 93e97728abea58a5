"""The workers of a run: those that an executor has started, and what was lost with them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import attrs

from cbcore._logging import log_progress
from cbcore._run.parts import Part
from cbcore._run.scorers import Scorer
from cbcore._run.wire import Answer
from cbcore.boundary import at_boundary, contained
from cbcore.exceptions import RunError
from cbcore.protocols import Crew
from cbcore.workers import Batch, Recipe, Reply

RecipeMaker: TypeAlias = Callable[[Part, Sequence[Scorer]], Recipe]
"""Makes what workers need to know of a system, and of all that scores its rows."""

_START_TIMEOUT_S = 600.0
_MOST_CAUSES = 3


@attrs.define
class Ledger:
    """Rows are there exactly once; calls are made at least once. What was made again is here."""

    warn: Callable[[str], None] = attrs.field(default=lambda message: None)
    lost_workers: int = 0
    repeated_calls: int = 0
    lost_in_a_row: int = 0
    _causes: Counter[str] = attrs.Factory(Counter)
    _unread: dict[int, set[str]] = attrs.Factory(dict)

    def lose(self, cause: str, *, counts: bool = True) -> None:
        """A worker is gone. One that was ended for its time `counts` towards no crash."""
        self.lost_workers += 1
        self.lost_in_a_row += counts
        self._causes[cause] += 1

    def answered(self) -> None:
        """A worker has answered: things go on."""
        self.lost_in_a_row = 0

    def take(self, answer: Answer, ids: Sequence[str | int]) -> None:
        """What a worker has to say besides results."""
        for place, text in answer.said:
            for line in text.splitlines():
                log_progress(f"{ids[place]}: {line}")
        for remark in answer.remarks:
            self.warn(remark)
        for key, fields in answer.unread.items():
            known = self._unread.get(key)
            self._unread[key] = set(fields) if known is None else known & set(fields)

    def unread(self, keys: Iterable[int]) -> set[str] | None:
        """The columns that scorers have looked at in no worker; None where none was asked."""
        told = [self._unread[key] for key in keys if key in self._unread]
        return set.intersection(*told) if told else None

    def told(self) -> list[str]:
        """What a result says of workers that were lost; nothing where none was."""
        if not self.lost_workers:
            return []
        causes = ", ".join(
            f"{cause} (×{n})" if n > 1 else cause
            for cause, n in self._causes.most_common(_MOST_CAUSES)
        )
        n, calls = self.lost_workers, self.repeated_calls
        told = f"{n} worker{'s were' if n > 1 else ' was'} lost: {causes}"
        if calls:
            told += f"; {calls} call{'s were' if calls > 1 else ' was'} sent again"
        return [told]


class _Guarded:
    """A crew whose failures are told as those of its executor."""

    def __init__(self, crew: Crew, executor: str) -> None:
        self._crew = crew
        self._boundary = partial(at_boundary, f"the executor {executor!r}", RunError)

    @property
    def size(self) -> int:
        with self._boundary():
            return self._crew.size

    def free(self) -> int:
        with self._boundary():
            return self._crew.free()

    def send(self, batch: Batch) -> None:
        with self._boundary():
            self._crew.send(batch)

    def wait(self, timeout_s: float) -> Sequence[Reply]:
        with self._boundary():
            return self._crew.wait(timeout_s)

    def abandon(self, batch_id: int) -> None:
        with self._boundary():
            self._crew.abandon(batch_id)

    @property
    def stays(self) -> bool:
        """Whether its workers can go on with another recipe."""
        return hasattr(self._crew, "reopen")

    def reopen(self, recipe: Recipe) -> None:
        with self._boundary():
            self._crew.reopen(recipe)  # type: ignore[attr-defined]

    def close(self) -> None:
        self._crew.close()


@attrs.define
class Crews:
    """The crew of the system that is at work. Those before it have left, or it is the same."""

    executor: Any
    recipes: RecipeMaker
    ledger: Ledger = attrs.Factory(Ledger)
    max_workers: int | None = None
    scorers: Mapping[Part, Sequence[Scorer]] = attrs.Factory(dict)
    _recipes: dict[Part, Recipe] = attrs.field(factory=dict, init=False)
    _part: Part | None = None
    _crew: _Guarded | None = None
    _numbers: Any = attrs.field(factory=itertools.count, init=False)

    def prepare(self, scorers: Mapping[Part, Sequence[Scorer]]) -> None:
        """Take the systems of the run, with all that scores their rows.

        Raises `UsageError` for one that workers cannot be told of, before anything is called.
        """
        self.scorers = scorers
        self._recipes = {part: self.recipes(part, own) for part, own in scorers.items()}

    @property
    def start_timeout_s(self) -> float:
        """How long one waits for a first worker."""
        return float(getattr(self.executor, "start_timeout_s", None) or _START_TIMEOUT_S)

    def next_number(self) -> int:
        """The number of the next batch: of one run, all differ."""
        return int(next(self._numbers))

    def size(self, part: Part) -> int:
        """How many workers there are for a system, or one, before they are needed."""
        return max(1, self._crew.size) if self._crew is not None and self._part is part else 1

    def crew(self, part: Part) -> Crew:
        """The workers for a system; started, or handed on to it, when it is the first to need them."""
        if self._crew is not None and self._part is part:
            return self._crew
        recipe = self._recipes.get(part) or self.recipes(part, self.scorers.get(part, ()))
        if self._crew is not None and self._crew.stays:
            self._crew.reopen(recipe)
        else:
            self.close()
            with at_boundary(f"starting the workers of {self.executor.name!r}", RunError):
                crew = self.executor.open(recipe, workers=self.max_workers)
            self._crew = _Guarded(crew, self.executor.name)
        self._part = part
        return self._crew

    def unread(self, part: Part) -> set[str] | None:
        """The columns that an evaluator has looked at in no worker; None where none asked it."""
        scorers = (one for own in self.scorers.values() for one in own if one.part is part)
        return self.ledger.unread(scorer.key for scorer in scorers)

    def close(self) -> None:
        """End all workers; what fails of that comes too late to matter."""
        crew, self._crew, self._part = self._crew, None, None
        if crew is not None:
            with contained() as tried:
                crew.close()
            if tried.error is not None:
                self.ledger.warn(f"closing the workers failed: {tried.reason}")
