"""The executor `processes`: workers that are processes of this machine.

For systems and evaluators that keep a processor busy, and for those that may take their process
down with them: a crash costs a worker, which is replaced, and not the run.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from multiprocessing.connection import Connection, wait
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from cbcore.exceptions import RunError, UsageError
from cbcore.protocols import WorkerLost
from cbcore.run.workers import open_worker

__all__: tuple[str, ...] = ()  # found by its name, as all executors are

_SPAWN = multiprocessing.get_context("spawn")
_LEAST_MEMORY_MB = 100
"""What a worker takes before it has built anything, and some more."""
_MOST_FAILED_STARTS = 3
_LOOK_EVERY_S = 1.0
_READY = b"ready"


class Processes:
    """Makes the calls in other processes of this machine, which are started afresh.

    `workers` is their number; without it, that of `--concurrency`, or of the processors. If both
    are given, the smaller one counts. `memory_mb` is what the data of each may take: beyond it, a
    call fails with `MemoryError`, or ends its worker. `--timeout` limits how long a call may take.
    """

    name = "processes"

    def __init__(self, workers: int | None = None, memory_mb: int | None = None) -> None:
        for name, value, least in (
            ("workers", workers, 1),
            ("memory_mb", memory_mb, _LEAST_MEMORY_MB),
        ):
            if value is not None and value < least:
                raise UsageError(f"{name} of processes must be {least} or more, not {value}.")
        self.workers = workers
        self.memory_mb = memory_mb

    def open(self, worker: bytes, *, workers: int | None) -> ProcessPool:
        """Start the processes; they get ready by themselves."""
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            raise UsageError(
                "The script of the run starts it again in every worker.",
                hint="Start it under `if __name__ == '__main__':`.",
            )
        asked = [n for n in (self.workers, workers) if n is not None]
        return ProcessPool(worker, min(asked, default=_count_processors()), self.memory_mb)


def _count_processors() -> int:
    """The processors that this process may use, if the system can tell."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


class ProcessPool:
    """One thread for each worker: it starts the process, sends tasks and waits for the replies."""

    def __init__(self, worker: bytes, n_workers: int, memory_mb: int | None = None) -> None:
        self.n_workers = n_workers
        self._worker, self._memory_mb = worker, memory_mb
        self._tasks: SimpleQueue[Any] = SimpleQueue()
        self._at_work: dict[Future[bytes], Worker] = {}
        self._started: set[Worker] = set()
        self._is_closed = threading.Event()
        for target in [self._serve] * n_workers + [self._watch]:
            threading.Thread(target=target, name="cb-worker", daemon=True).start()

    def submit(self, task: bytes, begin: Callable[[], None]) -> Future[bytes]:
        future: Future[bytes] = Future()
        self._tasks.put((task, begin, future))
        return future

    def end(self, future: Future[bytes]) -> None:
        if worker := self._at_work.get(future):
            worker.kill()

    def close(self) -> None:
        self._is_closed.set()
        for _ in range(self.n_workers):
            self._tasks.put(None)
        for worker in list(self._started):
            worker.kill()

    def _serve(self) -> None:
        if hasattr(signal, "pthread_sigmask"):  # workers inherit it: Ctrl-C is for the run
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        worker: Worker | None = None
        with contextlib.suppress(RunError):  # raised again for each task
            worker = self._start()
        while (item := self._tasks.get()) is not None and not self._is_closed.is_set():
            task, begin, future = item
            try:
                worker = worker or self._start()
                self._at_work[future] = worker
                begin()
                future.set_result(worker.ask(task))
            except (EOFError, OSError):
                future.set_exception(WorkerLost(self._lose(worker)))
                worker = None
            except BaseException as error:  # noqa: BLE001 - the run raises it
                future.set_exception(error)
            finally:
                self._at_work.pop(future, None)

    def _start(self) -> Worker:
        """A worker that is ready. Raises `RunError` if none can be started."""
        reason = ""
        for _ in range(_MOST_FAILED_STARTS):
            worker = Worker(self._worker, self._memory_mb)
            self._started.add(worker)
            if self._is_closed.is_set():
                worker.kill()
            if worker.is_ready():
                return worker
            reason = self._lose(worker)
        raise RunError(f"No worker could be started: {reason} before it was ready.")

    def _lose(self, worker: Worker | None) -> str:
        """How a worker ended, in words."""
        if worker is None:
            return "the worker could not be started"
        self._started.discard(worker)
        return worker.describe_end()

    def _watch(self) -> None:
        """End workers that are stopped: nobody would ever reply."""
        while not self._is_closed.wait(_LOOK_EVERY_S):
            for worker in list(self._at_work.values()):
                if worker.is_stopped():
                    worker.kill()


class Worker:
    """A process and the pipe to it."""

    def __init__(self, worker: bytes, memory_mb: int | None) -> None:
        self._pipe, other_end = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=serve_tasks, args=(worker, memory_mb, other_end))
        self._process.start()
        other_end.close()

    def is_ready(self) -> bool:
        """Wait until it can begin. False if it has ended."""
        try:
            return self._pipe.recv_bytes() == _READY
        except (EOFError, OSError):
            return False

    def ask(self, task: bytes) -> bytes:
        """The reply to a task. Raises EOFError or OSError if the process ends."""
        self._pipe.send_bytes(task)
        return self._pipe.recv_bytes()

    def kill(self) -> None:
        """End the process and what it has started."""
        with contextlib.suppress(OSError, TypeError):
            os.killpg(self._process.pid, signal.SIGKILL)  # type: ignore[arg-type]
        with contextlib.suppress(OSError):
            self._process.kill()

    def is_stopped(self) -> bool:
        """Whether a signal has stopped it, as far as the system can tell."""
        try:
            facts = Path(f"/proc/{self._process.pid}/stat").read_bytes()
        except OSError:
            return False
        return facts.rpartition(b") ")[2][:1] in (b"T", b"t")

    def describe_end(self) -> str:
        self.kill()
        self._process.join()
        code = self._process.exitcode or 0
        if code >= 0:
            return f"the worker ended with exit code {code}"
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        hint = ", as when memory runs out" if name == "SIGKILL" else ""
        return f"the worker ended by {name}{hint}"


# -- in a worker ---------------------------------------------------------------------------------


def serve_tasks(worker: bytes, memory_mb: int | None, pipe: Connection) -> None:
    """The body of a worker process: it ends with the pipe, or with the run."""
    if hasattr(os, "setsid"):
        os.setsid()  # what it starts can be ended with it
    with contextlib.suppress(OSError):
        os.dup2(2, 1)  # standard output is for reports
    if memory_mb is not None:
        _limit_memory(memory_mb << 20)
    threading.Thread(target=_end_with_run, name="cb-end", daemon=True).start()
    run_task = open_worker(worker)
    with contextlib.suppress(EOFError, OSError):
        pipe.send_bytes(_READY)
        while True:
            pipe.send_bytes(run_task(pipe.recv_bytes()))


def _end_with_run() -> None:
    if (run := multiprocessing.parent_process()) is not None:
        wait([run.sentinel])
        os._exit(1)


def _limit_memory(limit_bytes: int) -> None:
    import resource

    # On Linux, what is written to; elsewhere, the nearest there is.
    kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    _, hard = resource.getrlimit(kind)
    most = limit_bytes if hard == resource.RLIM_INFINITY else min(limit_bytes, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(kind, (most, hard))
