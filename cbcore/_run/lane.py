"""One system on one dataset: calls, scoring and rows, each where it keeps nobody waiting."""

from __future__ import annotations

import functools
import itertools
import os
import time
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from cbcore._run import executors
from cbcore._run.calls import AsyncCaller, SyncCaller, is_async
from cbcore._run.ids import SeenIds
from cbcore._run.limits import Budget
from cbcore._run.scorers import Done, RowMaker, Wired, ascore, score
from cbcore._run.work import Work, number
from cbcore.results import EvalRow

if TYPE_CHECKING:
    from cbcore._run.run import Run, Source

ASYNC_IN_FLIGHT = 16
"""Examples an awaited system works on at once, unless told otherwise; a sync system gets one."""

_LONG_TO_SCORE_S = 0.002
"""From here on, scoring an output is worth a thread of its own."""


@attrs.frozen
class _CallAndScore:
    """What an executor is given to do with each example; it can be sent to another process."""

    called: SyncCaller
    evaluators: Sequence[Wired]

    def __call__(self, work: Work) -> Done:
        return score(self.called(work), self.evaluators)


class Lane:
    """One system on one dataset: work goes in, rows come out in the dataset's order."""

    def __init__(self, run: Run, system: Any, source: Source, seen: SeenIds) -> None:
        self._run = run
        self._system = system
        self._source = source
        self._seen = seen
        self._memo = run.memo(system, source)
        self._budget = run.budget if run.budget.limited else None
        self._make_row = RowMaker(
            *(system.name, run.counter, run.secrets),
            evaluators=source.evaluators,
            score_field=run.main_score_of(source),
        ).row
        self._waiting = [w for w in source.evaluators if hasattr(w.evaluator, "ascore")]
        self._direct = [w for w in source.evaluators if not hasattr(w.evaluator, "ascore")]
        self._scoring_takes_long = False
        self._unscored: list[Done] = []
        self._unclaimed: list[Done] = []
        self.n_recalled = 0
        self._done: Iterator[Done] = iter(())

    def rows(self) -> Iterator[EvalRow]:
        repeats = self._source.repeats or self._run.options.repeats
        source = self._source
        work = number(
            source.examples,
            source.tag,
            repeats=repeats,
            seen=self._seen,
            ids_may_repeat=source.contained,
            warn=self._run.warn,
        )
        if self._memo is not None:
            work = self._memo.recall(work)
        work = self._warmed_up(work)
        self._done = self._judged(self._called(work)) if self._waiting else self._called(work)
        if self._source.pooled:
            self._done = self._pooled(self._done)
        return map(self._make_row if self._memo is None else self._finished, self._done)

    def _warmed_up(self, works: Iterator[Work]) -> Iterator[Work]:
        """The same work; the system is ready when the first of it has to be called for."""
        first = next(works, None)
        if first is None or self._needs_call(first):
            return itertools.chain([first] if first is not None else [], works)
        return itertools.chain([first], self._warmed_up_later(works))

    def _warmed_up_later(self, works: Iterator[Work]) -> Iterator[Work]:
        for work in works:
            if self._needs_call(work):
                yield work
                yield from works
                return
            yield work

    def _needs_call(self, work: Work) -> bool:
        """Whether the system has to be called for it; if so, it is ready now."""
        if work.problem is not None or work.recalled is not None:
            return False
        self._run.warm_up(self._system)
        return True

    def _finished(self, done: Done) -> EvalRow:
        if self._memo is not None:
            self._memo.remember(done)
        row = self._make_row(done)
        if done.work.recalled is not None:
            row.recalled = True
            self.n_recalled += 1
        return row

    @property
    def fingerprint(self) -> str:
        """A digest of the examples this lane has seen; empty without a store."""
        return self._memo.fingerprint if self._memo is not None else ""

    def salvaged(self) -> Iterator[EvalRow]:
        """After an early end: the rows that were ready; outputs not yet scored are stored."""
        if isinstance(self._done, Generator):
            self._done.close()
        if self._budget is not None:
            self._budget.abandon()
        if not self._waiting and not self._scoring_takes_long:
            yield from (self._finished(score(done, self._direct)) for done in self._unscored)
        elif self._memo is not None:
            for done in self._unscored:
                self._memo.remember(done)
        yield from map(self._finished, self._unclaimed)

    def _called(self, work: Iterator[Work]) -> Iterator[Done]:
        """Work through the system, and what can score at once, by the executor that suits it."""
        system, options, direct = self._system, self._run.options, self._direct
        gate = None
        if self._budget is not None:
            work = gate = self._budget.admit(work)
        if is_async(system):
            done = executors.run_async(
                AsyncCaller(system, options.timeout_s),
                work,
                in_flight=self._in_flight,
                loop=self._run.loop(),
                unclaimed=self._unscored,
                gate=gate,
            )
            done = self._settled(done)
            return self._scored(done) if direct else done
        unclaimed = self._unscored if self._waiting else self._unclaimed
        shared = options.executor is not None or self._in_flight > 1
        call = _CallAndScore(SyncCaller(system, options.timeout_s, shared=shared), direct)
        if options.executor is not None:
            made: Iterator[Done] = options.executor.map(call, work, in_flight=self._in_flight)
            return made
        if self._in_flight == 1:
            return self._settled(executors.run_inline(call, work))
        return self._settled(
            executors.run_in_threads(
                call, work, in_flight=self._in_flight, unclaimed=unclaimed, gate=gate
            )
        )

    def _settled(self, done: Iterator[Done]) -> Iterator[Done]:
        """Calls that are over, each with what it spent taken from the budget at once.

        Not when its row is made: a row may wait for a judge, or for other repeats, and these
        for the budget.
        """
        return done if self._budget is None else self._settling(self._budget, done)

    def _settling(self, budget: Budget, done: Iterator[Done]) -> Iterator[Done]:
        try:
            for item in done:
                budget.settle(item.work, self._make_row(attrs.evolve(item, scores=[])))
                yield item
        finally:
            if isinstance(done, Generator):
                done.close()

    def _scored(self, done: Iterator[Done]) -> Iterator[Done]:
        """What awaited calls returned through the evaluators that can score at once.

        Not on the event loop: other calls would wait for the evaluator, and be measured so.
        One that takes long is given threads.
        """
        try:
            for item in done:
                self._unscored.append(item)
                started = time.perf_counter()
                score(item, self._direct)
                took = time.perf_counter() - started
                yield self._unscored.pop()
                if took > _LONG_TO_SCORE_S:
                    break
            else:
                return
            self._scoring_takes_long = True
            yield from executors.run_in_threads(
                functools.partial(score, evaluators=self._direct),
                done,
                in_flight=os.cpu_count() or 1,
                unclaimed=self._unclaimed,
            )
        finally:
            if isinstance(done, Generator):
                done.close()

    def _judged(self, done: Iterator[Done]) -> Iterator[Done]:
        """Outputs through the evaluators that wait for something, while more are produced."""

        async def judge(item: Done) -> Done:
            return await ascore(item, self._waiting)

        return executors.run_async(
            judge,
            done,
            in_flight=self._in_flight,
            loop=self._run.loop(),
            unclaimed=self._unclaimed,
        )

    def _pooled(self, done: Iterator[Done]) -> Iterator[Done]:
        """Repeats of an example, which come one after another, scored together at the last."""
        waiting: list[Done] = []
        try:
            for item in done:
                if waiting and waiting[-1].work.index != item.work.index:
                    self._score_together(waiting)
                    while waiting:
                        yield waiting.pop(0)
                waiting.append(item)
            self._score_together(waiting)
            while waiting:
                yield waiting.pop(0)
        except BaseException:  # an early end, however it comes: what is done is kept
            if isinstance(done, Generator):
                done.close()
            self._unclaimed[:0] = waiting
            raise

    def _score_together(self, repeats: Sequence[Done]) -> None:
        answered = [item for item in repeats if item.output is not None]
        if answered:
            last, outputs = answered[-1], [item.output for item in answered]
            for wired in self._source.pooled:
                if not wired.applies_to(last.work.example, last.output or {}):
                    continue
                scorer = wired.evaluator
                try:
                    if hasattr(scorer, "ascore_all"):
                        judged = scorer.ascore_all(last.work.example, outputs)
                        scores = self._run.loop().call(judged)
                    else:
                        scores = scorer.score_all(last.work.example, outputs)
                except (Exception, SystemExit) as error:  # noqa: BLE001 - the plugin boundary
                    scores = error
                last.scores.append((wired, scores))

    @property
    def _in_flight(self) -> int:
        default = ASYNC_IN_FLIGHT if is_async(self._system) else 1
        return self._run.options.max_workers or default
