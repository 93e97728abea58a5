"""Where components are called: daemon threads and one event loop, watched by the driver."""

from __future__ import annotations

import contextlib
import inspect
import threading
import time
from collections.abc import Callable, Iterable
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from cbcore.boundary import contained
from cbcore.components import Built
from cbcore.exceptions import RunError

if TYPE_CHECKING:
    import asyncio

    from cbcore.run.pair import Attempt

MORE_ROOM = "Lower --concurrency, or raise what a process may have (ulimit -n, -u, -v)."
"""What helps if the machine gives no more files, threads or memory."""
_LOOK_EVERY_S = 0.1
"""How late a time limit may end, and a signal that comes right before the driver waits."""
_MOST_ABANDONED = 100
_CLOSE_S = 5.0


class Threads:
    """Daemon threads of one pair on one queue. No thread is ever joined."""

    def __init__(self, calls: Calls, most: int) -> None:
        self.tasks: SimpleQueue[Attempt | None] = SimpleQueue()
        self._calls = calls
        self._most = most
        self._n_started = 0
        self._lock = threading.Lock()

    def put(self, attempt: Attempt) -> None:
        with self._lock:
            if self._n_started < self._most:
                try:
                    self.start_one()
                    self._n_started += 1
                except RunError:
                    if not self._n_started:
                        raise
                    had = f"{self._n_started} of {self._most}"
                    self._calls.warn(f"Only {had} threads could be started. {MORE_ROOM}")
                    self._most = self._n_started
        self.tasks.put(attempt)

    def start_one(self) -> None:
        """Start a thread. Raises `RunError` if the system has no more."""
        try:
            work = self._calls.work
            threading.Thread(target=work, args=(self,), name="cb-call", daemon=True).start()
        except RuntimeError as error:
            raise RunError(f"No thread could be started: {error}.", hint=MORE_ROOM) from error

    def close(self) -> None:
        """Let each thread end after its call."""
        for _ in range(self._n_started):
            self.tasks.put(None)


class Calls:
    """Attempts under way. Only the driver calls `start`, `wait` and `stop`.

    An attempt is given up if its call takes longer than `timeout_s`: its thread or task is left to
    itself, and a failed row takes its place.
    """

    def __init__(self, timeout_s: float | None, warn: Callable[[str], None]) -> None:
        self.timeout_s = timeout_s
        self.open: set[Attempt] = set()
        self.is_stopped = False
        self.warn = warn
        self._n_abandoned = 0
        self._warm: set[Built] = set()
        self._finished: SimpleQueue[Attempt] = SimpleQueue()
        self._lock = threading.RLock()  # guards `is_given_up` and `_loop`
        self._loop: asyncio.AbstractEventLoop | None = None
        self._left: tuple[Attempt, float] | None = None  # which the loop has to leave, since

    def start(self, attempt: Attempt) -> None:
        self.open.add(attempt)
        self._hand_on(attempt)

    # -- any thread ----------------------------------------------------------------------------

    def _hand_on(self, attempt: Attempt) -> None:
        """Pass an attempt to its next step: to a thread, to the loop, or back to the driver."""
        attempt.step = None if attempt.escaped else attempt.pair.next_step(attempt)
        if attempt.step == "thread":
            attempt.pair.threads.put(attempt)
        elif attempt.step == "loop":
            loop = self.loop
            loop.call_soon_threadsafe(self._start_task, loop, attempt)
        else:
            if attempt.escaped is None:  # else it is no row, and the run ends
                attempt.pair.finish(attempt)
            self._finished.put(attempt)

    def _end_step(self, attempt: Attempt) -> bool:
        """Hand an attempt on. False: the driver gave it up, and nothing waits for it."""
        with self._lock:
            is_given_up = attempt.is_given_up
        if not is_given_up:
            try:
                self._hand_on(attempt)
            except RunError as error:  # there is no thread, or no loop, for its next step
                attempt.escaped = error
                self._hand_on(attempt)
        return not is_given_up

    def work(self, threads: Threads) -> None:
        """The body of a thread."""
        while (attempt := threads.tasks.get()) is not None:
            if attempt.is_given_up:
                continue  # the run ended before it began
            try:
                attempt.pair.run_blocking(attempt)
            except BaseException as error:  # noqa: BLE001 - raised again by the driver
                attempt.escaped = error
            if not self._end_step(attempt):
                if attempt.is_replaced:
                    return  # another thread has taken this place
            elif attempt.escaped is not None:
                return  # the run ends

    # -- on the event loop ---------------------------------------------------------------------

    def _start_task(self, loop: asyncio.AbstractEventLoop, attempt: Attempt) -> None:
        attempt.task = loop.create_task(self._await(attempt))

    async def _await(self, attempt: Attempt) -> None:
        try:
            if not attempt.is_given_up:
                await attempt.pair.run_awaited(attempt)
        except BaseException as error:  # noqa: BLE001 - raised again by the driver
            attempt.escaped = error
        attempt.task = None
        self._end_step(attempt)

    # -- the driver ----------------------------------------------------------------------------

    def wait(self) -> list[Attempt]:
        """Block until an attempt is finished or overdue."""
        done: list[Attempt] = []
        wait_s = min(_LOOK_EVERY_S, self.timeout_s or _LOOK_EVERY_S)
        while not done:
            with contextlib.suppress(Empty):
                done = [self._finished.get(timeout=wait_s)]
                while True:
                    done.append(self._finished.get_nowait())
            done = [attempt for attempt in done if attempt in self.open]
            if self.timeout_s is not None:
                done += [attempt for attempt in self.open if self._give_up_if_overdue(attempt)]
                done += self._leave_blocked_loop()
        self.open.difference_update(done)
        return done

    def _give_up_if_overdue(self, attempt: Attempt) -> bool:
        with self._lock:  # against `_end_step`: either the call has ended, or it is given up
            deadline, waits = attempt.deadline, attempt.waits
            if deadline is not None and waits is not None:
                deadline += waits.so_far()
            if deadline is None or time.monotonic() < deadline:
                return False
            attempt.is_given_up = True
            future = attempt.future
            attempt.is_replaced = attempt.step == "thread" and future is None
        attempt.pair.put_stand_in(attempt, f"timed out after {self.timeout_s:g} s")
        if attempt.is_replaced:
            self._n_abandoned += 1
            if self._n_abandoned > _MOST_ABANDONED:
                raise RunError(
                    f"{_MOST_ABANDONED} calls did not return after their time limit.",
                    hint="Raise --timeout, or use --executor processes, which ends such calls.",
                )
            attempt.pair.threads.start_one()
        elif attempt.step == "thread":
            attempt.pair.workers.end(future)  # type: ignore[union-attr]
        else:
            self.loop.call_soon_threadsafe(attempt.pair.leave_task, attempt)
            self._left = self._left or (attempt, time.monotonic())
        return True

    def _leave_blocked_loop(self) -> list[Attempt]:
        """A call that blocks instead of awaiting holds the loop: stop the pairs that use it."""
        if self._left is None:
            return []
        attempt, asked = self._left
        if attempt.is_left:
            self._left = None
            return []
        if time.monotonic() < asked + max(1.0, self.timeout_s or 0.0):
            return []
        with self._lock:
            self._loop = self._left = None
            lost = [attempt for attempt in self.open if attempt.step == "loop"]
            late = [attempt for attempt in lost if not attempt.is_given_up]
            for attempt in late:
                attempt.is_given_up = True
        for attempt in late:
            attempt.pair.put_stand_in(attempt, "a call blocks the event loop")
        for attempt in lost:
            attempt.pair.stop("A call blocks the event loop: it does not await.")
        return lost

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop of the run, in a daemon thread."""
        with self._lock:
            if self._loop is None:
                from cbcore.event_loop import start_loop

                try:
                    self._loop = start_loop()
                except (OSError, RuntimeError) as error:
                    reason = f"No event loop could be started: {error}."
                    raise RunError(reason, hint=MORE_ROOM) from error
            return self._loop

    def warm_up(self, system: Built) -> None:
        """Let a system prepare itself, once, before the first call that is measured."""
        if system in self._warm:
            return
        self._warm.add(system)
        if hasattr(system.value, "warm_up"):
            self._run(f"Warming up {system.name!r}", system.value.warm_up)

    def close(self, components: Iterable[Built] = ()) -> None:
        """Let components close what they have opened on the loop, and end it."""
        for component in components if self._loop is not None else ():
            if hasattr(component.value, "aclose"):
                self._run(f"Closing {component.name!r}", component.value.aclose, _CLOSE_S)
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)

    def _run(self, doing: str, function: Callable[[], Any], timeout_s: float | None = None) -> None:
        """Call a function of a component, on the loop if it is awaited. Warn if it fails."""
        with contained() as attempt:
            begun = function()
            if inspect.iscoroutine(begun):
                from cbcore.event_loop import run_coroutine

                run_coroutine(self.loop, begun, timeout_s)
        if attempt.error is not None:
            self.warn(f"{doing} failed: {attempt.reason}.")

    def stop(self) -> None:
        """Start nothing more, cancel what is awaited, leave blocking calls behind. Idempotent."""
        if self.is_stopped:
            return
        self.is_stopped = True
        with self._lock:
            for attempt in self.open:
                attempt.is_given_up = True
        if (loop := self._loop) is not None:
            from cbcore.event_loop import cancel_tasks

            if not cancel_tasks(loop):
                self._loop = None  # it is blocked, and its thread is a daemon
