"""Worker processes, as the run sees them: started, spoken to, missed, replaced and ended."""

from __future__ import annotations

import contextlib
import os
import pickle
import selectors
import signal
import socket
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator, Sequence
from multiprocessing.spawn import get_preparation_data

from cbcore.builtin.processes import _worker
from cbcore.builtin.processes._pipe import Pipe
from cbcore.builtin.processes._worker import BATCH, LAST_REPLY, ORDER, READY, REPLY
from cbcore.exceptions import RunError, UsageError
from cbcore.workers import Batch, Recipe, Reply

_MOST_FAILED_STARTS = 3
_MOMENT_S = 0.5
_GRACE_S = 2.0
"""How long workers that have nothing to do may take to leave."""
_PROGRAM = (
    "import sys; from cbcore.builtin.processes._worker import main; main(*map(int, sys.argv[1:]))"
)
_Selector = getattr(selectors, "PollSelector", selectors.SelectSelector)
_OF_THE_SCRIPT = ("init_main_from_name", "init_main_from_path")


class _Worker:
    """One process, with the batch that it has. `order` is what it has to know to begin."""

    def __init__(self, order: bytes, lifeline: int) -> None:
        ours, theirs = socket.socketpair()
        command = [sys.executable, *_flags(), "-c", _PROGRAM, str(theirs.fileno()), str(lifeline)]
        with theirs:
            try:
                self.process = subprocess.Popen(  # noqa: S603 - our own program
                    command,
                    pass_fds=(theirs.fileno(), lifeline),
                    stdin=subprocess.DEVNULL,
                    stdout=_standard_error(),  # standard output is for the results of the run
                    start_new_session=True,  # which is ended as a whole, and by nobody's Ctrl-C
                )
            except BaseException:  # whatever it is, the pipe is closed
                ours.close()
                raise
        self.pipe = Pipe(ours)
        self.batch_id: int | None = None
        self.begin(order)

    def begin(self, order: bytes) -> None:
        """Let it make its bench; it says when it is ready."""
        self.is_ready = False
        with contextlib.suppress(OSError):  # it is gone already, which is noticed
            self.pipe.send(ORDER + order)

    @property
    def is_free(self) -> bool:
        return self.is_ready and self.batch_id is None

    def kill(self) -> None:
        """End it at once, with all that it has started."""
        _kill(self.process)
        self.pipe.close()


class ProcessCrew:
    """So many worker processes for one recipe; see `cbcore.protocols.Crew`."""

    def __init__(self, recipe: Recipe, size: int, memory_bytes: int | None = None) -> None:
        if _worker.is_preparing:
            raise UsageError(
                "the script of the run starts it again in every worker",
                hint="start it under `if __name__ == '__main__':`",
            )
        self._size = size
        self._memory_bytes = memory_bytes
        self._order = self._ordered(recipe)
        self._failed_starts = 0
        self._lost: list[Reply] = []
        self._workers: list[_Worker] = []
        self._processes: list[subprocess.Popen[bytes]] = []
        # Nothing is ever written to it: when our end is gone, so is the run, and so are they.
        self._lifeline, ours = os.pipe()
        self._end = weakref.finalize(self, _end_all, self._processes, (self._lifeline, ours))
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
            worker.pipe.send(BATCH + batch.payload)
        except OSError:
            self._replace(worker)

    def wait(self, timeout_s: float) -> Sequence[Reply]:
        if self._lost:
            timeout_s = 0.0
        with _Selector() as selector:
            for worker in self._workers:
                more = selectors.EVENT_WRITE if worker.pipe.has_more else 0
                selector.register(worker.pipe, selectors.EVENT_READ | more, worker)
            heard: list[_Worker] = [key.data for key, _ in selector.select(timeout_s)]
        replies = [reply for worker in heard for reply in self._heard(worker)]
        if not heard:
            # What a worker has started may hold its end of the pipe open.
            for worker in [w for w in self._workers if w.process.poll() is not None]:
                self._replace(worker)
        lost, self._lost = self._lost, []
        return [*replies, *lost]

    def abandon(self, batch_id: int) -> None:
        for worker in self._workers:
            if worker.batch_id == batch_id:
                worker.batch_id = None
                self._replace(worker)
                return

    def reopen(self, recipe: Recipe) -> None:
        """Those with nothing to do make another bench; for the others, new ones are started."""
        self._order = self._ordered(recipe)
        self._failed_starts = 0
        self._lost = []
        for worker in list(self._workers):
            if worker.is_free:
                worker.begin(self._order)
            else:
                self._dismiss(worker)
                self._start()

    def close(self) -> None:
        """Those with nothing to do see the end of their pipe, and leave; the others are killed."""
        leaving = []
        for worker in self._workers:
            if worker.is_free:
                worker.pipe.close()
                leaving.append(worker.process)
            else:
                worker.kill()
        self._workers = []
        until = time.monotonic() + _GRACE_S
        for one in leaving:
            with contextlib.suppress(subprocess.TimeoutExpired):
                one.wait(max(0.0, until - time.monotonic()))
        self._end()

    def _heard(self, worker: _Worker) -> Iterator[Reply]:
        try:
            worker.pipe.flush()
            for message in worker.pipe.received():
                yield from self._told(worker, message)
                if worker not in self._workers:
                    return
        except (EOFError, OSError):
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.process.wait(_MOMENT_S)  # how it ends by itself is what is to be told
            self._replace(worker)

    def _told(self, worker: _Worker, message: bytes) -> Iterator[Reply]:
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
        cause = self._dismiss(worker)
        if worker.batch_id is not None:
            self._lost.append(Reply(worker.batch_id, lost=cause))
        if not worker.is_ready:
            self._failed_starts += 1
            if self._failed_starts >= max(_MOST_FAILED_STARTS, self._size):
                raise RunError(f"no worker could be started: {cause} before it was ready")
        self._start()

    def _dismiss(self, worker: _Worker) -> str:
        """End it; how it ended, in words."""
        worker.kill()
        cause = _cause(worker.process.wait())
        self._workers.remove(worker)
        self._processes.remove(worker.process)
        return cause

    def _ordered(self, recipe: Recipe) -> bytes:
        """What a worker has to know to begin."""
        return pickle.dumps((_surroundings(recipe), recipe, self._size, self._memory_bytes), 5)

    def _start(self) -> None:
        try:
            worker = _Worker(self._order, self._lifeline)
        except OSError as error:
            raise RunError(f"no worker could be started: {error}") from error
        self._processes.append(worker.process)
        self._workers.append(worker)


def _flags() -> list[str]:
    """Those of this interpreter."""
    return subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined,no-any-return]


def _standard_error() -> int | None:
    """Where a worker writes; nothing where this process has no standard error itself."""
    try:
        os.fstat(2)
    except OSError:
        return subprocess.DEVNULL
    return 2


def _surroundings(recipe: Recipe) -> dict[str, object]:
    """The folder and the import path of the run, and its script where that defines anything sent."""
    told = get_preparation_data("cb-worker")
    told.pop("authkey", None)
    if b"__main__" not in recipe.payload:
        for key in _OF_THE_SCRIPT:
            told.pop(key, None)
    return told


def _kill(started: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        os.killpg(started.pid, signal.SIGKILL)
    started.kill()


def _end_all(processes: Sequence[subprocess.Popen[bytes]], pipes: Sequence[int]) -> None:
    for one in processes:
        if one.poll() is None:
            _kill(one)
            one.wait()
    for pipe in pipes:
        os.close(pipe)


def _cause(exit_code: int) -> str:
    """How a process ended, in words."""
    if exit_code >= 0:
        return f"it ended with exit code {exit_code}"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = "unknown"
    hint = ", as when memory runs out" if -exit_code == signal.SIGKILL else ""
    return f"it ended by signal {-exit_code} ({name}{hint})"
