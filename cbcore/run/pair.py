"""One system on one benchmark: examples read, looked up, called, stored and scored, in order."""

from __future__ import annotations

import copy
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from cbcore.boundary import contained, describe_exception
from cbcore.components import Built
from cbcore.contexts import complete_output, find_unreadable, is_same, pass_on
from cbcore.costs import Spent, find_cost, find_scoring_cost, read_cost
from cbcore.exceptions import (
    CBError,
    MissingScoreError,
    ProcessError,
    ScoringError,
)
from cbcore.requests import compact_requests
from cbcore.results import EvalRow
from cbcore.results.eval_row import POSITIONS
from cbcore.run.budget import Reservation
from cbcore.run.calling import Threads
from cbcore.run.examples import Examples, NumberedExample, copy_data
from cbcore.run.finish import SAME_ERRORS
from cbcore.run.make_row import RowMaker
from cbcore.run.scorers import Scorer
from cbcore.timing import NO_WAITS, Waits, start_waits
from cbcore.tokens import TEXT_FIELDS

if TYPE_CHECKING:
    import asyncio

    from cbcore.run.runner import Runner
    from cbcore.run.workers import Workers

__all__ = ("Attempt",)

_WINDOW = 4
"""Attempts held for each concurrent call, so that one slow call does not idle the others."""
_INLINE_WINDOW = 64
_INLINE_S = 0.005
"""How long the driver makes calls itself before it goes on with their rows."""
_MOST_SCORING = 32
"""Threads that score the outputs of an awaited system."""
_LONGEST_STRIDE = 64
_QUICK_S = 0.001
_NOTED_WAIT_S = 0.0005
"""A row notes longer waits."""


class Call:
    """One call of a component, and the only boundary around it: what it raises becomes `error`.

    An interrupt by the user passes. `latency_s` is the time inside the component, without what it
    waited for its turn.
    """

    output: Any = None
    error: BaseException | None = None
    latency_s = 0.0
    waits = NO_WAITS
    _started = 0.0

    def __enter__(self) -> Call:  # noqa: PYI034 - nothing is derived from it
        return self

    def start_clock(self) -> None:
        """Start to measure the call: preparations are not part of it."""
        self.waits = start_waits()
        self._started = time.perf_counter()

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> bool:
        if self._started:
            took = time.perf_counter() - self._started
            self.latency_s = max(0.0, took - self.waits.seconds)
        if error is None or isinstance(error, KeyboardInterrupt):
            return False
        self.error = error
        return True


class Attempt:
    """One example through one system. One owner at a time: driver, then caller, then driver.

    `scores` are what each evaluator returned or raised, `spent` what the calls cost. `repeats` are
    set for the last repeat that has an output, when all repeats can be scored together.
    """

    output: dict[str, Any] | None = None
    system_key: str | None = None  # under which its output is stored
    output_key: str | None = None
    latency_s = 0.0
    raised: BaseException | None = None
    repeats: Sequence[Attempt] = ()
    is_cached = False
    is_done = False
    reservation: Reservation | None = None
    deadline: float | None = None  # of the call that is under way
    waits: Waits | None = None  # of that call, if waiting does not count
    step: str | None = None  # where it is: "thread", "loop", or None for the driver
    is_given_up = False
    is_left = False  # the event loop has heard of it
    is_replaced = False  # another thread has taken the place of the one in the call
    escaped: BaseException | None = None
    task: asyncio.Task[None] | None = None
    has_slot = False
    future: Any = None  # in a worker
    _completed: dict[str, Any] | None = None

    def __init__(self, pair: Pair, example: NumberedExample, repeat: int = 0) -> None:
        self.pair = pair
        self.example = example
        self.repeat = repeat
        self.position = pair.first_position + example.index * pair.repeats + repeat
        self.error = example.problem
        self.scores: dict[Scorer, Any] = {}
        self.spent: dict[Built, Spent] = {}

    @property
    def sent(self) -> dict[str, Any]:
        """The fields that a stage behind the system would get, with the context that was sent."""
        return pass_on(self.example.data, self.output or {})

    @property
    def completed(self) -> dict[str, Any]:
        """The output as evaluators read it."""
        if self._completed is None:
            self._completed = complete_output(self.output or {}, self.sent)
        return self._completed

    @property
    def needs_call(self) -> bool:
        return self.output is None and self.error is None

    def find_failed_scorer(self) -> tuple[str, BaseException] | None:
        """The first evaluator that failed, and what it raised."""
        for scorer, scores in self.scores.items():
            kind = type(scores)  # `isinstance` would ask the object, which may fail
            if issubclass(kind, BaseException) and not issubclass(kind, MissingScoreError):
                return scorer.name, scores
        return None


class Pair:
    """Driver: `fill`, `take_rows`, `stop`. Caller: `run_blocking`, `run_awaited`, `finish`.

    It calls inline, in the driver, if nothing else is under way: one call at a time, alone in its
    group or interleaved, without a time limit, awaited evaluators and workers.
    """

    def __init__(
        self,
        run: Runner,
        system: Built,
        examples: Examples,
        scorers: Sequence[Scorer] = (),
        place: int = 0,
        workers: Workers | None = None,
        *,
        is_alone: bool = True,
    ) -> None:
        """`place` is that of the benchmark in the run. A pair `is_alone` if no other system runs at
        the same time."""
        self.run = run
        self.system = system
        self.examples = examples
        self.scorers = scorers
        self.calls = run.calls
        self.budget = run.budget
        self.workers = workers
        self.cache = run.open_cache(system)
        self.repeats = run.count_repeats(examples.benchmark)
        self.first_position = place * POSITIONS
        self.row_maker = RowMaker(run, system.name, scorers, examples.benchmark)
        self.of_repeats = [s for s in scorers if s.is_of_repeats]
        singles = [s for s in scorers if not s.is_of_repeats]
        self._singles = sorted(singles, key=lambda scorer: scorer.is_awaited)  # those come last
        self.is_awaited = system.is_awaited
        # Such a system puts its calls in an order of its own, so that most of them wait.
        self._queues = getattr(system.value, "concurrency", None)
        default = workers.n_workers if workers else 16 if self.is_awaited else 1
        self.concurrency: int = self._queues or run.settings.concurrency or default
        self.is_inline = (
            (is_alone or run.settings.interleave)
            and self.concurrency == 1
            and not (self.is_awaited or workers or run.settings.timeout_s)
            and not any(scorer.is_awaited for scorer in scorers)
        )
        is_strict = run.settings.fail_fast or run.settings.max_errors is not None
        window = _INLINE_WINDOW if self.is_inline else _WINDOW * self.concurrency
        if run.settings.interleave or (self.is_inline and is_strict):
            window = 1
        self.window = max(self.repeats, window)
        n_threads = min(self.concurrency, _MOST_SCORING) if self.is_awaited else self.concurrency
        self.threads = Threads(self.calls, n_threads)
        if self.is_awaited:
            import asyncio

            self._slots = asyncio.Semaphore(self.concurrency)
        self.open: deque[Attempt] = deque()
        self.held: Attempt | None = None  # waits for the budget
        self.is_read = False
        self.stopped: str | None = None
        self.data_error: CBError | None = None
        self.started = time.perf_counter()
        self.n_started = self.n_rows = 0
        self.last_position = -1  # of the rows that were taken
        self.attempts = self._read()

    @property
    def n_steps(self) -> int:
        """Grows with everything that the pair gets done."""
        return self.n_started + self.n_rows + self.is_read

    # -- driver thread -------------------------------------------------------------------------

    def _read(self) -> Iterator[Attempt]:
        """The attempts at all examples, with what is cached of them.

        With a cache it looks ahead, in strides that grow while examples come at once, since one
        look-up of many is much faster than many of one.
        """
        examples = iter(self.examples)
        stride = 1
        while self.data_error is None:
            started = time.perf_counter()
            attempts: list[Attempt] = []
            try:
                for example in islice(examples, stride):
                    attempts += [Attempt(self, example, n) for n in range(self.repeats)]
            except CBError as error:  # the examples before it are still run
                self.data_error = error
            if self.cache:
                self.cache.look_up(attempts, self.scorers)
                is_quick = time.perf_counter() - started < _QUICK_S * stride
                stride = min(2 * stride, _LONGEST_STRIDE) if is_quick else 1
            if not attempts:
                return
            yield from attempts

    def fill(self) -> None:
        """Start attempts while the window and the budget have room."""
        until = time.perf_counter() + _INLINE_S
        # One by one at first: a system that always fails is stopped right after these rows.
        is_first = self.is_inline and self.n_rows < SAME_ERRORS * self.repeats
        window = self.repeats if is_first else self.window
        while len(self.open) < window and not self.is_read:
            attempt, self.held = self.held or next(self.attempts, None), None
            if attempt is None:
                self.is_read = True
                return
            if self.budget.is_limited and not self._reserve(attempt):
                self.held = attempt
                return
            if not self.n_started:
                self.started = time.perf_counter()
            if attempt.needs_call and not self.workers:  # which warm up by themselves
                self.calls.warm_up(self.system)
            self.open.append(attempt)
            self.n_started += 1
            if self.is_inline:
                self.run_blocking(attempt)
                self.finish(attempt)
                if time.perf_counter() > until:
                    return
            else:
                self.calls.start(attempt)

    def _reserve(self, attempt: Attempt) -> bool:
        """Set aside what the calls of an attempt may cost. False: it has to wait."""
        components = [self.system] * attempt.needs_call + self.list_judges(attempt)
        if components:
            attempt.reservation = self.budget.reserve(attempt.example.data, components)
        return not components or attempt.reservation is not None

    def list_judges(self, attempt: Attempt) -> list[Built]:
        """The evaluators that may cost money and have still to score an attempt."""
        due = self.of_repeats if attempt.repeats else self._singles
        if attempt.error is not None:
            due = []
        return [s.built for s in due if s.may_cost and s not in attempt.scores]

    def take_rows(self) -> Iterator[tuple[EvalRow, Attempt]]:
        """The rows of finished attempts at the head of `open`, which keeps the order.

        An attempt leaves `open` when its row has been taken.
        """
        while self.open and self.open[0].is_done:
            attempt = self.open[0]
            if self.of_repeats and attempt.repeat == 0 and not self._score_together():
                return
            yield self.row_maker.make(attempt), attempt
            self.open.popleft()
            self.n_rows += 1

    def _score_together(self) -> bool:
        """Score all repeats of the next example, once all are finished. True if that is over.

        The last repeat with an output is started once more for it.
        """
        group = list(islice(self.open, self.repeats))
        is_whole = len(group) == self.repeats or self.is_read
        if not is_whole or not all(attempt.is_done for attempt in group):
            return False
        answered = [attempt for attempt in group if attempt.output is not None]
        if not answered or answered[-1].repeats:
            return True
        last = answered[-1]
        if last in self.calls.open:
            return False  # else `wait` would take its first return for its second
        self.join_repeats(last, answered)
        if next(self._find_due(last), None) is None:
            return True
        if self.budget.is_limited and not self._reserve(last):
            last.repeats = ()
            return False
        last.is_done = False
        self.n_started += 1
        if not self.is_inline:
            self.calls.start(last)
            return False
        self.run_blocking(last)
        self.finish(last)
        return True

    def join_repeats(self, last: Attempt, repeats: Sequence[Attempt]) -> None:
        """Let an attempt stand for all repeats, with what is cached of their scores."""
        last.repeats = repeats
        if self.cache:
            self.cache.look_up_repeats(last, self.of_repeats)

    def stop(self, reason: str) -> None:
        """Read no more examples. Calls under way still make their rows. The first reason counts."""
        self.stopped = self.stopped or reason
        self.is_read = True

    def put_stand_in(self, attempt: Attempt, reason: str) -> None:
        """Let a finished copy take the place of an attempt that is given up.

        Its caller still owns the attempt: if the call returns, the output is stored, but makes no
        row.
        """
        stand_in = copy.copy(attempt)
        stand_in.scores = attempt.scores.copy()
        stand_in.is_done, stand_in.is_given_up = True, False
        stand_in.deadline = stand_in.future = stand_in.task = None
        if stand_in.output is None:  # that of the attempt may come now
            stand_in.error = reason
        for scorer in self._find_due(stand_in):
            stand_in.scores[scorer] = ScoringError(reason)
        self.open[self.open.index(attempt)] = stand_in
        if attempt.reservation:
            attempt.reservation.settle(attempt.spent)

    # -- in a thread, on the event loop, or in the driver if it is inline ------------------------

    def next_step(self, attempt: Attempt) -> str | None:
        """Where an attempt goes next; None if it is finished."""
        if attempt.needs_call:
            return "loop" if self.is_awaited else "thread"
        scorer = next(self._find_due(attempt), None)
        return None if scorer is None else "loop" if scorer.is_awaited else "thread"

    def _find_due(self, attempt: Attempt) -> Iterator[Scorer]:
        """The evaluators that have still to score an attempt: first those that block."""
        for scorer in self.of_repeats if attempt.repeats else self._singles:
            if attempt.output is None or attempt.error is not None or attempt.is_given_up:
                return
            is_scored = scorer in attempt.scores
            if not is_scored and scorer.can_score(attempt.example.data, attempt.output):
                yield scorer

    def run_blocking(self, attempt: Attempt) -> None:
        """Make the calls of an attempt that block, one after another, here or in a worker."""
        workers = self.workers
        if attempt.needs_call:
            with Call() as call:
                arguments = self._begin(attempt, None, call)
                if workers is None:
                    call.output = self.system.value.process(*arguments)
            if workers is not None and call.error is None:
                call = workers.call(attempt, self.system, arguments)
            self._keep(attempt, call)
        for scorer in self._find_due(attempt):
            if scorer.is_awaited:
                break
            with Call() as call:
                arguments = self._begin(attempt, scorer, call)
                if workers is None or scorer.is_of_repeats:
                    call.output = scorer.score(*arguments)
            if workers is not None and not scorer.is_of_repeats and call.error is None:
                call = workers.call(attempt, scorer.built, arguments)
            self._keep_scores(attempt, scorer, call)

    async def run_awaited(self, attempt: Attempt) -> None:
        """Make the calls of an attempt that are awaited. Those of the system take a slot."""
        if attempt.needs_call:
            await self._slots.acquire()
            attempt.has_slot = True
            try:
                with Call() as call:
                    call.output = await self.system.value.aprocess(
                        *self._begin(attempt, None, call)
                    )
                self._keep(attempt, call)
            finally:
                self._free_slot(attempt)
        for scorer in self._find_due(attempt):
            if not scorer.is_awaited:
                break
            with Call() as call:
                call.output = await scorer.score(*self._begin(attempt, scorer, call))
            self._keep_scores(attempt, scorer, call)

    def _begin(self, attempt: Attempt, scorer: Scorer | None, call: Call) -> tuple[Any, ...]:
        """A call begins now: it may cost something, its time limit starts, and then its clock.

        Returns what the component gets: copies, to do with as it likes.
        """
        example = copy_data(attempt.example.data)
        if attempt.reservation:
            attempt.reservation.begun.add(self.system if scorer is None else scorer.built)
        self.start_limit(attempt)
        if scorer is None:
            call.start_clock()
            attempt.waits = call.waits if self._queues else None
            return (example,)
        if scorer.is_of_repeats:
            return example, [_copy_output(one.output or {}) for one in attempt.repeats]
        return example, _copy_output(attempt.completed)

    def start_limit(self, attempt: Attempt) -> None:
        """The time limit of a call starts now."""
        if self.calls.timeout_s is not None:
            attempt.deadline = time.monotonic() + self.calls.timeout_s

    def _keep(self, attempt: Attempt, call: Call) -> None:
        """The call is over: store its output before anything else can fail."""
        attempt.deadline = attempt.waits = None
        attempt.latency_s, attempt.raised = call.latency_s, call.error
        with Call() as reading:  # outputs and exceptions may have methods that fail
            if call.error is None:
                attempt.output, attempt.error = self._read_output(attempt, call)
            else:
                attempt.error = explain_failure(call.error, attempt.example, self.system.name)
        if reading.error is not None:
            attempt.error = f"the output cannot be read: {describe_exception(reading.error)}"
        if self.cache and attempt.output is not None:
            self.cache.put_output(attempt)  # queues; never waits or fails
        if attempt.reservation:
            with contained():
                if attempt.output is not None:
                    spent = find_cost(self.run.counter, attempt.example.data, attempt.output)
                    attempt.spent[self.system] = spent
                elif isinstance(call.error, ProcessError) and call.error.cost:
                    attempt.spent[self.system] = read_cost(call.error.cost, is_answered=False)

    def _read_output(
        self, attempt: Attempt, call: Call
    ) -> tuple[dict[str, Any] | None, str | None]:
        """The output of a call, or why it is none."""
        if not isinstance(call.output, dict):
            return None, f"the system returned {type(call.output).__name__}, not a dict"
        example, output = attempt.example.data, dict(call.output)
        if (problem := find_unreadable(example, output)) is not None:
            return None, f"the system {problem}"
        if call.waits.seconds > _NOTED_WAIT_S:
            metadata = output.get("metadata")
            known = metadata if isinstance(metadata, Mapping) else {}
            output = {**output, "metadata": {**known, "waited_s": call.waits.seconds}}
        requests = output.get("requests")
        if requests and not is_same(requests, example.get("requests")):
            with contained():
                output = {**output, "requests": compact_requests(requests, example, output)}
        return output, None

    def _keep_scores(self, attempt: Attempt, scorer: Scorer, call: Call) -> None:
        attempt.deadline = None
        scores = attempt.scores[scorer] = call.output if call.error is None else call.error
        if attempt.reservation:
            with contained():  # costs are values of evaluators
                if call.error is None or isinstance(scores, ScoringError):
                    attempt.spent[scorer.built] = find_scoring_cost(scores)
        if self.cache:
            self.cache.put_scores(attempt, scorer, scores)

    def finish(self, attempt: Attempt) -> None:
        if attempt.reservation:
            attempt.reservation.settle(attempt.spent)
            attempt.spent = {}  # repeats that are scored together settle once more
        attempt.is_done = True

    def reserve_again(self, attempt: Attempt) -> bool:
        """After a worker was lost: its call counts with its bound, and the next waits for its turn.

        False: the budget has no room for it.
        """
        if attempt.reservation is None:
            return True
        attempt.reservation = self.budget.reserve_again(attempt.reservation)
        if attempt.reservation is None or attempt.is_given_up:
            return False
        attempt.reservation.begun.add(self.system)
        return True

    # -- on the event loop ---------------------------------------------------------------------

    def leave_task(self, attempt: Attempt) -> None:
        """Cancel a task that is given up. It may refuse: its slot is free either way."""
        attempt.is_left = True
        if attempt.task is not None:
            attempt.task.cancel()
        self._free_slot(attempt)

    def _free_slot(self, attempt: Attempt) -> None:
        if attempt.has_slot:
            attempt.has_slot = False
            self._slots.release()


def _copy_output(output: Mapping[str, Any]) -> dict[str, Any]:
    """A copy that an evaluator may change. Fields that cannot be copied are shared."""
    copied = dict(output)
    for field, value in output.items():
        if type(value) is not str:
            with contained():
                copied[field] = copy_data(value)
    return copied


def explain_failure(error: BaseException, example: NumberedExample, system: str) -> str:
    """Why a call failed, as its row says it."""
    if isinstance(error, CBError):
        return f"{type(error).__name__}: {error.message}"
    missing = error.args[0] if isinstance(error, KeyError) and error.args else None
    if missing in TEXT_FIELDS and missing not in example.data:
        return f"KeyError: example {example.id!r} has no {missing!r}, which system {system!r} asked for"
    return describe_exception(error)
