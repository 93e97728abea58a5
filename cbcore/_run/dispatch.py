"""The run's side of an executor: examples out in batches, outcomes back, each exactly once.

Calls are made at least once. A batch whose worker is lost is halved and sent again, until an
example that costs every worker stands alone; its row then says so. How many calls may have been
made twice is counted.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

import attrs

from cbcore._run import wire
from cbcore._run.calls import settled
from cbcore._run.crews import Crews
from cbcore._run.executors import Gate
from cbcore._run.pacing import MOST_BYTES, Pace, Patience
from cbcore._run.parts import Part
from cbcore._run.scorers import Outcome, Scorer, score
from cbcore._run.work import Work
from cbcore.boundary import contained
from cbcore.exceptions import RunError
from cbcore.protocols import Crew
from cbcore.workers import Batch, Refusal, Reply

_WINDOW_PER_WORKER = 3
"""Batches per worker whose examples are held: at work, waiting for it, or for their turn."""
_LEAST_WINDOW = 16
_LOOK_EVERY_S = 1.0
_MOST_LOSSES = 3
"""So many workers may an example cost that is alone in its batch; one that was late counts twice."""
_MOST_NAMED = 3
"""So many examples are named in a line."""
_HOPELESS = 50
"""So many workers lost one after another, without any reply, and the run ends."""


@attrs.define(eq=False)
class _Posted:
    """An example that a worker has to see, with its place in the order of rows."""

    place: int
    work: Work
    task: bytes
    n_lost: int = 0
    losses: int = 0


@attrs.frozen
class _Sent:
    """Examples that a worker has, and when it has to have answered."""

    examples: Sequence[_Posted]
    at: float
    until: float


@attrs.define
class Dispatch:
    """One system on one dataset, by the workers of an executor; iterated over once.

    `keep` is told of every answer as soon as it is there, but for those that are due at once and
    took no time. `lost` is told of every example that
    has to be sent again, and says whether it may be. `in_flight` calls may be under way at once,
    where workers can do with several. When the iteration ends early, outcomes that
    are there and were not due are put into `unclaimed`.
    """

    crews: Crews
    part: Part
    scorers: Sequence[Scorer]
    pace: Pace
    patience: Patience
    in_flight: int = 1
    keep: Callable[[Outcome], object] = attrs.field(default=lambda outcome: None)
    lost: Callable[[Work], bool] = attrs.field(default=lambda work: True)
    gate: Gate | None = None
    unclaimed: list[Outcome] = attrs.Factory(list)
    clock: Callable[[], float] = time.monotonic
    _source: Iterator[Work] = attrs.field(factory=lambda: iter(()), init=False)
    _failure: Exception | None = attrs.field(default=None, init=False)
    _exhausted: bool = attrs.field(default=False, init=False)
    _fresh: deque[_Posted] = attrs.field(factory=deque, init=False)
    _again: deque[list[_Posted]] = attrs.field(factory=deque, init=False)
    _under_way: dict[int, _Sent] = attrs.field(factory=dict, init=False)
    _ready: dict[int, Outcome] = attrs.field(factory=dict, init=False)
    _taken: int = attrs.field(default=0, init=False)
    _wanted: int = attrs.field(default=0, init=False)
    _idle_since: float | None = attrs.field(default=None, init=False)

    def outcomes(self, works: Iterable[Work]) -> Iterator[Outcome]:
        """What came of all work, in its order. A failure of the work is raised behind the rest."""
        self._source = iter(works)
        try:
            while True:
                self._pull()
                self._send()
                while self._wanted in self._ready:
                    outcome = self._ready.pop(self._wanted)
                    self._wanted += 1
                    yield outcome
                if self._wanted < self._taken:
                    self._receive(self._longest_wait())
                elif self._exhausted:
                    break
            if self._failure is not None:
                raise self._failure
        finally:
            self._leave()

    # -- taking work ---------------------------------------------------------------------------

    def _pull(self) -> None:
        while not self._exhausted and self._taken - self._wanted < self._window:
            try:
                if self.gate is not None and self._taken > self._wanted and self.gate.holds():
                    return
                work = next(self._source, None)
            except Exception as error:  # noqa: BLE001 - calls under way are paid for
                self._failure, work = error, None
            if work is None:
                self._exhausted = True
                return
            place = self._taken
            self._taken += 1
            self._take(place, work)

    @property
    def _window(self) -> int:
        return max(_LEAST_WINDOW, _WINDOW_PER_WORKER * self.crews.size(self.part) * self.pace.size)

    def _take(self, place: int, work: Work) -> None:
        """Find out what is missing of an example; where nothing is, no worker sees it."""
        if work.problem is not None:
            self._ready[place] = settled(work)
            return
        asked = self.scorers
        if work.recalled is not None:
            known = work.recalled.scores
            asked = [scorer for scorer in asked if scorer.key not in known]
            if asked:
                output = work.recalled.output()
                asked = [scorer for scorer in asked if scorer.can_score(work.example, output)]
            if not asked:
                self._ready[place] = score(settled(work), self.scorers)
                return
        with contained() as tried:
            task = wire.written_task(work, [scorer.key for scorer in asked])
            self._fresh.append(_Posted(place, work, task))
        if tried.error is not None:
            told = f"the example cannot be sent to a worker: {tried.reason}"
            self._ready[place] = Outcome(work, None, 0.0, told)

    # -- sending -------------------------------------------------------------------------------

    def _send(self) -> None:
        if not self._fresh and not self._again:
            return
        crew = self._crew()
        while (free := crew.free()) > 0 and (examples := self._next_batch(free)):
            now, number = self.clock(), self.crews.next_number()
            until = now + self.patience.for_batch(len(examples))
            payload = wire.written_batch([one.task for one in examples])
            self._under_way[number] = _Sent(examples, now, until)
            crew.send(Batch(number, payload, len(examples)))

    def _crew(self) -> Crew:
        crew = self.crews.crew(self.part)
        # What is awaited has its calls divided among the workers, and a batch keeps one busy.
        self.pace.width = self.patience.width = max(1, self.in_flight // max(1, crew.size))
        return crew

    def _next_batch(self, free: int) -> list[_Posted]:
        if self._again:
            return self._again.popleft()
        # What there is, divided among those who could begin now: at the end of a dataset, or
        # where a budget holds it back, one would get all of it, and others nothing.
        share = -(-len(self._fresh) // free)
        examples: list[_Posted] = []
        size = 0
        while self._fresh and len(examples) < max(1, min(self.pace.size, share)):
            size += len(self._fresh[0].task)
            if examples and size > MOST_BYTES:
                break
            examples.append(self._fresh.popleft())
        return examples

    # -- receiving -----------------------------------------------------------------------------

    def _longest_wait(self) -> float:
        now = self.clock()
        ends = [max(0.0, sent.until - now) for sent in self._under_way.values()]
        return min([_LOOK_EVERY_S, *ends])

    def _receive(self, timeout_s: float) -> None:
        crew = self._crew()
        for reply in crew.wait(timeout_s):
            sent = self._under_way.pop(reply.batch_id, None)
            if sent is not None:
                self._take_in(reply, sent)
        now = self.clock()
        for number, sent in list(self._under_way.items()):
            if now >= sent.until:
                del self._under_way[number]
                crew.abandon(number)
                self._time_out(sent)
        self._check_waiting(crew, now)
        self._tell_of_silence(now)

    def _check_waiting(self, crew: Crew, now: float) -> None:
        """Raise `RunError` when no worker gets ready, however long one waits."""
        if self._under_way or crew.free():
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = now
        elif now - self._idle_since > self.crews.start_timeout_s:
            raise RunError(
                f"no worker was ready after {self.crews.start_timeout_s:g} s",
                hint="what it takes to make and warm up the system counts; see start_timeout_s",
            )

    def _tell_of_silence(self, now: float) -> None:
        """Name the examples whose workers have not answered for unusually long."""
        silent = [s for s in self._under_way.values() if self.patience.is_unusual(now - s.at)]
        if not silent:
            return
        ids = [repr(one.work.example_id) for sent in silent for one in sent.examples]
        named = ", ".join(ids[:_MOST_NAMED])
        if len(ids) > _MOST_NAMED:
            named += f" and {len(ids) - _MOST_NAMED} more"
        waited_s = max(now - sent.at for sent in silent)
        or_as = "or as" if self.patience.timeout_s is None else "as"
        self.crews.ledger.warn(
            f"no answer for {waited_s:.0f} s from the worker that has example {named}: it is ended "
            f"when a call has taken {self.patience.limit_s:g} s, {or_as} --timeout says"
        )
        self.patience.told()

    def _take_in(self, reply: Reply, sent: _Sent) -> None:
        if reply.payload is None:
            self._lose(sent, reply.lost or "its worker was lost")
            return
        if (refused := Refusal.read(reply.payload)) is not None:
            raise RunError(refused.message, hint=refused.hint)
        with contained() as tried:
            answer = wire.Answer.read(reply.payload)
            results = list(answer.results)
        n_done = 0 if tried.error is not None else len(results)
        if not 0 < n_done <= len(sent.examples):
            self._lose(sent, f"its worker's reply cannot be read: {tried.reason or 'it is empty'}")
            return
        ledger = self.crews.ledger
        ledger.answered()
        self.pace.learn(n_done, answer.took_s)
        self.patience.learn(answer.scoring_s, self.clock() - sent.at)
        ids = [one.work.example_id for one in sent.examples]
        ledger.take(answer, ids)
        done = [
            (one.place, wire.read_result(result, one.work, self.scorers))
            for one, result in zip(sent.examples, results, strict=False)
        ]
        self._ready.update(done)
        for _, outcome in done:
            self.keep(outcome)
        self._fresh.extendleft(reversed(sent.examples[n_done:]))

    def _finish(self, one: _Posted, outcome: Outcome) -> None:
        self._ready[one.place] = outcome

    # -- losing --------------------------------------------------------------------------------

    def _lose(self, sent: _Sent, cause: str) -> None:
        ledger = self.crews.ledger
        ledger.lose(cause)
        if ledger.lost_in_a_row >= _HOPELESS:
            # What is out is lost with the run; what came back before is kept.
            raise RunError(
                f"{ledger.lost_in_a_row} workers were lost one after another, the last: {cause}",
                hint="try the system on one example without --executor",
            )
        examples, limit_s = sent.examples, self.patience.limit_s
        took_s = self.clock() - sent.at
        is_late = took_s >= limit_s
        if is_late:
            cause = f"{cause}, after {took_s:.3g} s with a limit of {limit_s:g} s"
        if len(examples) > 1:
            # To halve a batch takes its time at every step, which is too much of what hangs.
            size = 1 if is_late else len(examples) // 2
            for first in range(0, len(examples), size):
                self._send_again(examples[first : first + size], cause)
            return
        one = examples[0]
        one.losses += 2 if is_late else 1
        one.n_lost += 1
        if one.losses < _MOST_LOSSES:
            self._send_again(examples, cause)
        else:
            told = f"{one.n_lost} workers were lost on this example, the last: {cause}"
            self._finish(one, Outcome(one.work, None, 0.0, told))

    def _time_out(self, sent: _Sent) -> None:
        limit_s = self.patience.limit_s
        cause = f"timed out after {limit_s:g} s"
        if self.patience.timeout_s is None:
            cause += ", which is what a call may take without --timeout"
        self.crews.ledger.lose("it did not answer in time", counts=False)
        if len(sent.examples) > 1:
            cause = "it did not answer in time"
            for one in sent.examples:  # at once: to halve them would take the limit every time
                self._send_again([one], cause)
            return
        told = f"{cause}: its worker did not answer, and was ended"
        self._finish(sent.examples[0], Outcome(sent.examples[0].work, None, limit_s, told))

    def _send_again(self, examples: Sequence[_Posted], cause: str) -> None:
        allowed = []
        for one in examples:
            if self.lost(one.work):
                allowed.append(one)
            else:
                told = f"its worker was lost ({cause}), and the budget does not allow another call"
                self._finish(one, Outcome(one.work, None, 0.0, told))
        self.crews.ledger.repeated_calls += len(allowed)
        if allowed:
            self._again.append(allowed)

    # -- leaving -------------------------------------------------------------------------------

    def _leave(self) -> None:
        """At the end, however it comes: what is there is handed over, what is out is left."""
        if self._under_way:
            with contained():  # whoever ends a run early has a reason, which goes before this one
                self._receive(0.0)
            self.crews.close()  # workers that are at work nobody waits for
        self.unclaimed += [self._ready[place] for place in sorted(self._ready)]
        self._ready = {}
