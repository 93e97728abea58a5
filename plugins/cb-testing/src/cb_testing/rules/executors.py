"""Executors and tokenizers: tasks that are answered or lost once, and counts that can be trusted.

Executors are tried with workers that do as they are told; see `cb_testing.trials`.
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
from cb_testing.trials import ANSWER, DIE, HANG, HERE, make_task, make_worker, read_output
from cbcore.boundary import contained
from cbcore.protocols import WorkerLost, WorkerPool

WORKERS = 2
_LONGEST_S = 120.0
"""How long workers may take to start, to answer, or to be missed."""
_SAME_PROCESS = "its workers are the process of the run"


class _Sent:
    """A task that was submitted, and how often a worker took it."""

    def __init__(self, pool: WorkerPool, order: str, text: str = "") -> None:
        self.text = text
        self.n_begun = 0
        self._begun = threading.Event()
        self.future: Future[bytes] = pool.submit(make_task(order, text), self._begin)

    def _begin(self) -> None:
        self.n_begun += 1
        self._begun.set()

    def wait_until_begun(self) -> None:
        if not self._begun.wait(_LONGEST_S):
            raise TimeoutError(f"no worker took a task in {_LONGEST_S:g} s")

    def output(self) -> dict[str, Any]:
        """What the worker returned. Raises `WorkerLost`."""
        return read_output(self.future.result(_LONGEST_S))


@contextlib.contextmanager
def _open_pool(case: Case) -> Iterator[WorkerPool]:
    pool = case.value.open(make_worker(), workers=WORKERS)
    try:
        yield pool
    finally:
        pool.close()


@rule("executor-replies", "executor")
def replies(case: Case) -> Iterator[str]:
    """Every task gets the reply of its worker, and `begin` is called once when a worker takes it."""
    with _open_pool(case) as pool:
        for one in [_Sent(pool, ANSWER, f"{number} " * 5000 * number) for number in range(12)]:
            with contained() as reading:
                is_same = one.output()["response"] == one.text
            if isinstance(reading.error, WorkerLost):
                yield "raise WorkerLost only if a worker dies"
            elif reading.error is not None or not is_same:
                yield "hand on the reply of the worker to this task, byte for byte"
            if one.n_begun != 1:
                yield f"call begin() once, when a worker takes the task, not {one.n_begun} times"


@rule("executor-size", "executor")
def size(case: Case) -> Iterator[str]:
    """There are no more workers than asked for."""
    with _open_pool(case) as pool:
        if not 1 <= pool.n_workers <= WORKERS:
            yield f"start no more than workers={WORKERS}: n_workers is {pool.n_workers}"


@rule("executor-lost", "executor")
def lost(case: Case) -> Iterator[str]:
    """A worker that dies is reported as `WorkerLost`, with the cause in words, and is replaced."""
    with _open_pool(case) as pool:
        try:
            output = _Sent(pool, DIE).output()
        except WorkerLost as error:
            if not str(error).strip():
                yield "say in the text of WorkerLost how the worker ended"
        else:
            if output["response"] == HERE:
                yield "let calls run in another process than that of the run"
                return
            yield "set WorkerLost as the exception of a task if its worker died"
        yield from _find_unreplaced(pool, "a worker that died")


@rule("executor-ends", "executor")
def ends(case: Case) -> Iterator[str]:
    """`end` ends the worker that holds a task, and another takes its place."""
    with _open_pool(case) as pool:
        hanging = [_Sent(pool, HANG) for _ in range(pool.n_workers)]
        for one in hanging:
            one.wait_until_begun()
            pool.end(one.future)
        for one in hanging:
            with contextlib.suppress(WorkerLost):
                if one.output()["response"] == HERE:
                    yield Unchecked(_SAME_PROCESS)
                    return
                yield "set WorkerLost as the exception of a task if its worker was ended"
        yield from _find_unreplaced(pool, "a worker that was ended")


def _find_unreplaced(pool: WorkerPool, which: str) -> Iterator[str]:
    """A problem if tasks after a loss are lost as well."""
    for one in [_Sent(pool, ANSWER) for _ in range(2 * WORKERS)]:
        try:
            one.output()
        except WorkerLost:
            yield f"replace {which}: a task after it was lost, too"
            return


@rule("executor-closes", "executor")
def closes(case: Case) -> Iterator[str]:
    """`close` ends workers that are at work, too, and does not wait for them."""
    pool = case.value.open(make_worker(), workers=WORKERS)
    hanging = _Sent(pool, HANG)
    try:
        hanging.wait_until_begun()
    finally:
        started = time.monotonic()
        pool.close()
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
