"""A pool of workers that block: one thread for each starts it, sends tasks and waits for replies."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Protocol

from cbcore.boundary import at_boundary, contained
from cbcore.exceptions import CBError, RunError
from cbcore.protocols import WorkerLost

__all__ = ("ThreadedPool",)

_MOST_FAILED_STARTS = 3
_CLOSE_S = 5.0
_EXPECTED = (CBError, WorkerLost)

Item = tuple[bytes, Callable[[], None], Future[bytes]]


class Worker(Protocol):
    """One worker. A single thread uses it, but any thread may kill it."""

    def open(self) -> None:
        """Block until it is ready. Raises `WorkerLost` if it ends, `RunError` if none can begin."""

    def ask(self, task: bytes) -> bytes:
        """Block until there is a reply. Raises `WorkerLost` if it ends."""

    def kill(self) -> None:
        """End it, whatever it does: `open` and `ask` raise `WorkerLost` soon."""


class ThreadedPool:
    """A `cbcore.protocols.WorkerPool`. `make_worker` starts a worker and does not wait for it.

    Workers start with the first task. A worker that is lost is replaced.
    """

    def __init__(self, make_worker: Callable[[], Worker], n_workers: int) -> None:
        self.n_workers = n_workers
        self.workers: set[Worker] = set()
        self.closed = threading.Event()
        self._make_worker = make_worker
        self._tasks: SimpleQueue[Item | None] = SimpleQueue()
        self._has_task = threading.Event()
        self._at_work: dict[Future[bytes], Worker] = {}
        self._threads = [
            threading.Thread(target=self._serve, name="cb-worker", daemon=True)
            for _ in range(n_workers)
        ]
        for thread in self._threads:
            thread.start()
        atexit.register(self.close)  # workers must not outlive a run that was ended twice

    def submit(self, task: bytes, begin: Callable[[], None]) -> Future[bytes]:
        future: Future[bytes] = Future()
        self._tasks.put((task, begin, future))
        self._has_task.set()
        return future

    def end(self, future: Future[bytes]) -> None:
        if worker := self._at_work.get(future):
            worker.kill()

    def close(self) -> None:
        atexit.unregister(self.close)
        self.closed.set()
        self._has_task.set()
        for worker in list(self.workers):
            worker.kill()
        for _ in self._threads:
            self._tasks.put(None)
        until = time.monotonic() + _CLOSE_S
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    # -- in the thread of a worker -------------------------------------------------------------

    def _serve(self) -> None:
        self._has_task.wait()
        worker: Worker | None = None
        problem: BaseException | None = None
        while True:
            if worker is None and problem is None:
                with contained() as starting:
                    worker = self._start()
                problem = starting.error
            if (item := self._tasks.get()) is None:
                return
            task, begin, future = item
            try:
                if worker is None:
                    raise problem or WorkerLost("the worker could not be started")
                self._at_work[future] = worker
                begin()
                with at_boundary("Asking a worker", WorkerLost, through=_EXPECTED):
                    reply = worker.ask(task)
                future.set_result(reply)
            except BaseException as error:  # noqa: BLE001 - the run raises it
                if worker is not None and isinstance(error, WorkerLost):
                    self.workers.discard(worker)
                    worker = None
                future.set_exception(error)
            finally:
                self._at_work.pop(future, None)

    def _start(self) -> Worker:
        """A worker that is ready. Raises `RunError` if none can be started."""
        lost: object = "the run ended"
        for _ in range(_MOST_FAILED_STARTS):
            if self.closed.is_set():
                break
            try:
                with at_boundary("Starting a worker", RunError, through=_EXPECTED):
                    worker = self._make_worker()
                    self.workers.add(worker)
                    if self.closed.is_set():  # just now
                        worker.kill()
                    worker.open()
                    return worker
            except WorkerLost as error:
                self.workers.discard(worker)
                lost = error
        raise RunError(f"No worker could be started: {lost} before it was ready.")
