"""The event loop of a run, and awaited calls on it: bounded, and not lost when one blocks it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from queue import Empty
from typing import Any

from cbcore._run.cancelling import cancel, is_cancelled
from cbcore._run.executors import LATER_S, MORE_ROOM, Escaped, Finished
from cbcore.exceptions import RunError

_UNLIMITED = "cb-unlimited"
"""The name of tasks that may take their time: evaluators have no limit, nor have warm-ups."""


# Nobody else may hold what waits on a loop that was left. Cleared away as garbage, in whatever
# thread, it would go on where it waits, into evaluators that are asked elsewhere by then.
_left_behind: dict[asyncio.AbstractEventLoop, set[asyncio.Task[Any]]] = {}


def _new_event_loop() -> asyncio.AbstractEventLoop:
    """The faster event loop where it is installed: plugins that talk to networks bring it."""
    try:
        import uvloop
    except ImportError:
        loop = asyncio.new_event_loop()
    else:
        loop = uvloop.new_event_loop()
    loop.set_default_executor(_DaemonThreads())
    return loop


class _DaemonThreads(concurrent.futures.ThreadPoolExecutor):
    """Makes each call in a daemon thread, so that one that hangs neither blocks others nor the
    end of the process."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> concurrent.futures.Future[Any]:
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()

        def call() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001 - raised again by who waits
                future.set_exception(error)

        threading.Thread(target=call, name="cb-thread", daemon=True).start()
        return future


class LoopThread:
    """An event loop in a daemon thread, so that a run works inside a running loop too.

    With `limit_s`, what a call may take, it is left to its thread when a call blocks it for
    longer, and `loop` is another. Who has work on it is told by what is in `on_renewed`.
    """

    loop: asyncio.AbstractEventLoop

    def __init__(self, limit_s: float | None = None) -> None:
        self.limit_s = limit_s
        self.look_every_s = min(1.0, (limit_s or 1.0) / 4)
        self.on_renewed: list[Callable[[], None]] = []
        self.n_blocked = 0
        self._start()

    def _start(self) -> None:
        try:
            self.loop = _new_event_loop()
            self._asked_at: float | None = None
            self._thread = threading.Thread(
                target=self._run, args=(self.loop,), name="cb-event-loop", daemon=True
            )
            self._thread.start()
        except (OSError, RuntimeError) as error:
            raise RunError(
                f"no event loop could be started: {error}"
                + (f", after {self.n_blocked} that calls have blocked" if self.n_blocked else ""),
                hint=MORE_ROOM,
            ) from error

    @staticmethod
    def _run(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        loop.run_forever()
        # Tasks cancelled at the end get their turn to clean up.
        tasks = asyncio.all_tasks(loop)
        cancel(*tasks)
        if tasks:
            loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
        _left_behind.pop(loop, None)

    def renew_if_blocked(self) -> bool:
        """Go on with another loop if a call that has a limit keeps this one from answering."""
        if self.limit_s is None:
            return False
        asked_at = self._asked_at  # the loop may answer at any time
        if asked_at is None:
            asked_at = self._asked_at = time.monotonic()
            self.loop.call_soon_threadsafe(self._answer, self.loop)
        if time.monotonic() - asked_at < self.limit_s + LATER_S:
            return False
        task = asyncio.current_task(self.loop)
        if task is not None and task.get_name() == _UNLIMITED:
            return False
        _left_behind[self.loop] = asyncio.all_tasks(self.loop)
        self.loop.call_soon_threadsafe(self.loop.stop)  # should it ever come back
        self.n_blocked += 1
        self._start()
        for tell in self.on_renewed:
            tell()
        return True

    def _answer(self, loop: asyncio.AbstractEventLoop) -> None:
        if loop is self.loop:
            self._asked_at = None

    def call(self, awaitable: Any, timeout_s: float | None = None) -> Any:
        """Run one coroutine on the loop and wait for it."""
        future = asyncio.run_coroutine_threadsafe(_unlimited(awaitable), self.loop)
        if timeout_s is not None or self.limit_s is None:
            return future.result(timeout_s)
        while not concurrent.futures.wait([future], self.look_every_s).done:
            if self.renew_if_blocked():
                raise RunError("a call of the system blocked the event loop")
        return future.result()

    def close(self, timeout_s: float = 2.0) -> None:
        """Stop the loop; a task that refuses to end is abandoned with its daemon thread."""
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(timeout_s)


async def _unlimited(awaitable: Awaitable[Any]) -> Any:
    if (task := asyncio.current_task()) is not None:
        task.set_name(_UNLIMITED)
    return await awaitable


class AsyncPool:
    """Calls on an event loop, for `_in_order`. It moves when the loop is blocked."""

    def __init__(
        self,
        call: Callable[[Any], Awaitable[Any]],
        in_flight: int,
        loop: LoopThread,
        give_up: Callable[[Any], Any] | None,
    ) -> None:
        self._call = call
        self._in_flight = in_flight
        self._loop = loop
        self._give_up = give_up
        self._given_up: list[tuple[int, Any]] = []
        # What has no result yet, where that may have to be known. Of the collecting thread only:
        # whatever a blocked loop still does to the rest, nothing is lost and nothing comes twice.
        self._out: dict[int, Any] | None = None
        if loop.limit_s is not None:
            self._out = {}
            loop.on_renewed.append(self._move)
        self._settle_in(deque())

    def _settle_in(self, pending: deque[tuple[int, Any]]) -> None:
        """Begin on the loop as it is now. What belongs to another is not looked at any more."""
        self._pending = pending
        self._parked: deque[asyncio.Future[None]] = deque()
        self._workers: list[asyncio.Task[None]] = []
        self._finished = Finished(self._loop.loop, max(1, self._in_flight // 2))

    # What belongs to a loop is handed over: by the time a task begins, the pool may have moved.
    async def _work(
        self,
        pending: deque[tuple[int, Any]],
        parked: deque[asyncio.Future[None]],
        finished: Finished,
    ) -> None:
        call, loop = self._call, asyncio.get_running_loop()
        while True:
            try:
                index, item = pending.popleft()
            except IndexError:
                nap = loop.create_future()
                parked.append(nap)
                try:
                    await nap
                except asyncio.CancelledError as error:
                    if is_cancelled(error):
                        raise
                continue
            try:
                finished.put(index, await call(item))
            except BaseException as error:  # raised again in the calling thread
                if is_cancelled(error):
                    raise
                finished.put(index, Escaped(error))

    def _wake(self) -> None:
        """Runs on the loop: rouse parked workers, or start new ones, for what is pending."""
        loop, pending, parked = asyncio.get_running_loop(), self._pending, self._parked
        if loop is not self._loop.loop:
            return  # it was blocked, and has come back
        needed = len(pending)
        while needed and parked:
            nap = parked.popleft()
            if not nap.done():  # else a component cancelled the worker, which is awake for that
                nap.set_result(None)
                needed -= 1
        missing = min(needed, self._in_flight - len(self._workers))
        name = _UNLIMITED if self._give_up is None else None
        self._workers.extend(
            loop.create_task(self._work(pending, parked, self._finished), name=name)
            for _ in range(missing)
        )

    def submit(self, index: int, item: Any) -> None:
        was_empty = not self._pending
        if self._out is not None:
            self._out[index] = item
        self._pending.append((index, item))
        # A running worker takes the next item by itself; only an empty queue can have left
        # one needed, and only a short pool needs another worker.
        if was_empty or len(self._workers) < self._in_flight:
            self._loop.loop.call_soon_threadsafe(self._wake)

    def get(self) -> list[tuple[int, Any]]:
        """What was finished meanwhile; waits for it if there is nothing."""
        if self._out is None:
            return self._finished.get()
        while True:
            together, self._given_up = self._given_up, []
            with contextlib.suppress(Empty):
                together = together or self._finished.get(self._loop.look_every_s)
            for index, _ in together:
                del self._out[index]
            if together:
                return together
            self._loop.renew_if_blocked()

    def drain(self) -> list[tuple[int, Any]]:
        """All that is finished, without waiting."""
        return [*self._given_up, *self._finished.drain()]

    def _move(self) -> None:
        """To a new loop, with all but the calls that were under way, of which one blocks."""
        out = dict(self._out or {})
        self._given_up += self._finished.drain()
        waiting, pending = dict(_popped(self._pending)), deque[tuple[int, Any]]()
        for index, _ in self._given_up:
            del out[index]
        for index, item in out.items():
            told = self._give_up(item) if self._give_up and index not in waiting else None
            if told is None:
                pending.append((index, item))
            else:
                self._given_up.append((index, told))
        self._settle_in(pending)
        if pending:
            self._loop.loop.call_soon_threadsafe(self._wake)

    def stop(self) -> None:
        if self._out is not None:
            self._loop.on_renewed.remove(self._move)
        self._loop.loop.call_soon_threadsafe(lambda workers: cancel(*workers), self._workers)


def _popped(pending: deque[Any]) -> Iterator[Any]:
    """What others have left in a queue, which is empty then."""
    with contextlib.suppress(IndexError):
        while True:
            yield pending.popleft()
