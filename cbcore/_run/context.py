"""What the lanes of a run share: its settings, its store, its budget and its event loop."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import attrs

from cbcore._run.benchmark import Benchmark
from cbcore._run.budget import Budget
from cbcore._run.ids import SeenIds
from cbcore._run.keeping import Keeping
from cbcore._run.memo import Memo
from cbcore._run.parts import Part
from cbcore._run.work import Work, number
from cbcore._store.store import Store
from cbcore.boundary import contained
from cbcore.exceptions import StoreError
from cbcore.settings.run_settings import RunSettings
from cbcore.tokens import TokenCounter

if TYPE_CHECKING:
    from cbcore._run.crews import Crews
    from cbcore._run.event_loop import LoopThread
    from cbcore._run.sharding import Sharding


@attrs.define(eq=False, repr=False)
class RunContext:
    """All that a lane needs of its run. `score_field` is the score that quality means.

    `idle` are the keys of the scorers that have given nothing so far.
    """

    counter: TokenCounter
    settings: RunSettings = attrs.Factory(RunSettings)
    warn: Callable[[str], None] = attrs.field(default=lambda message: None)
    store: Store | None = None
    score_field: str | None = None
    crews: Crews | None = None
    sharding: Sharding | None = None
    budget: Budget = attrs.field(init=False)
    keeping: Keeping | None = attrs.field(default=None, init=False)
    idle: set[int] = attrs.field(factory=set, init=False)
    _loop: LoopThread | None = attrs.field(default=None, init=False)
    # Systems that were warmed up; one runs on several benchmarks, and is warmed up by the first
    # that has to call it, which none has when everything is stored.
    _warm: set[Part] = attrs.field(factory=set, init=False)
    _told: set[str] = attrs.field(factory=set, init=False)

    def __attrs_post_init__(self) -> None:
        settings = self.settings
        self.budget = Budget(self.counter, settings.budget_tokens, settings.budget_usd)
        if self.store is not None:
            self.keeping = Keeping(self.store, texts=not settings.no_examples)

    # -- the way into a lane -------------------------------------------------------------------

    def repeats(self, benchmark: Benchmark) -> int:
        """How often each example of a benchmark is processed."""
        return benchmark.repeats or self.settings.repeats

    def memo(self, system: Part, benchmark: Benchmark) -> Memo | None:
        """What the store can do for one system on one benchmark; None without a store."""
        if self.store is None or self.keeping is None:
            return None
        identity = self.identity(system)
        scorers = [
            (scorer, known)
            for scorer in benchmark.scorers
            if (known := self.identity(scorer.part)) is not None
        ]
        places = self.keeping.places(system.name, identity, benchmark.name)
        return Memo(self.store, places, scorers, warn=self.warn)

    def works(
        self,
        benchmark: Benchmark,
        memo: Memo | None,
        *,
        seen: SeenIds | None = None,
        scoring: bool = True,
    ) -> Iterator[Work]:
        """The examples of a benchmark as work, with what is stored of it. See `number`, `recall`."""
        works = number(
            benchmark.examples,
            benchmark.name,
            repeats=self.repeats(benchmark),
            seen=seen,
            ids_may_repeat=not benchmark.required,
            warn=self.warn,
        )
        if self.sharding is not None:
            works = self.sharding.own(works, benchmark)
        return works if memo is None else memo.recall(works, scoring=scoring)

    def identity(self, part: Part) -> bytes | None:
        """What keys a part's results in the store; where there is none, that is told once."""
        if self.store is None:
            return None
        if part.why_unidentified is not None:
            message = f"nothing is stored for {part.name!r}: {part.why_unidentified}"
            if message not in self._told:
                self._told.add(message)
                self.warn(message)
        return part.identity

    # -- what lanes use together ---------------------------------------------------------------

    def loop(self) -> LoopThread:
        """The event loop of the run, started when it is first needed."""
        if self._loop is None:
            from cbcore._run.event_loop import LoopThread

            self._loop = LoopThread(self.settings.timeout_s)
        return self._loop

    def warm_up(self, system: Part) -> None:
        """Let a system prepare itself, once, so that no call is charged for it.

        One that workers call is prepared by them.
        """
        if self.crews is not None or system in self._warm or not hasattr(system.value, "warm_up"):
            return
        self._warm.add(system)
        with contained() as tried:
            begun = system.value.warm_up()
            if inspect.isawaitable(begun):
                self.loop().call(begun)
        if tried.error is not None:
            self.warn(f"warming up {system.name!r} failed: {tried.reason}")

    def commit(self) -> None:
        """Write what the store was given. That it cannot be is told when it is closed."""
        if self.store is not None:
            with contextlib.suppress(StoreError):
                self.store.commit()

    def close(self, parts: Sequence[Part]) -> None:
        """Let parts that hold connections close them, on the loop they used, and end the loop.

        Workers of an executor are ended.
        """
        if self.crews is not None:
            self.crews.close()
        # Without a loop nothing was awaited, so nothing can have opened a connection on it.
        if self._loop is None:
            return
        for part in parts:
            if hasattr(part.value, "aclose"):
                with contained() as tried:
                    self._loop.call(part.value.aclose(), timeout_s=5)
                if tried.error is not None:
                    self.warn(f"closing {part.name!r} failed: {tried.reason}")
        self._loop.close()
