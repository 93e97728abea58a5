"""The executor `processes`: workers that are processes of this machine.

For systems and evaluators that keep a processor busy, and for those that may take their process
down with them: a crash costs a worker, which is replaced, and not the run.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import socket
import sys
import threading
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path

from cbcore.environment import count_processors
from cbcore.exceptions import RunError, UsageError
from cbcore.protocols import WorkerLost
from cbcore.run.workers import open_worker, print_to_stderr
from cbcore.threaded_pool import ThreadedPool

__all__: tuple[str, ...] = ()  # found by its name, as all executors are

_SPAWN = multiprocessing.get_context("spawn")
_LEAST_MEMORY_MB = 100
"""What a worker takes before it has built anything, and some more."""
_LOOK_EVERY_S = 1.0
_END_S = 1.0
_UNGUARDED = 97
"""The exit code of a worker whose script starts the run again."""
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
        """Start the processes with the first task; they get ready by themselves."""
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            os._exit(_UNGUARDED)  # the script is imported by a worker, and the run says so
        asked = [n for n in (self.workers, workers) if n is not None]
        return ProcessPool(worker, min(asked, default=count_processors()), self.memory_mb)


class ProcessPool(ThreadedPool):
    """A process and a pipe for each worker."""

    def __init__(self, worker: bytes, n_workers: int, memory_mb: int | None = None) -> None:
        super().__init__(lambda: ProcessWorker(worker, memory_mb), n_workers)
        threading.Thread(target=self._watch, name="cb-watch", daemon=True).start()

    def close(self) -> None:
        super().close()
        for worker in self.workers:
            worker.wait()  # type: ignore[attr-defined]

    def _watch(self) -> None:
        """End workers that would never reply, although their pipe is open."""
        while not self.closed.wait(_LOOK_EVERY_S):
            for worker in list(self.workers):
                if worker.is_stuck():  # type: ignore[attr-defined]
                    worker.kill()


class ProcessWorker:
    """A process and the pipe to it."""

    def __init__(self, worker: bytes, memory_mb: int | None) -> None:
        self._pipe, other_end = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=serve_tasks, args=(worker, memory_mb, other_end))
        # The process inherits this from the thread that starts it: Ctrl-C is for the run.
        resource_tracker.ensure_running()  # else it starts with the process, and undoes this
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        with other_end:
            self._process.start()

    def open(self) -> None:
        if self._receive() != _READY:
            raise RunError("A worker did not report that it is ready.")

    def ask(self, task: bytes) -> bytes:
        with contextlib.suppress(OSError):  # the end of the process shows below
            self._pipe.send_bytes(task)
        return self._receive()

    def _receive(self) -> bytes:
        with contextlib.suppress(EOFError, OSError):
            return self._pipe.recv_bytes()
        self._process.join(_END_S)  # it may be about to end by itself
        self.kill()
        self._process.join()
        code = self._process.exitcode or 0
        if code == _UNGUARDED:
            raise RunError(
                "The script of the run starts the run again in every worker.",
                hint="Start it under `if __name__ == '__main__':`.",
            )
        raise WorkerLost(f"the worker ended {_describe_exit(code)}")

    def kill(self) -> None:
        """End the process, what it has started, and the wait for its reply."""
        with contextlib.suppress(OSError, TypeError):
            os.killpg(self._process.pid, signal.SIGKILL)  # type: ignore[arg-type]
        with contextlib.suppress(OSError):
            self._process.kill()
            with socket.socket(fileno=os.dup(self._pipe.fileno())) as pipe:
                pipe.shutdown(socket.SHUT_RDWR)  # some other process may hold the other end

    def wait(self) -> None:
        """Wait a moment for the end of a process that was killed."""
        self._process.join(_END_S)

    def is_stuck(self) -> bool:
        """Whether it is stopped, or has ended and left its pipe to others, if the system can tell."""
        try:
            facts = Path(f"/proc/{self._process.pid}/stat").read_bytes()
        except OSError:  # the start of another process may have collected its exit code
            return self._process.exitcode is not None
        return facts.rpartition(b") ")[2][:1] in (b"T", b"Z")


def _describe_exit(code: int) -> str:
    if code >= 0:
        return f"with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"by {name}, as when memory runs out" if name == "SIGKILL" else f"by {name}"


# -- in a worker ---------------------------------------------------------------------------------


def serve_tasks(worker: bytes, memory_mb: int | None, pipe: Connection) -> None:
    """The body of a worker process: it ends with the pipe, or with the run."""
    os.setsid()  # what it starts can be ended with it
    _end_with_run()
    print_to_stderr()
    if memory_mb is not None:
        _limit_memory(memory_mb << 20)
    run_task = open_worker(worker)
    with contextlib.suppress(EOFError, OSError):
        pipe.send_bytes(_READY)
        while True:
            reply = run_task(pipe.recv_bytes())
            sys.stderr.flush()
            pipe.send_bytes(reply)


def _end_with_run() -> None:
    """Have the system end this process and its children if the run dies, whatever they do.

    The run holds the other end of the sentinel open. Elsewhere, the worker ends after its call.
    """
    run = multiprocessing.parent_process()
    if sys.platform == "linux" and run is not None:
        import fcntl

        fcntl.fcntl(run.sentinel, fcntl.F_SETOWN, -os.getpid())  # the group, which gets SIGIO
        flags = fcntl.fcntl(run.sentinel, fcntl.F_GETFL)
        fcntl.fcntl(run.sentinel, fcntl.F_SETFL, flags | os.O_ASYNC)


def _limit_memory(limit_bytes: int) -> None:
    import resource

    # On Linux, what is written to; elsewhere, the nearest there is.
    kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    _, hard = resource.getrlimit(kind)
    most = limit_bytes if hard == resource.RLIM_INFINITY else min(limit_bytes, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(kind, (most, hard))
