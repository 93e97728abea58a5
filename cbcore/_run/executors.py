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
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    import asyncio

Item = TypeVar("Item")
Result = TypeVar("Result")

_WINDOW_PER_WORKER = 4
"""Examples held per worker, so that one slow call does not idle the others."""


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
) -> Iterator[Result]:
    """Calls in `in_flight` threads.

    The threads are daemons: when the run is interrupted, a call that hangs cannot keep the
    process alive.
    """
    tasks: SimpleQueue[tuple[int, Item] | None] = SimpleQueue()
    finished = _Finished()

    def work() -> None:
        while (task := tasks.get()) is not None:
            index, item = task
            try:
                finished.put(index, call(item))
            except BaseException as error:  # noqa: BLE001 - raised again in the calling thread
                finished.put(index, _Escaped(error))

    started, wanted = 0, in_flight

    def submit(index: int, item: Item) -> None:
        nonlocal started, wanted
        tasks.put((index, item))
        if started < wanted:
            thread = threading.Thread(target=work, name=f"cb-worker-{started + 1}", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the machine gives no more of them: go on with those there are
                if not started:
                    raise
                wanted = started
            else:
                started += 1

    try:
        window = in_flight * _WINDOW_PER_WORKER
        yield from _in_order(items, submit, finished, window, unclaimed, gate)
    finally:
        _drain(tasks)
        for _ in range(started):
            tasks.put(None)


def run_async(
    call: Callable[[Item], Awaitable[Result]],
    items: Iterable[Item],
    *,
    in_flight: int,
    loop: LoopThread,
    unclaimed: list[Result] | None = None,
    gate: Gate | None = None,
) -> Iterator[Result]:
    """Awaitable calls, `in_flight` at a time, on an event loop in another thread."""
    from asyncio import CancelledError

    pending: deque[tuple[int, Item]] = deque()
    parked: deque[asyncio.Future[None]] = deque()
    finished = _Finished(loop.loop, max(1, in_flight // 2))

    async def work() -> None:
        while True:
            try:
                index, item = pending.popleft()
            except IndexError:
                nap = loop.loop.create_future()
                parked.append(nap)
                await nap
                continue
            try:
                finished.put(index, await call(item))
            except CancelledError:
                raise
            except BaseException as error:  # noqa: BLE001 - raised again in the calling thread
                finished.put(index, _Escaped(error))

    workers: list[asyncio.Task[None]] = []

    def wake() -> None:
        """Runs on the loop: rouse parked workers, or start new ones, for what is pending."""
        roused = min(len(pending), len(parked))
        for _ in range(roused):
            parked.popleft().set_result(None)
        missing = min(len(pending) - roused, in_flight - len(workers))
        workers.extend(loop.loop.create_task(work()) for _ in range(missing))

    def submit(index: int, item: Item) -> None:
        was_empty = not pending
        pending.append((index, item))
        # A running worker takes the next item by itself; only an empty queue can have left
        # one asleep, and only a short pool needs another worker.
        if was_empty or len(workers) < in_flight:
            loop.loop.call_soon_threadsafe(wake)

    def stop() -> None:
        for worker in workers:
            worker.cancel()

    try:
        window = in_flight * _WINDOW_PER_WORKER
        yield from _in_order(items, submit, finished, window, unclaimed, gate)
    finally:
        loop.loop.call_soon_threadsafe(stop)


def _new_event_loop() -> asyncio.AbstractEventLoop:
    """The faster event loop where it is installed: plugins that talk to networks bring it."""
    try:
        import uvloop
    except ImportError:
        import asyncio

        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


class LoopThread:
    """An event loop in a daemon thread, so that a run works inside a running loop too."""

    def __init__(self) -> None:
        self.loop = _new_event_loop()
        self._thread = threading.Thread(target=self._run, name="cb-event-loop", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        import asyncio

        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        # Tasks cancelled at the end get their turn to clean up.
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()

    def call(self, awaitable: Any, timeout_s: float | None = None) -> Any:
        """Run one coroutine on the loop and wait for it."""
        import asyncio

        return asyncio.run_coroutine_threadsafe(awaitable, self.loop).result(timeout_s)

    def close(self, timeout_s: float = 2.0) -> None:
        """Stop the loop; a task that refuses to end is abandoned with its daemon thread."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(timeout_s)


_END: Any = object()


class _Escaped:
    """A `BaseException` on its way from a worker to the thread that runs the benchmark."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


_A_MOMENT_S = 0.001


class _Finished:
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

    def get(self) -> list[tuple[int, Any]]:
        """What was finished meanwhile; waits for it if there is nothing."""
        return self._handed_over.get()

    def drain(self) -> list[tuple[int, Any]]:
        """All that is finished, without waiting."""
        return [pair for together in _drain(self._handed_over) for pair in together]


def _in_order(
    items: Iterable[Item],
    submit: Callable[[int, Item], None],
    finished: _Finished,
    window: int,
    unclaimed: list[Result] | None,
    gate: Gate | None,
) -> Iterator[Result]:
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
            if wanted == submitted:
                if failure is not None:
                    raise failure
                return
            while wanted not in ready:
                ready.update(finished.get())
            result = ready.pop(wanted)
            if isinstance(result, _Escaped):
                raise result.error
            wanted += 1
            yield result
    finally:
        # After an early end. Calls still under way are not waited for, and are lost.
        if unclaimed is not None:
            ready.update(finished.drain())
            in_order = (ready[index] for index in sorted(ready))
            unclaimed += [result for result in in_order if not isinstance(result, _Escaped)]


def _drain(queue: SimpleQueue[Any]) -> list[Any]:
    """Take out whatever is in a queue, without waiting."""
    taken = []
    with contextlib.suppress(Empty):
        while True:
            taken.append(queue.get_nowait())
    return taken
