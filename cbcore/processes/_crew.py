"""Worker processes, as the run sees them: started, spoken to, missed, replaced and ended."""

from __future__ import annotations

import contextlib
import os
import signal
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context, process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from cbcore.exceptions import RunError, UsageError
from cbcore.processes._worker import LAST_REPLY, READY, REPLY, serve
from cbcore.workers import Batch, Recipe, Reply

_MOST_FAILED_STARTS = 3
_GRACE_S = 2.0
"""How long workers that have nothing to do may take to leave."""
_GUARD = "a script that starts a run with processes has to do so under `if __name__ == '__main__':`"


class _Worker:
    """One process, with the batch that it has."""

    def __init__(
        self, start: Callable[[Connection], SpawnProcess], pipe: Callable[[], Pipe]
    ) -> None:
        self.connection, theirs = pipe()
        try:
            self.process = start(theirs)
        except BaseException:
            self.connection.close()
            raise
        finally:
            theirs.close()
        self.is_ready = False
        self.batch_id: int | None = None

    @property
    def is_free(self) -> bool:
        return self.is_ready and self.batch_id is None

    def kill(self) -> None:
        """End it at once, with all that it has started."""
        _kill(self.process)
        self.connection.close()


Pipe = tuple[Connection, Connection]


class ProcessCrew:
    """So many worker processes for one recipe; see `cbcore.protocols.Crew`."""

    def __init__(self, recipe: Recipe, size: int, memory_bytes: int | None = None) -> None:
        if getattr(process.current_process(), "_inheriting", False):
            raise UsageError("a worker cannot start workers while it is being started", hint=_GUARD)
        self._context = get_context("spawn")
        self._arguments = (recipe, size, memory_bytes)
        self._size = size
        self._failed_starts = 0
        self._lost: list[Reply] = []
        self._workers: list[_Worker] = []
        # Should nobody close it: the processes would be waited for when Python ends.
        self._processes: list[SpawnProcess] = []
        self._end = weakref.finalize(self, _kill_all, self._processes)
        for _ in range(size):
            self._start()

    @property
    def size(self) -> int:
        return self._size

    def free(self) -> int:
        return sum(worker.is_free for worker in self._workers)

    def send(self, batch: Batch) -> None:
        worker = next(worker for worker in self._workers if worker.is_free)
        worker.batch_id = batch.id
        try:
            worker.connection.send_bytes(batch.payload)
        except OSError:
            self._replace(worker)

    def wait(self, timeout_s: float) -> Sequence[Reply]:
        if self._lost:
            timeout_s = 0.0
        by_connection = {worker.connection: worker for worker in self._workers}
        heard = wait(list(by_connection), timeout_s)
        replies = [reply for one in heard for reply in self._heard(by_connection[one])]  # type: ignore[index]
        if not heard:
            # What a worker has started may hold its end of the pipe open.
            for worker in [w for w in self._workers if w.process.exitcode is not None]:
                self._replace(worker)
        lost, self._lost = self._lost, []
        return [*replies, *lost]

    def abandon(self, batch_id: int) -> None:
        for worker in self._workers:
            if worker.batch_id == batch_id:
                worker.batch_id = None
                self._replace(worker)
                return

    def close(self) -> None:
        """Those with nothing to do see the end of their pipe, and leave; the others are killed."""
        leaving = []
        for worker in self._workers:
            if worker.is_free:
                worker.connection.close()
                leaving.append(worker.process)
            else:
                worker.kill()
        self._workers = []
        until = time.monotonic() + _GRACE_S
        for one in leaving:
            one.join(max(0.0, until - time.monotonic()))
        self._end()

    def _heard(self, worker: _Worker) -> Iterator[Reply]:
        try:
            message = worker.connection.recv_bytes()
        except (EOFError, OSError):
            self._replace(worker)
            return
        if message == READY:
            worker.is_ready = True
            self._failed_starts = 0
        elif worker.batch_id is not None:
            number, worker.batch_id = worker.batch_id, None
            if message.startswith(LAST_REPLY):
                self._replace(worker)
            yield Reply(number, message[len(REPLY) :])

    def _replace(self, worker: _Worker) -> None:
        """Another worker in the place of one that is gone, or has to go."""
        worker.kill()
        worker.process.join()
        self._workers.remove(worker)
        self._processes.remove(worker.process)
        cause = _cause(worker.process.exitcode)
        if worker.batch_id is not None:
            self._lost.append(Reply(worker.batch_id, lost=cause))
        if not worker.is_ready:
            self._failed_starts += 1
            if self._failed_starts >= max(_MOST_FAILED_STARTS, self._size):
                raise RunError(
                    f"no worker could be started: {cause} before it was ready", hint=_GUARD
                )
        self._start()

    def _start(self) -> None:
        def start(connection: Connection) -> SpawnProcess:
            recipe, *rest = self._arguments
            started = self._context.Process(
                target=serve, args=(connection, recipe, *rest), name=f"cb-worker {recipe.name}"
            )
            # Ctrl-C is the run's: until a worker says so itself, it must not hear of it.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                started.start()
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            return started

        try:
            worker = _Worker(start, self._context.Pipe)
        except OSError as error:
            raise RunError(f"no worker could be started: {error}") from error
        self._processes.append(worker.process)
        self._workers.append(worker)


def _kill(started: SpawnProcess) -> None:
    with contextlib.suppress(OSError):
        if started.pid is not None:
            os.killpg(started.pid, signal.SIGKILL)
    with contextlib.suppress(OSError, ValueError):
        started.kill()


def _kill_all(processes: Sequence[SpawnProcess]) -> None:
    for one in processes:
        if one.exitcode is None:
            _kill(one)
            one.join()


def _cause(exit_code: int | None) -> str:
    """How a process ended, in words."""
    if exit_code is None or exit_code >= 0:
        return f"it ended with exit code {exit_code}"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = "unknown"
    hint = ", as when memory runs out" if -exit_code == signal.SIGKILL else ""
    return f"it ended by signal {-exit_code} ({name}{hint})"
