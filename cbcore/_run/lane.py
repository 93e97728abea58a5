"""One system on one dataset: calls, scoring and rows, each where it keeps nobody waiting."""

from __future__ import annotations

import functools
import itertools
import os
import time
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING

import attrs

from cbcore._run import executors
from cbcore._run.attempts import Attempt, AwaitedAttempt, Judging, Scoring
from cbcore._run.benchmark import Benchmark
from cbcore._run.budget import Account, Admission
from cbcore._run.calls import AsyncCaller, SyncCaller, calls_at_once, is_async
from cbcore._run.context import RunContext
from cbcore._run.ids import SeenIds
from cbcore._run.judges import NOBODY, Judges
from cbcore._run.memo import Memo
from cbcore._run.parts import Part
from cbcore._run.rows import RowMaker
from cbcore._run.scorers import Outcome, ask_for_scores, is_awaited, score
from cbcore._run.tracebacks import FailedScoring, Raised
from cbcore._run.work import Work
from cbcore.boundary import contained
from cbcore.results import EvalRow

if TYPE_CHECKING:
    from cbcore._run.crews import Crews
    from cbcore._run.executors import Gate

_LONG_TO_SCORE_S = 0.002
"""From here on, scoring an output is worth a thread of its own."""


class Lane:
    """One system on one dataset: work goes in, rows come out in the dataset's order."""

    def __init__(
        self,
        context: RunContext,
        part: Part,
        benchmark: Benchmark,
        seen: SeenIds | None = None,
        *,
        beside: bool = False,
    ) -> None:
        """With `beside`, other lanes run at the same time: it begins when its rows are asked for."""
        self._context = context
        self._part = part
        self._source = benchmark
        self._seen = seen
        self._beside = beside
        self._memo = context.memo(part, benchmark)
        self._budget = context.budget.account(part) if context.budget.limited else None
        self._row_maker = RowMaker(
            *(part.name, context.counter),
            scorers=benchmark.scorers,
            score_field=benchmark.expected_score(context.score_field),
            cluster_column=context.settings.cluster_column,
            idle=context.idle,
        )
        self._make_row = self._row_maker.row if context.sharding is None else self._placed
        self._waiting = [scorer for scorer in benchmark.scorers if is_awaited(scorer)]
        self._direct = [scorer for scorer in benchmark.scorers if not is_awaited(scorer)]
        self._judges = self._paid_judges() if self._budget is not None else NOBODY
        self._gate: Admission | None = None
        self._scoring_takes_long = False
        # Every outcome is in one place at a time: in the hands of one of the generators below,
        # of an executor, or, after an early end, in one of the first two lists. Calls were paid
        # for, so none may fall between them, and none may be in both, or it would be two rows.
        # `_unscored`: the system has answered, and some evaluator has yet to be asked. Filled by
        # the executor that calls an awaited system, by threads when judges come after them, and
        # by `_scored` with the one outcome that it is scoring.
        # `_unclaimed`: nobody is left to be asked, and only the row is missing. Filled by whatever
        # asks evaluators last: threads, `_judged`, or `_pooled` with repeats that are not yet
        # complete; those do without the scores that they would have got together.
        # Workers of an executor leave what threads do: all that was replied.
        # `_judging`: what judges were given and has not come back from them. Those among it that
        # were judged by the time of an early end are in `_unclaimed` too, and count as that.
        self._unscored: list[Outcome] = []
        self._unclaimed: list[Outcome] = []
        self._judging: deque[Outcome] = deque()
        self._outcomes: Iterator[Outcome] = iter(())

    def rows(self) -> Iterator[EvalRow]:
        work = self._warmed_up(self._context.works(self._source, self._memo, seen=self._seen))
        self._outcomes = self._judged(self._called(work)) if self._waiting else self._called(work)
        if self._source.pooled:
            self._outcomes = self._pooled(self._outcomes)
        if self._budget is not None:
            self._outcomes = self._judges_paid(self._budget, self._outcomes)
        if self._memo is None:
            return map(self._make_row, self._outcomes)
        return self._stored(self._memo, self._outcomes)

    def _paid_judges(self) -> Judges:
        """Those that may ask for money: they wait for something."""
        pooled = [s for s in self._source.pooled if hasattr(s.evaluator, "ascore_all")]
        return self._context.budget.judges([*self._waiting, *pooled])

    def _judges_paid(self, budget: Account, outcomes: Iterator[Outcome]) -> Iterator[Outcome]:
        try:
            for outcome in outcomes:
                budget.scored(outcome, self._judges)
                yield outcome
        finally:
            if isinstance(outcomes, Generator):
                outcomes.close()

    @property
    def has_to_wait(self) -> bool:
        """Whether the next call has to wait for what other lanes have under way."""
        if self._gate is None or self._budget is None or self._budget.n_under_way:
            return False
        return not self._budget.is_calling and self._gate.holds()

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
        with contained():  # where texts cannot be counted, the row says so
            self._context.counter.visible(work.example)  # as a system that counts will, measured
        self._context.warm_up(self._part)
        return True

    def _stored(self, memo: Memo, outcomes: Iterator[Outcome]) -> Iterator[EvalRow]:
        """The rows of outcomes, which are stored with them."""
        for outcome in outcomes:
            yield memo.row(outcome, self._make_row)
            if memo.store.is_due:
                memo.store.keep_up()  # which ends the run where it cannot, but costs no row

    def _recorded(self, outcome: Outcome) -> EvalRow:
        if self._memo is None:
            return self._make_row(outcome)
        return self._memo.row(outcome, self._make_row)

    @property
    def n_recalled(self) -> int:
        """How many rows are from the store."""
        return 0 if self._memo is None else self._memo.n_recalled

    def _placed(self, outcome: Outcome) -> EvalRow:
        row, sharding = self._row_maker.row(outcome), self._context.sharding
        return row if sharding is None else sharding.place(row, self._source, outcome.work.index)

    @property
    def fingerprint(self) -> str:
        """A digest of the examples this lane has seen; empty without a store."""
        return self._memo.fingerprint if self._memo is not None else ""

    @property
    def raised(self) -> Raised | None:
        """What the call behind the last errored row raised."""
        return self._row_maker.raised

    @property
    def failed(self) -> FailedScoring | None:
        """The evaluator that raised where it should have scored the last row."""
        return self._row_maker.failed

    def salvaged(self) -> Iterator[EvalRow]:
        """After an early end: the rows that were ready; outputs not yet scored are stored."""
        # Closing goes through the generators to the executors, which only then fill the lists.
        if isinstance(self._outcomes, Generator):
            self._outcomes.close()
        if self._budget is not None:
            self._budget.abandon()
        for outcome in self._unclaimed:
            yield self._recorded(outcome)
        if not self._waiting and not self._scoring_takes_long:
            for outcome in self._unscored:
                # The end may have come between two evaluators: all are asked again.
                outcome.scores.clear()
                outcome.n_kept = 0
                yield self._recorded(score(outcome, self._direct))
        else:
            # Nobody who stopped a run wants to wait for judges. Without their scores a row
            # would be wrong, but the next run finds the output in the store.
            for outcome in (*self._unscored, *self._judging):
                is_judged = any(outcome is judged for judged in self._unclaimed)
                if self._memo is not None and not is_judged:
                    self._memo.remember(outcome)

    def _called(self, work: Iterator[Work]) -> Iterator[Outcome]:
        """Work through the system, and what can score at once, by the executor that suits it."""
        system, settings, direct = self._part.value, self._context.settings, self._direct
        gate = None
        if self._budget is not None:
            work = gate = self._gate = self._budget.admit(work, self._judges)
        if self._context.crews is not None:
            return self._settled(self._by_workers(self._context.crews, work, gate))
        if is_async(system):
            begins_now = self._beside and not self.has_to_wait
            awaited = AsyncCaller(system, settings.timeout_s)
            outcomes = executors.run_async(
                AwaitedAttempt(awaited, self._memo),
                work,
                in_flight=self._in_flight,
                loop=self._context.loop(),
                unclaimed=self._unscored,
                gate=gate,
                give_up=awaited.give_up,
                announced=begins_now,
            )
            if begins_now:
                next(outcomes)  # its first calls begin now, beside those of the other systems
            outcomes = self._settled(outcomes)
            return self._scored(outcomes) if direct else outcomes
        # Threads score where they call, so what they leave lacks nothing unless judges follow.
        unclaimed = self._unscored if self._waiting else self._unclaimed
        caller = SyncCaller(system, settings.timeout_s)
        if self._in_flight == 1:
            return self._settled(executors.run_inline(Attempt(caller, direct, self._memo), work))
        return self._settled(
            executors.run_in_threads(
                Attempt(caller, direct, self._memo),
                work,
                in_flight=self._in_flight,
                unclaimed=unclaimed,
                gate=gate,
                warn=self._context.warn,
            )
        )

    def _by_workers(
        self, crews: Crews, work: Iterator[Work], gate: Gate | None
    ) -> Iterator[Outcome]:
        """Work by the workers of an executor, which call and score; judges are asked here."""
        from cbcore._run.dispatch import Dispatch
        from cbcore._run.pacing import Pace, Patience

        system = self._part.value
        dispatch = Dispatch(
            *(crews, self._part, self._direct),
            in_flight=self._in_flight if is_async(system) else 1,
            pace=Pace(),
            patience=Patience(self._context.settings.timeout_s, scores=bool(self._direct)),
            gate=gate,
            unclaimed=self._unscored if self._waiting else self._unclaimed,
        )
        if self._memo is not None:
            dispatch.keep = self._memo.keep
        if self._budget is not None:
            dispatch.lost = self._budget.lose
        return dispatch.outcomes(work)

    def _settled(self, outcomes: Iterator[Outcome]) -> Iterator[Outcome]:
        """Calls that are over, each with what it spent taken from the budget at once.

        Not when its row is made: a row may wait for a judge, or for other repeats, and these
        for the budget.
        """
        return outcomes if self._budget is None else self._settling(self._budget, outcomes)

    def _settling(self, budget: Account, outcomes: Iterator[Outcome]) -> Iterator[Outcome]:
        try:
            for outcome in outcomes:
                budget.settle(outcome.work, self._make_row(attrs.evolve(outcome, scores=[])))
                yield outcome
        finally:
            if isinstance(outcomes, Generator):
                outcomes.close()

    def _scored(self, outcomes: Iterator[Outcome]) -> Iterator[Outcome]:
        """What awaited calls returned through the evaluators that can score at once.

        Not on the event loop: other calls would wait for the evaluator, and be measured so.
        One that takes long is given threads.
        """
        scoring = Scoring(self._direct, self._memo)
        try:
            for outcome in outcomes:
                self._unscored.append(outcome)
                started = time.perf_counter()
                scoring(outcome)
                took = time.perf_counter() - started
                yield self._unscored.pop()
                if took > _LONG_TO_SCORE_S:
                    break
            else:
                return
            self._scoring_takes_long = True
            yield from executors.run_in_threads(
                scoring,
                outcomes,
                in_flight=os.cpu_count() or 1,
                unclaimed=self._unclaimed,
                gate=self._scoring_gate,
            )
        finally:
            if isinstance(outcomes, Generator):
                outcomes.close()

    def _judged(self, outcomes: Iterator[Outcome]) -> Iterator[Outcome]:
        """Outputs through the evaluators that wait for something, while more are produced."""
        judged = executors.run_async(
            Judging(self._waiting, self._memo),
            self._handed_over(outcomes),
            in_flight=self._in_flight,
            loop=self._context.loop(),
            unclaimed=self._unclaimed,
            gate=self._scoring_gate,
        )
        try:
            for outcome in judged:
                self._judging.popleft()  # this one: results come in the order they were asked for
                yield outcome
        finally:
            for generator in (judged, outcomes):
                if isinstance(generator, Generator):
                    generator.close()

    @property
    def _scoring_gate(self) -> executors.Gate | None:
        return None if self._gate is None else self._gate.for_scoring

    def _handed_over(self, outcomes: Iterator[Outcome]) -> Iterator[Outcome]:
        for outcome in outcomes:
            self._judging.append(outcome)
            yield outcome

    def _pooled(self, outcomes: Iterator[Outcome]) -> Iterator[Outcome]:
        """Repeats of an example, which come one after another, scored together at the last."""
        waiting: list[Outcome] = []
        try:
            for outcome in outcomes:
                waiting.append(outcome)
                # Results keep the order of the dataset: another index ends an example.
                if waiting[0].work.index != outcome.work.index:
                    self._score_together(waiting[:-1])
                    while len(waiting) > 1:
                        yield waiting.pop(0)
            self._score_together(waiting)
            while waiting:
                yield waiting.pop(0)
        except BaseException:  # an early end, however it comes: what is done is kept
            if isinstance(outcomes, Generator):
                outcomes.close()
            self._unclaimed[:0] = waiting
            raise

    def _score_together(self, repeats: Sequence[Outcome]) -> None:
        answered = [outcome for outcome in repeats if outcome.output is not None]
        if answered:
            last = answered[-1]
            outputs = [(outcome.output or {}).copy() for outcome in answered]
            for scorer in self._source.pooled:
                if not scorer.can_score(last.work.example, last.output or {}):
                    continue
                evaluator, example = scorer.evaluator, last.work.private_example()
                with contained() as tried:
                    if hasattr(evaluator, "ascore_all"):
                        ask = functools.partial(evaluator.ascore_all, example, outputs)
                        scores = self._context.loop().call(ask_for_scores(ask))
                    else:
                        scores = evaluator.score_all(example, outputs)
                last.scores.append((scorer, scores if tried.error is None else tried.error))

    @property
    def _in_flight(self) -> int:
        return calls_at_once(self._part.value, self._context.settings.concurrency)
