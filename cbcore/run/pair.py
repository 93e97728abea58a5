"""One system on one benchmark: examples read, looked up, called, stored and scored, in order."""

from __future__ import annotations

import copy
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import TracebackType
from typing import TYPE_CHECKING, Any

from cbcore.boundary import contained
from cbcore.components import Built, describe_exception
from cbcore.contexts import complete_output, find_unreadable, is_same, pass_on
from cbcore.exceptions import CBError, ProcessError, ScoringError, StoreError
from cbcore.requests import compact_requests
from cbcore.results import EvalRow
from cbcore.results.eval_row import POSITIONS
from cbcore.run.budget import Reservation, Spent, find_cost, find_scoring_cost, read_cost
from cbcore.run.calling import Threads
from cbcore.run.examples import Examples, NumberedExample
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

    __slots__ = ("_started", "error", "latency_s", "output", "waits")

    def __init__(self, waits: Waits = NO_WAITS) -> None:
        self.output: Any = None
        self.error: BaseException | None = None
        self.latency_s = 0.0
        self.waits = waits

    def __enter__(self) -> Call:  # noqa: PYI034 - nothing is derived from it
        self._started = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
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
    cost_of_failure: Mapping[str, Any] | None = None
    repeats: Sequence[Attempt] = ()
    is_cached = False
    is_done = False
    reservation: Reservation | None = None
    deadline: float | None = None  # of the call that is under way
    waits: Waits | None = None  # of that call, if waiting does not count
    step: str | None = None  # where it is: "thread", "loop", or None for the driver
    is_given_up = False
    is_replaced = False  # another thread has taken the place of the one in the call
    escaped: BaseException | None = None
    task: asyncio.Task[None] | None = None
    has_slot = False
    future: Any = None  # in a worker
    _sent: dict[str, Any] | None = None

    def __init__(self, pair: Pair, example: NumberedExample, repeat: int = 0) -> None:
        self.pair, self.example, self.repeat = pair, example, repeat
        self.error = example.problem
        self.scores: dict[Scorer, Any] = {}
        self.spent: dict[Built, Spent] = {}

    @property
    def sent(self) -> dict[str, Any]:
        """The fields that a stage behind the system would get, with the context that was sent."""
        if self._sent is None:
            self._sent = pass_on(self.example.data, self.output or {})
        return self._sent

    @property
    def needs_call(self) -> bool:
        return self.output is None and self.error is None


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
        *,
        place: int = 0,
        is_alone: bool = True,
        workers: Workers | None = None,
    ) -> None:
        """`place` is that of the benchmark in the run. A pair `is_alone` if no other system runs at
        the same time."""
        self.run, self.system, self.examples, self.scorers = run, system, examples, scorers
        self.calls, self.budget, self.workers = run.calls, run.budget, workers
        self.cache = run.open_cache(system)
        self.repeats = run.count_repeats(examples.benchmark)
        self._first_position = place * POSITIONS
        self._row_maker = RowMaker(run, system.name, scorers, examples.benchmark)
        self.is_awaited = hasattr(system.value, "aprocess")
        # Such a system puts its calls in an order of its own, so that most of them wait.
        self._queues = getattr(system.value, "concurrency", None)
        default = workers.n_workers if workers else 16 if self.is_awaited else 1
        self.concurrency: int = self._queues or run.settings.concurrency or default
        self.judges = [s for s in scorers if s.is_awaited and not s.is_of_repeats]
        self.blocking = [s for s in scorers if not (s.is_awaited or s.is_of_repeats)]
        self.of_repeats = [s for s in scorers if s.is_of_repeats]
        is_interleaved = run.settings.interleave
        self.is_inline = (
            (is_alone or is_interleaved)
            and self.concurrency == 1
            and not (self.is_awaited or workers or run.settings.timeout_s)
            and not any(scorer.is_awaited for scorer in scorers)
        )
        is_strict = run.settings.fail_fast or run.settings.max_errors is not None
        window = _INLINE_WINDOW if self.is_inline and not is_strict else _WINDOW * self.concurrency
        if is_interleaved or (self.is_inline and is_strict):
            window = 1
        self.window = max(self.repeats, window)
        n_threads = min(self.concurrency, _MOST_SCORING) if self.is_awaited else self.concurrency
        self.threads = Threads(self.calls, n_threads)
        self._slots: asyncio.Semaphore | None = None
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
    def is_finished(self) -> bool:
        return self.is_read and not self.open

    @property
    def n_steps(self) -> int:
        """Grows with everything that the pair gets done."""
        return self.n_started + self.n_rows + self.is_read

    # -- driver thread -------------------------------------------------------------------------

    def _read(self) -> Iterator[Attempt]:
        """The attempts at all examples, with what is cached of them.

        It looks ahead, in strides that grow while examples come at once, since one look-up of many
        is much faster than many of one.
        """
        examples = iter(self.examples)
        stride = 1
        failure: CBError | None = None
        while failure is None:
            started = time.perf_counter()
            attempts: list[Attempt] = []
            try:
                for example in islice(examples, stride):
                    attempts += [Attempt(self, example, n) for n in range(self.repeats)]
            except CBError as error:  # the examples before it are still run
                failure = error
            if self.cache:
                self.cache.look_up(attempts, self.scorers)
                is_quick = time.perf_counter() - started < _QUICK_S * stride
                stride = min(2 * stride, _LONGEST_STRIDE) if is_quick else 1
            yield from attempts
            if not attempts and failure is None:
                return
        raise failure

    def fill(self) -> None:
        """Start attempts while the window and the budget have room."""
        until = time.perf_counter() + _INLINE_S
        while len(self.open) < self.window and not self.is_read:
            attempt, self.held = self.held or self._read_next(), None
            if attempt is None:
                return
            if self.budget.is_limited and (components := self._components_to_pay(attempt)):
                attempt.reservation = self.budget.reserve(attempt.example.data, components)
                if attempt.reservation is None:
                    self.held = attempt
                    return
            if not self.n_started:
                self.started = time.perf_counter()
            self.n_started += 1
            if attempt.needs_call and self.workers is None:
                self.calls.warm_up(self.system)
            self.open.append(attempt)
            if not self.is_inline:
                self.calls.start(attempt)
                continue
            self.run_blocking(attempt)
            self.finish(attempt)
            if time.perf_counter() > until:
                return

    def _read_next(self) -> Attempt | None:
        """None at the end of the data, or where it fails."""
        try:
            attempt = next(self.attempts, None)
        except StoreError:
            raise
        except CBError as error:
            self.data_error, self.is_read = error, True
            return None
        self.is_read = attempt is None
        return attempt

    def _components_to_pay(self, attempt: Attempt) -> list[Built]:
        called = [self.system] if attempt.needs_call else []
        due = [] if attempt.error is not None else self.judges
        return called + [scorer.built for scorer in due if scorer not in attempt.scores]

    def take_rows(self) -> Iterator[tuple[EvalRow, Attempt]]:
        """The rows of finished attempts at the head of `open`, which keeps the order.

        An attempt leaves `open` when its row has been taken.
        """
        while group := self._finished_group():
            if self.of_repeats and not self._score_together(group):
                return
            for attempt in group:
                yield self._make_row_of(attempt), attempt
                self.open.popleft()
                self.n_rows += 1

    def _finished_group(self) -> list[Attempt]:
        """The next attempt, or all repeats of the next example, if they are finished."""
        size = self.repeats if self.of_repeats else 1
        if size == 1:
            return [self.open[0]] if self.open and self.open[0].is_done else []
        group = list(islice(self.open, size))
        is_whole = len(group) == size or self.is_read
        return group if is_whole and all(attempt.is_done for attempt in group) else []

    def _score_together(self, group: Sequence[Attempt]) -> bool:
        """Start the last repeat once more, to score all of them. True if that is over."""
        answered = [attempt for attempt in group if attempt.output is not None]
        if not answered or answered[-1].repeats:
            return True
        last = answered[-1]
        if last in self.calls.open:
            return False  # else `wait` would take its first return for its second
        last.repeats = answered
        if self.cache:
            self.cache.look_up_repeats(last, self.of_repeats)
        paid = [s.built for s in self._repeats_to_score(last) if s.is_awaited]
        if self.budget.is_limited and paid:
            last.reservation = self.budget.reserve(last.example.data, paid)
            if last.reservation is None:
                last.repeats = ()
                return False
        if not self._repeats_to_score(last):
            return True
        self.n_started += 1
        last.is_done = False
        if not self.is_inline:
            self.calls.start(last)
            return False
        self.run_blocking(last)
        self.finish(last)
        return True

    def _make_row_of(self, attempt: Attempt) -> EvalRow:
        number = attempt.example.index * self.repeats + attempt.repeat
        return self._row_maker.make(attempt, self._first_position + number)

    def take_finished_rows(self) -> Iterator[tuple[EvalRow, Attempt]]:
        """After an early end: the rows of attempts that are finished. The outputs of others are
        in the store already."""
        for attempt in self.open:
            if attempt.is_done:
                yield self._make_row_of(attempt), attempt
        self.open.clear()

    def stop(self, reason: str) -> None:
        """Read no more examples. Calls under way still make their rows. The first reason counts."""
        self.stopped = self.stopped or reason
        self.is_read = True
        self.held = None

    def put_stand_in(self, attempt: Attempt, reason: str) -> None:
        """Let a finished copy take the place of an attempt that is given up.

        Its caller still owns the attempt: if the call returns, the output is stored, but makes no
        row.
        """
        stand_in = copy.copy(attempt)
        stand_in.is_done, stand_in.is_given_up = True, False
        stand_in.deadline = stand_in.step = stand_in.task = None
        if attempt.output is None:
            stand_in.error = reason
        else:
            due = self.of_repeats if attempt.repeats else [*self.blocking, *self.judges]
            late = {s: ScoringError(reason) for s in due if s not in attempt.scores}
            stand_in.scores = {**attempt.scores, **late}
        self.open[self.open.index(attempt)] = stand_in
        if attempt.reservation:
            attempt.reservation.settle(attempt.spent)

    # -- in a thread, on the event loop, or in the driver if it is inline ------------------------

    def next_step(self, attempt: Attempt) -> str | None:
        """Where an attempt goes next; None if it is finished."""
        if attempt.error is not None:
            return None
        if attempt.output is None and self.is_awaited and not self.workers:
            return "loop"
        if attempt.output is None or self._missing(attempt, self.blocking):
            return "thread"
        due = self._repeats_to_score(attempt)
        if any(not scorer.is_awaited for scorer in due):
            return "thread"
        return "loop" if due or self._missing(attempt, self.judges) else None

    def run_blocking(self, attempt: Attempt) -> None:
        if attempt.needs_call and (example := self._copy_example(attempt)) is not None:
            call = Call(start_waits())
            self.begin(attempt, self.system)
            if self.workers:
                call = self.workers.process(attempt, example)
            else:
                with call:
                    call.output = self.system.value.process(example)
            self._keep(attempt, call)
        for scorer in self.blocking:
            if self._is_due(attempt, scorer):
                self.begin(attempt, scorer.built)
                self._keep_scores(attempt, scorer, self._score(attempt, scorer))
        for scorer in self._repeats_to_score(attempt):
            if not scorer.is_awaited:
                self.begin(attempt, scorer.built)
                with Call() as call:
                    call.output = scorer.value.score_repeats(*self._copies_of_repeats(attempt))
                self._keep_scores(attempt, scorer, call)
        attempt.deadline = None

    def _score(self, attempt: Attempt, scorer: Scorer) -> Call:
        with Call() as call:
            copies = self._copies(attempt)
            if not self.workers:
                call.output = scorer.value.score(*copies)
        if self.workers and call.error is None:
            return self.workers.score(attempt, scorer, *copies)
        return call

    async def run_awaited(self, attempt: Attempt) -> None:
        if attempt.needs_call:
            await self._take_slot(attempt)
            try:
                await self._call_awaited(attempt)
            finally:
                self._free_slot(attempt)
        if attempt.error is not None or self._missing(attempt, self.blocking):
            return  # a thread scores it, then judges follow
        for scorer in self._missing(attempt, self.judges):
            self.begin(attempt, scorer.built)
            with Call() as call:
                call.output = await scorer.value.ascore(*self._copies(attempt))
            self._keep_scores(attempt, scorer, call)
        for scorer in self._repeats_to_score(attempt):
            if scorer.is_awaited:
                self.begin(attempt, scorer.built)
                with Call() as call:
                    both = self._copies_of_repeats(attempt)
                    call.output = await scorer.value.ascore_repeats(*both)
                self._keep_scores(attempt, scorer, call)
        attempt.deadline = None

    async def _call_awaited(self, attempt: Attempt) -> None:
        if (example := self._copy_example(attempt)) is None:
            return
        call = Call(start_waits())
        self.begin(attempt, self.system)
        with call:
            if self._queues:
                attempt.waits = call.waits
            call.output = await self.system.value.aprocess(example)
        self._keep(attempt, call)

    def begin(self, attempt: Attempt, component: Built) -> None:
        """A call begins now: it may cost something, and its time limit starts."""
        if attempt.reservation:
            attempt.reservation.begun.add(component)
        self.start_limit(attempt)

    def start_limit(self, attempt: Attempt) -> None:
        """The time limit of a call starts now."""
        if self.calls.timeout_s is not None:
            attempt.waits = None
            attempt.deadline = time.monotonic() + self.calls.timeout_s

    def _copy_example(self, attempt: Attempt) -> dict[str, Any] | None:
        """The example as the system gets it, copied before the clock starts; None if it fails."""
        with contained() as copying:
            return attempt.example.copy()
        attempt.error = f"the example cannot be copied: {copying.reason}"
        return None

    def _copies(self, attempt: Attempt) -> tuple[dict[str, Any], dict[str, Any]]:
        """The example and the output as an evaluator gets them, to do with as it likes."""
        example = attempt.example
        return example.copy(), complete_output(example.data, attempt.output or {}, attempt.sent)

    def _copies_of_repeats(self, attempt: Attempt) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        outputs = [(one.output or {}).copy() for one in attempt.repeats]
        return attempt.example.copy(), outputs

    def _keep(self, attempt: Attempt, call: Call) -> None:
        """The call is over: store its output before anything else can fail."""
        attempt.deadline = attempt.waits = None
        attempt.latency_s = call.latency_s
        if call.error is not None:
            self._keep_failure(attempt, call.error)
            return
        with contained() as reading:  # it may be a class of its own, whose methods do anything
            attempt.output, attempt.error = self._read_output(attempt, call)
        if reading.error is not None:
            attempt.error = f"the output cannot be read: {reading.reason}"
        if attempt.output is None:
            return
        if self.cache:
            self.cache.put_output(attempt)  # queues; never waits or fails
        if attempt.reservation:
            with contained():
                spent = find_cost(self.run.counter, attempt.example.data, attempt.output)
                attempt.spent[self.system] = spent

    def _read_output(
        self, attempt: Attempt, call: Call
    ) -> tuple[dict[str, Any] | None, str | None]:
        """The output of a call, or why it is none."""
        example, output = attempt.example.data, call.output
        if type(output) is not dict and not isinstance(output, dict):
            return None, f"the system returned {type(output).__name__}, not a dict"
        output = output if type(output) is dict else dict(output)
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

    def _keep_failure(self, attempt: Attempt, error: BaseException) -> None:
        attempt.raised, attempt.error = error, type(error).__name__
        with contained():  # an exception may have methods that fail
            attempt.error = explain_failure(error, attempt.example, self.system.name)
            cost = getattr(error, "cost", None)
            if isinstance(error, ProcessError) and isinstance(cost, Mapping) and cost:
                attempt.cost_of_failure = cost
                attempt.spent[self.system] = read_cost(cost, is_answered=False)

    def _keep_scores(self, attempt: Attempt, scorer: Scorer, call: Call) -> None:
        attempt.deadline = None
        scores = attempt.scores[scorer] = call.output if call.error is None else call.error
        if scorer.is_awaited:
            with contained():  # costs are values of evaluators
                if call.error is None or isinstance(scores, ScoringError):
                    attempt.spent[scorer.built] = find_scoring_cost(scores)
        if self.cache:
            self.cache.put_scores(attempt, scorer, scores)

    def _is_due(self, attempt: Attempt, scorer: Scorer) -> bool:
        """Whether an evaluator has still to score this attempt."""
        if attempt.output is None or attempt.error is not None or attempt.is_given_up:
            return False
        is_scored = scorer in attempt.scores
        return not is_scored and scorer.can_score(attempt.example.data, attempt.output)

    def _missing(self, attempt: Attempt, scorers: Sequence[Scorer]) -> list[Scorer]:
        return [scorer for scorer in scorers if self._is_due(attempt, scorer)]

    def _repeats_to_score(self, attempt: Attempt) -> list[Scorer]:
        return self._missing(attempt, self.of_repeats) if attempt.repeats else []

    def finish(self, attempt: Attempt) -> None:
        if attempt.reservation:
            attempt.reservation.settle(attempt.spent)
        attempt.is_done = True

    def reserve_again(self, attempt: Attempt) -> bool:
        """After a worker was lost: its call counts with its bound, and the next needs room."""
        if attempt.reservation is None:
            return True
        with self.budget.lock:  # so that the driver does not take its place
            attempt.reservation.settle({})
            components = self._components_to_pay(attempt)
            attempt.reservation = self.budget.reserve(attempt.example.data, components)
        if attempt.reservation is None:
            return False
        attempt.reservation.begun.add(self.system)
        return True

    # -- on the event loop ---------------------------------------------------------------------

    async def _take_slot(self, attempt: Attempt) -> None:
        import asyncio

        if self._slots is None:
            self._slots = asyncio.Semaphore(self.concurrency)
        await self._slots.acquire()
        attempt.has_slot = True

    def leave_task(self, attempt: Attempt) -> None:
        """Cancel a task that is given up. It may refuse: its slot is free either way."""
        if attempt.task is not None:
            attempt.task.cancel()
        self._free_slot(attempt)

    def _free_slot(self, attempt: Attempt) -> None:
        if attempt.has_slot and self._slots is not None:
            attempt.has_slot = False
            self._slots.release()


def explain_failure(error: BaseException, example: NumberedExample, system: str) -> str:
    """Why a call failed, as its row says it."""
    if isinstance(error, CBError):
        return f"{type(error).__name__}: {error.message}"
    missing = error.args[0] if isinstance(error, KeyError) and error.args else None
    if missing in TEXT_FIELDS and missing not in example.data:
        return f"KeyError: example {example.id!r} has no {missing!r}, which system {system!r} asked for"
    return describe_exception(error)
