"""What a worker works with: a system and evaluators, and the batches that go through them."""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cbcore._build.said import Said
from cbcore._run import executors, wire
from cbcore._run.attempts import Attempt, AwaitedAttempt
from cbcore._run.calls import AsyncCaller, SyncCaller, is_async
from cbcore._run.pacing import LONGEST_BATCH_S
from cbcore._run.scorers import Outcome, Scorer, score
from cbcore._run.work import Work
from cbcore.boundary import contained
from cbcore.components import describe_exception
from cbcore.secrets import redact

if TYPE_CHECKING:
    from cbcore._run.event_loop import LoopThread


class WorkBench:
    """A system with its evaluators in a worker. See `cbcore.workers.Bench`.

    `workers` is how many of them there are: what holds for all together, this one has a share of.
    `evaluators` are those that the next bench of this worker may go on with, by how they were
    made, and `after` those that this one goes on with.
    """

    def __init__(
        self,
        system: Any,
        scorers: Mapping[int, Scorer],
        *,
        timeout_s: float | None = None,
        in_flight: int = 1,
        workers: int = 1,
        evaluators: Mapping[bytes, Any] | None = None,
        after: Mapping[bytes, Any] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.evaluators = evaluators or {}
        self._system = system
        self._scorers = scorers
        self._timeout_s = timeout_s
        self._clock = clock
        self._remarks: list[str] = []
        self._asked: set[int] = set()
        self._said = Said()
        self._loop: LoopThread | None = None
        self._divide(workers, besides=(after or {}).values())
        if is_async(system):
            self._loop = _new_loop(timeout_s)
            self._awaited = AsyncCaller(system, timeout_s)
            self._in_flight = max(1, in_flight // workers)
        else:
            self._called = SyncCaller(system, timeout_s)
            self._watchdog = _Watchdog(timeout_s)
        with self._said.heard():
            self._warm_up()

    @property
    def is_spent(self) -> bool:
        """Whether a call that took too long may still be running in this process."""
        if self._loop is not None:
            return self._loop.n_blocked > 0
        return self._called.left_behind > 0

    def work(self, payload: bytes) -> bytes:
        """Call the system for the examples of a batch, and score what it returned."""
        batch = wire.read_batch(payload)
        started = self._clock()
        work = self._awaited_results if self._loop is not None else self._results
        scoring = _Stopwatch()
        with self._said.heard():
            results = list(work(self._begun(batch, started), scoring))
        answer = wire.Answer(
            results,
            took_s=self._clock() - started,
            scoring_s=scoring.longest_s,
            said=[(place, redact(text)) for place, text in self._said.taken(len(batch))],
            remarks=[*map(redact, self._remarks)],
            unread=self._unread(),
        )
        self._remarks = []
        return answer.written()

    def close(self) -> None:
        """Let the system close what it holds open, end the event loop, and let go of both."""
        if self._system is None:
            return
        if self._loop is not None:
            if hasattr(self._system, "aclose"):
                with contained():
                    self._loop.call(self._system.aclose(), timeout_s=5)
            self._loop.close()
            del self._awaited
        else:
            self._watchdog.close()
            del self._called
        self._system = None  # the next one need not find room beside it

    # -- one batch -----------------------------------------------------------------------------

    def _begun(self, batch: Sequence[bytes], started: float) -> Iterator[tuple[int, bytes]]:
        """The examples of a batch, each with its place, until it is time to answer.

        What is behind them goes to other workers: when calls take longer than was thought, what
        is done should not wait for what is not, nor anything for a worker that is spent.
        """
        until = started + min(LONGEST_BATCH_S, self._timeout_s or LONGEST_BATCH_S)
        for place, task in enumerate(batch):
            if place and (self.is_spent or self._clock() >= until):
                return
            self._said.begin(place)
            yield place, task

    def _results(self, tasks: Iterator[tuple[int, bytes]], scoring: _Stopwatch) -> Iterator[bytes]:
        attempt = Attempt(self._called, ())
        for _, task in tasks:
            work, asked = _read(task)
            with self._watchdog:
                outcome = _safely(attempt, work)
            yield self._result(outcome, asked, scoring)

    def _awaited_results(
        self, tasks: Iterator[tuple[int, bytes]], scoring: _Stopwatch
    ) -> Iterator[bytes]:
        assert self._loop is not None  # noqa: S101 - who is awaited has one
        asked_of: dict[int, Sequence[int]] = {}
        attempt = AwaitedAttempt(self._awaited)

        def works() -> Iterator[tuple[int, Work]]:
            for place, task in tasks:
                work, asked_of[place] = _read(task)
                yield place, work

        async def call(placed: tuple[int, Work]) -> Outcome:
            place, work = placed
            self._said.begin(place)
            return await attempt(work)

        def give_up(placed: tuple[int, Work]) -> Outcome | None:
            return self._awaited.give_up(placed[1])

        outcomes = executors.run_async(
            call,
            works(),
            in_flight=self._in_flight,
            loop=self._loop,
            give_up=give_up,
        )
        for place, outcome in enumerate(outcomes):
            self._said.begin(place)
            yield self._result(outcome, asked_of[place], scoring)

    def _result(self, outcome: Outcome, asked: Sequence[int], scoring: _Stopwatch) -> bytes:
        with scoring:
            scorers = [self._scorers[key] for key in asked]
            self._asked.update(asked if outcome.output is not None else ())
            outcome = _safely(lambda _: score(outcome, scorers), outcome.work)
        return wire.written_result(outcome)

    # -- its beginning -------------------------------------------------------------------------

    def _divide(self, workers: int, besides: Iterable[Any]) -> None:
        """Let components keep to their share of what they may do in a minute."""
        components = [self._system, *(scorer.evaluator for scorer in self._scorers.values())]
        divided = list(besides)
        for component in components if workers > 1 else ():
            is_done = any(component is one for one in divided)  # one may score twice
            if not is_done and hasattr(component, "divide_limits"):
                component.divide_limits(workers)
                divided.append(component)

    def _warm_up(self) -> None:
        if not hasattr(self._system, "warm_up"):
            return
        with contained() as tried:
            begun = self._system.warm_up()
            if inspect.isawaitable(begun):
                self._warm_up_awaited(begun)
        if tried.error is not None:
            self._remarks.append(f"warming up {self._system.name!r} failed: {tried.reason}")

    def _warm_up_awaited(self, begun: Any) -> None:
        if self._loop is not None:
            self._loop.call(begun)
            return
        loop = _new_loop()
        try:
            loop.call(begun)
        finally:
            loop.close()

    def _unread(self) -> dict[int, Sequence[str]]:
        fields = {
            key: getattr(self._scorers[key].evaluator, "unread_columns", None)
            for key in self._asked
        }
        return {key: sorted(unread) for key, unread in fields.items() if unread is not None}


def _new_loop(limit_s: float | None = None) -> LoopThread:
    from cbcore._run.event_loop import LoopThread  # which takes as long to import as all else

    return LoopThread(limit_s)


def _read(task: bytes) -> tuple[Work, Sequence[int]]:
    try:
        return wire.read_task(task)
    except Exception as error:  # noqa: BLE001 - an example may be made of anything
        told = f"the example cannot be read in a worker: {describe_exception(error)}"
        return Work(0, "", {}, "", problem=told), ()


def _safely(attempt: Callable[[Work], Outcome], work: Work) -> Outcome:
    try:
        return attempt(work)
    except BaseException as error:  # noqa: BLE001 - a worker is not ended by what it calls
        return Outcome(work, None, 0.0, describe_exception(error))


_LATER_S = 1.0
"""How much longer than it may take a call may hold the interpreter."""


class _Watchdog:
    """Ends this process when a call holds the interpreter, so that nobody here can give it up."""

    def __init__(self, limit_s: float | None) -> None:
        self._limit_s = limit_s
        self._nowhere = None if limit_s is None else open(os.devnull, "w")  # noqa: PTH123, SIM115

    def __enter__(self) -> None:
        if self._limit_s is not None and self._nowhere is not None:
            import faulthandler  # whose clock needs no interpreter

            late_s = self._limit_s + _LATER_S
            faulthandler.dump_traceback_later(late_s, exit=True, file=self._nowhere)

    def __exit__(self, *_: object) -> None:
        if self._nowhere is not None:
            import faulthandler

            faulthandler.cancel_dump_traceback_later()

    def close(self) -> None:
        if self._nowhere is not None:
            self._nowhere.close()


class _Stopwatch:
    """The longest of several spans of time."""

    longest_s = 0.0

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.longest_s = max(self.longest_s, time.perf_counter() - self._started)
