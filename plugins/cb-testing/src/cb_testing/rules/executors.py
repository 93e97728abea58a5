"""Executors and tokenizers: tasks that are answered or lost once, and counts that can be trusted.

Executors are tried with workers that do as they are told; see `cb_testing.worker_trials`.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

from cb_testing import samples
from cb_testing.cases import Case
from cb_testing.rule_registry import Unchecked, rule
from cb_testing.worker_trials import (
    ANSWER,
    DIE,
    HANG,
    HERE,
    pack_trial_task,
    pack_trial_worker,
)
from cbcore.protocols import WorkerLost
from cbcore.run.workers import read_reply

WORKERS = 2
_LONGEST_S = 120.0
"""What workers may take to start, to answer, or to be missed."""
_MOMENT_S = 0.5
_SAME_PROCESS = "its workers are the process of the run"


class _Trial:
    """A pool under test, used as a run uses one."""

    def __init__(self, case: Case) -> None:
        self.pool = case.value.open(pack_trial_worker(), workers=WORKERS)
        self.n_begun = 0
        self._lock = threading.Lock()

    def submit(self, do: str, text: str = "") -> Future[bytes]:
        future: Future[bytes] = self.pool.submit(pack_trial_task(do, text), self._begin)
        return future

    def _begin(self) -> None:
        with self._lock:
            self.n_begun += 1

    def answer(self, do: str = ANSWER, text: str = "") -> dict[str, Any]:
        return read_output(self.submit(do, text))

    def hang(self, n_more: int = 0) -> list[Future[bytes]]:
        """A task that never ends for each worker, and some more. Empty if they end at once, in the
        process of the test."""
        tasks = [self.submit(HANG) for _ in range(self.pool.n_workers + n_more)]
        until = time.monotonic() + _LONGEST_S
        while self.n_begun < self.pool.n_workers:
            if time.monotonic() > until:
                raise TimeoutError(f"{self.n_begun} tasks began in {_LONGEST_S:g} s")
            time.sleep(_MOMENT_S / 10)
        time.sleep(_MOMENT_S)
        is_here = any(task.done() and read_output(task)["response"] == HERE for task in tasks)
        return [] if is_here else tasks

    def end(self, tasks: list[Future[bytes]]) -> None:
        """End tasks that hang, those that begin only then, too."""
        until = time.monotonic() + _LONGEST_S
        while any(not task.done() for task in tasks) and time.monotonic() < until:
            for task in tasks:
                self.pool.end(task)
            time.sleep(_MOMENT_S / 10)


def read_output(reply: Future[bytes]) -> dict[str, Any]:
    call = read_reply(reply.result(_LONGEST_S))
    if call.error is not None:
        raise call.error
    output: dict[str, Any] = call.output
    return output


@contextlib.contextmanager
def _trial(case: Case) -> Iterator[_Trial]:
    trial = _Trial(case)
    try:
        yield trial
    finally:
        trial.pool.close()


@rule("executor-replies", "executor")
def replies(case: Case) -> Iterator[str]:
    """Every task is answered once, by the bytes that its worker returned."""
    with _trial(case) as trial:
        texts = [f"{number} " + "x" * number * 5000 for number in range(12)]
        tasks = [trial.submit(ANSWER, text) for text in texts]
        found = [read_output(task)["response"] for task in tasks]
    if found != texts:
        yield "hand on what the worker returned, byte for byte"


@rule("executor-size", "executor")
def size(case: Case) -> Iterator[str]:
    """No more workers than asked for, each with one task, which begins when the worker takes it."""
    with _trial(case) as trial:
        n = trial.pool.n_workers
        if not 1 <= n <= WORKERS:
            yield f"start no more than workers={WORKERS}: n_workers is {n}"
            return
        tasks = trial.hang(n_more=1)
        if not tasks:
            yield Unchecked(_SAME_PROCESS)
        elif trial.n_begun > n:
            yield f"begin a task when a worker takes it: {trial.n_begun} began on {n} workers"
        trial.end(tasks)


@rule("executor-lost", "executor")
def lost(case: Case) -> Iterator[str]:
    """A worker that dies raises `WorkerLost` with the cause in words, and is replaced."""
    with _trial(case) as trial:
        try:
            if trial.answer(DIE)["response"] == HERE:
                yield "let calls run in another process than that of the run"
                return
        except WorkerLost as error:
            if not str(error).strip():
                yield "say in `WorkerLost` how the worker ended"
        for _ in range(2 * WORKERS):
            try:
                trial.answer()
            except WorkerLost:
                yield "replace a worker that died: a task after it was lost, too"
                return


@rule("executor-ends", "executor")
def ends(case: Case) -> Iterator[str]:
    """`end` ends the worker of a task, whose future raises `WorkerLost`, and replaces it."""
    with _trial(case) as trial:
        tasks = trial.hang()
        if not tasks:
            yield Unchecked(_SAME_PROCESS)
            return
        trial.pool.end(tasks[0])
        if not isinstance(tasks[0].exception(_LONGEST_S), WorkerLost):
            yield "raise WorkerLost for a task that was ended"
        time.sleep(_MOMENT_S)
        if any(task.done() for task in tasks[1:]):
            yield "end no other worker than that of the task"
        trial.end(tasks)
        trial.answer()


@rule("executor-closes", "executor")
def closes(case: Case) -> Iterator[str]:
    """`close` ends workers that are at work, too, and does not wait for them."""
    trial = _Trial(case)
    if not trial.hang():
        yield Unchecked(_SAME_PROCESS)
    started = time.monotonic()
    trial.pool.close()
    if time.monotonic() - started > _LONGEST_S / 4:
        yield f"end workers at once: close() took {time.monotonic() - started:.0f} s"


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
