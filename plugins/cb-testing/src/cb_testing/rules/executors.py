"""Executors and tokenizers: batches that are answered or lost once, and counts that can be trusted.

Executors are tried with workers that do as they are told; see `cb_testing.benches`.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Iterator, Sequence

from cb_testing import samples
from cb_testing.benches import ANSWER, DIE, HANG, HERE, MARK, SPEND, trial_recipe
from cb_testing.cases import Case
from cb_testing.rule_registry import Unchecked, rule
from cbcore.workers import Batch, Reply

WORKERS = 2
_LONGEST_S = 120.0
"""What workers may take to start, to answer, or to be missed."""
_MOMENT_S = 0.5
_SAME_PROCESS = "its workers are the process of the run"


class _Trial:
    """A crew under test, used as a run uses one."""

    def __init__(self, case: Case) -> None:
        self.crew = case.value.open(trial_recipe(), workers=WORKERS)
        self.waited: list[Reply] = []
        self.overfull = 0
        self._numbers = itertools.count()

    def send(self, payload: bytes) -> int:
        """Send a batch as soon as a worker is free; its number."""
        until = time.monotonic() + _LONGEST_S
        while not (free := self.crew.free()):
            if time.monotonic() > until:
                raise TimeoutError(f"no worker got free in {_LONGEST_S:g} s")
            self.waited += self.crew.wait(_MOMENT_S)
        self.overfull = max(self.overfull, free)
        number = next(self._numbers)
        self.crew.send(Batch(number, payload))
        return number

    def replies(self, n: int) -> list[Reply]:
        """So many replies, with those that came while one was waiting for a worker."""
        until = time.monotonic() + _LONGEST_S
        while len(self.waited) < n:
            if time.monotonic() > until:
                raise TimeoutError(f"{len(self.waited)} of {n} replies came in {_LONGEST_S:g} s")
            self.waited += self.crew.wait(_MOMENT_S)
        found, self.waited = self.waited[:n], self.waited[n:]
        return found

    def answer(self, payload: bytes) -> Reply:
        self.send(payload)
        (reply,) = self.replies(1)
        return reply


@contextlib.contextmanager
def _trial(case: Case) -> Iterator[_Trial]:
    trial = _Trial(case)
    try:
        yield trial
    finally:
        trial.crew.close()


@rule("executor-replies", "executor")
def replies(case: Case) -> Iterator[str]:
    """Every batch is answered once, by the bytes that its worker returned."""
    with _trial(case) as trial:
        payloads = [b"%s %d" % (ANSWER, number) + bytes(number * 5000) for number in range(12)]
        numbers = {trial.send(payload): payload for payload in payloads}
        found = trial.replies(len(payloads))
        found += trial.crew.wait(0.0)
        if sorted(reply.batch_id for reply in found) != sorted(numbers):
            yield f"reply once to each batch: {len(found)} replies came to {len(numbers)}"
        for reply in found:
            if reply.payload is None:
                yield f"reply with what the worker returned: a batch was lost ({reply.lost})"
            elif not reply.payload.endswith(numbers.get(reply.batch_id, b"?")):
                yield "hand on what the worker returned, byte for byte"


@rule("executor-size", "executor")
def size(case: Case) -> Iterator[str]:
    """No more workers than asked for, and each is told of how many it is one."""
    with _trial(case) as trial:
        first = trial.answer(ANSWER)
        n = trial.crew.size
        if not 1 <= n <= WORKERS or trial.overfull > n:
            yield f"start no more than workers={WORKERS}: size is {n}, {trial.overfull} were free"
        told = _told(first)
        if told and told[1] != str(n):
            yield f"open the recipe with workers=size: it was {told[1]}, and size is {n}"


@rule("executor-lost", "executor")
def lost(case: Case) -> Iterator[str]:
    """A worker that dies is told as lost, with the cause in words, and is replaced."""
    with _trial(case) as trial:
        reply = trial.answer(DIE)
        if reply.payload == HERE:
            yield "let calls run in another process than that of the run"
            return
        if reply.payload is not None or not (reply.lost or "").strip():
            yield f"reply with lost=CAUSE to the batch of a worker that died, not {reply!r}"
        for _ in range(2 * WORKERS):
            if trial.answer(ANSWER).payload is None:
                yield "replace a worker that died: a batch after it was lost, too"
                return


@rule("executor-abandons", "executor")
def abandons(case: Case) -> Iterator[str]:
    """A batch that is abandoned is never replied to, and its worker is replaced."""
    with _trial(case) as trial:
        hanging = [trial.send(HANG) for _ in range(trial.crew.size)]
        early = trial.crew.wait(_MOMENT_S)
        if any(reply.payload == HERE for reply in early):
            yield Unchecked(_SAME_PROCESS)
            return
        for number in hanging:
            trial.crew.abandon(number)
        later = [trial.answer(ANSWER) for _ in range(2)]
        if {reply.batch_id for reply in later} & set(hanging):
            yield "reply no more to a batch that was abandoned"
        elif any(reply.payload is None for reply in later):
            yield "replace the worker of an abandoned batch: a batch after it was lost"


@rule("executor-spent", "executor")
def spent(case: Case) -> Iterator[str]:
    """A worker whose bench is spent hands on its reply, and gets no other batch."""
    with _trial(case) as trial:
        # One more than there are workers: where none is replaced, one of them comes again.
        told = [_told(trial.answer(SPEND)) for _ in range(trial.crew.size + 1)]
    if not all(told):
        yield "hand on the reply of a worker that is spent, and replace it"
    elif told[0][0] == str(os.getpid()):
        yield Unchecked(_SAME_PROCESS)
    elif len({process for process, *_ in told}) < len(told):
        yield "replace a worker when its bench is spent: it was sent another batch"


@rule("executor-reopens", "executor")
def reopens(case: Case) -> Iterator[str]:
    """Workers that `reopen` are free when they have another bench, and answer with that."""
    with _trial(case) as trial:
        if not hasattr(trial.crew, "reopen"):
            return
        for _ in range(WORKERS):
            trial.answer(ANSWER)
        trial.crew.reopen(trial_recipe(MARK))
        told = [trial.answer(ANSWER) for _ in range(2 * WORKERS)]
        if not all((reply.payload or b"").endswith(MARK) for reply in told):
            yield "answer with the bench of the other recipe, once `reopen` has been called"
        if trial.crew.wait(0.0):
            yield "reply once to each batch, `reopen` or not"


@rule("executor-closes", "executor")
def closes(case: Case) -> Iterator[str]:
    """`close` ends workers that are at work, too, and does not wait for them."""
    trial = _Trial(case)
    started = time.monotonic()
    try:
        trial.send(HANG)
        if any(reply.payload == HERE for reply in trial.crew.wait(_MOMENT_S)):
            yield Unchecked(_SAME_PROCESS)
        started = time.monotonic()
    finally:
        trial.crew.close()
    if time.monotonic() - started > _LONGEST_S / 4:
        yield f"end workers at once: close() took {time.monotonic() - started:.0f} s"


def _told(reply: Reply) -> Sequence[str]:
    """The process of a worker, the number of workers, and what it was sent."""
    return (reply.payload or b"").decode().split(" ")[:3] if reply.payload else ()


@rule("tokenizer-counts", "tokenizer")
def counts(case: Case) -> Iterator[str]:
    """Counts are whole numbers, none for an empty text, and the same every time."""
    for text in ("", "two words", samples.ODD, samples.HUGE):
        first, second = case.value.count(text), case.value.count(text)
        if not isinstance(first, int) or isinstance(first, bool) or first < 0:
            yield f"return a whole number of tokens, not {first!r}"
            return
        if first != second:
            yield f"count the same text alike each time: {first}, then {second}"
            return
        if not text and first:
            yield f"count no tokens in an empty text, not {first}"
