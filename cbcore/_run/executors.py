"""How calls are executed: one after another, in threads, or on an event loop.

All three take calls in the order of the dataset, keep a bounded number under way, and give
results back in that order, whatever finishes first. A call reports its own failures in what
it returns; a `BaseException` that escapes it ends the run. When a run ends early, results that
were ready but not yet due are put into `unclaimed`, so that what was paid for is not lost.

A `Gate` is asked before an item is taken while others are under way: when it holds, nothing is
taken until another result was given back.

Only what is awaited imports `asyncio`, which takes longer than a few rows do.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from cbcore.exceptions import RunError

if TYPE_CHECKING:
    import asyncio

    from cbcore._run.event_loop import AsyncPool, LoopThread

Item = TypeVar("Item")
Result = TypeVar("Result")

_WINDOW_PER_WORKER = 4
"""Examples held per worker, so that one slow call does not idle the others."""


MORE_ROOM = "lower --concurrency, or raise what a process may have (ulimit -n, -u, -v)"
"""What helps when the machine gives no more files or threads."""

LATER_S = 0.5
"""How much longer than a call may take a loop may not answer, before it counts as blocked."""


class Gate(Protocol):
    """Says whether the next item has to wait for one under way to finish."""

    def holds(self) -> bool: ...


def run_inline(call: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """One call after another, in the calling thread."""
    return map(call, items)


def run_in_threads(
    call: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    in_flight: int,
    unclaimed: list[Result] | None = None,
    gate: Gate | None = None,
    warn: Callable[[str], None] | None = None,
) -> Iterator[Result]:
    """Calls in `in_flight` threads; in fewer, and `warn` is told, where no more can be started.

    The threads are daemons: when the run is interrupted, a call that hangs cannot keep the
    process alive.
    """
    tasks: SimpleQueue[tuple[int, Item] | None] = SimpleQueue()
    finished = Finished()

    def work() -> None:
        while (task := tasks.get()) is not None:
            index, item = task
            try:
                finished.put(index, call(item))
            except BaseException as error:  # noqa: BLE001 - raised again in the calling thread
                finished.put(index, Escaped(error))

    crew = _Crew(work, in_flight, dismiss=lambda: tasks.put(None))

    def submit(index: int, item: Item) -> None:
        tasks.put((index, item))
        if crew.is_short:
            crew.grow()

    try:
        window = in_flight * _WINDOW_PER_WORKER
        yield from _in_order(items, submit, finished, window, unclaimed, gate)
        if crew.most < in_flight and warn is not None:
            # Not before: to tell something takes memory, too.
            warn(f"only {crew.most} of {in_flight} threads could be used; {MORE_ROOM}")
    finally:
        _drain(tasks)
        crew.leave()


class _Crew:
    """Daemon threads: `most`, or, where no more can be started, half of those there are.

    The other half leaves, so that the work itself finds room.
    """

    def __init__(self, work: Callable[[], None], most: int, *, dismiss: Callable[[], None]) -> None:
        self.most = most
        self.is_short = True
        self._work = work
        self._dismiss = dismiss
        self._started = 0

    def grow(self) -> None:
        """Start one more."""
        name = f"cb-worker-{self._started + 1}"
        try:
            threading.Thread(target=self._work, name=name, daemon=True).start()
            self._started += 1
        except RuntimeError as error:
            if not self._started:
                raise RunError(f"no thread could be started: {error}", hint=MORE_ROOM) from error
            self.most = max(1, self._started // 2)
            while self._started > self.most:
                self._dismiss()
                self._started -= 1
        self.is_short = self._started < self.most

    def leave(self) -> None:
        for _ in range(self._started):
            self._dismiss()


def run_async(
    call: Callable[[Item], Awaitable[Result]],
    items: Iterable[Item],
    *,
    in_flight: int,
    loop: LoopThread,
    unclaimed: list[Result] | None = None,
    gate: Gate | None = None,
    give_up: Callable[[Item], Result | None] | None = None,
    announced: bool = False,
) -> Iterator[Result]:
    """Awaitable calls, `in_flight` at a time, on an event loop in another thread.

    When a loop that has a time limit is blocked, `give_up` makes the results of the calls that
    were under way; those it makes none for are made again. If it is to be `announced`, None
    comes before the first result, as soon as the first calls are under way.
    """
    from cbcore._run.event_loop import AsyncPool

    pool = AsyncPool(call, in_flight, loop, give_up)
    try:
        window = in_flight * _WINDOW_PER_WORKER
        yield from _in_order(items, pool.submit, pool, window, unclaimed, gate, announced)
    finally:
        pool.stop()


_END: Any = object()


class Escaped:
    """A `BaseException` on its way from a worker to the thread that runs the benchmark."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


_A_MOMENT_S = 0.001


class Finished:
    """Results on their way to the thread that collects them, by the index of their item.

    Those of an event loop are handed over `together` so many at a time, or after a moment:
    waking a thread is dear.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None, together: int = 1) -> None:
        self._handed_over: SimpleQueue[list[tuple[int, Any]]] = SimpleQueue()
        self._waiting: list[tuple[int, Any]] = []
        self._loop = loop
        self._most = together

    def put(self, index: int, result: Any) -> None:
        waiting = self._waiting
        if self._loop is None or (self._most == 1 and not waiting):
            self._handed_over.put([(index, result)])
            return
        if not waiting:
            self._loop.call_later(_A_MOMENT_S, self._hand_over)
        waiting.append((index, result))
        if len(waiting) >= self._most:
            self._hand_over()

    def _hand_over(self) -> None:
        if self._waiting:
            self._handed_over.put(self._waiting)
            self._waiting = []

    def get(self, timeout_s: float | None = None) -> list[tuple[int, Any]]:
        """What was finished meanwhile; waits for it if there is nothing. Raises `Empty`."""
        return self._handed_over.get(timeout=timeout_s)

    def drain(self) -> list[tuple[int, Any]]:
        """All that is finished, without waiting."""
        return [pair for together in _drain(self._handed_over) for pair in together]


def _in_order(
    items: Iterable[Item],
    submit: Callable[[int, Item], None],
    finished: Finished | AsyncPool,
    window: int,
    unclaimed: list[Result] | None,
    gate: Gate | None,
    announced: bool = False,
) -> Iterator[Any]:
    """Keep up to `window` items submitted and yield their results in the order given.

    When the items end in a failure, it is raised after the results of those before it.
    """
    # `submitted - wanted` items are out: under way, finished but not yet due, or in `ready`.
    # Bounding them bounds memory, however slow the first of them is. Items are pulled here only,
    # so that a dataset need not be safe to use from several threads.
    source = iter(items)
    ready: dict[int, Any] = {}
    submitted = wanted = 0
    exhausted = False
    failure: Exception | None = None
    try:
        while True:
            while not exhausted and submitted - wanted < window:
                try:
                    if gate is not None and submitted > wanted and gate.holds():
                        break
                    item = next(source, _END)
                except Exception as error:  # noqa: BLE001 - calls under way are paid for
                    failure, item = error, _END
                if item is _END:
                    exhausted = True
                else:
                    submit(submitted, item)
                    submitted += 1
            if announced:
                announced = False
                yield None
            if wanted == submitted:
                return _raise_if_any(failure)
            while wanted not in ready:
                ready.update(finished.get())
            result = ready.pop(wanted)
            if isinstance(result, Escaped):
                raise result.error
            wanted += 1
            yield result
    finally:
        # After an early end. Calls still under way are not waited for, and are lost.
        if unclaimed is not None:
            ready.update(finished.drain())
            in_order = (ready[index] for index in sorted(ready))
            unclaimed += [result for result in in_order if not isinstance(result, Escaped)]


def _raise_if_any(failure: Exception | None) -> None:
    if failure is not None:
        raise failure


def _drain(queue: SimpleQueue[Any]) -> list[Any]:
    """Take out whatever is in a queue, without waiting."""
    taken = []
    with contextlib.suppress(Empty):
        while True:
            taken.append(queue.get_nowait())
    return taken
