"""Workers that are processes of this machine, one pipe to each."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait

from cbcore.workers import Batch, Recipe, Reply


class {{ cookiecutter.__class }}:
    """Makes calls in worker processes, for systems that keep a processor busy.

    It is a transport: batches go to workers, replies come back. What is in them, their order,
    deadlines and what is sent again is the run's business.
    """

    name = "{{ cookiecutter.__name }}"

    def open(self, recipe: Recipe, *, workers: int | None) -> ProcessCrew:
        """Start the workers, which get ready by themselves."""
        return ProcessCrew(recipe, workers or multiprocessing.cpu_count())


class ProcessCrew:
    """So many processes for one recipe; one that is lost is replaced."""

    def __init__(self, recipe: Recipe, size: int) -> None:
        self.size = size
        self._recipe = recipe
        self._lost: list[Reply] = []
        self._workers = [_Worker(recipe, size) for _ in range(size)]

    def free(self) -> int:
        """How many batches could be sent now."""
        return sum(worker.is_free for worker in self._workers)

    def send(self, batch: Batch) -> None:
        """Give a batch to a worker that has nothing to do."""
        worker = next(worker for worker in self._workers if worker.is_free)
        worker.batch_id = batch.id
        try:
            worker.pipe.send_bytes(batch.payload)
        except OSError:
            self._replace(worker)

    def wait(self, timeout_s: float) -> Sequence[Reply]:
        """Replies, as soon as there are any; none when the time is up, or a worker got free."""
        by_pipe = {worker.pipe.fileno(): worker for worker in self._workers}
        replies, self._lost = self._lost, []
        for pipe in wait(list(by_pipe), 0 if replies else timeout_s):
            replies += self._heard(by_pipe[pipe])  # type: ignore[index]
        return [*replies, *self._lost_meanwhile()]

    def abandon(self, batch_id: int) -> None:
        """End the worker that has this batch: nobody waits for its reply any more."""
        for worker in [w for w in self._workers if w.batch_id == batch_id]:
            worker.batch_id = None
            self._replace(worker)

    def close(self) -> None:
        """End all workers, those at work, too."""
        for worker in self._workers:
            worker.end()

    def _heard(self, worker: _Worker) -> list[Reply]:
        try:
            said, payload = worker.pipe.recv()
        except (EOFError, OSError):
            self._replace(worker)
            return []
        number, worker.batch_id = worker.batch_id, None
        worker.is_ready = True
        if said == "last":  # a call that took too long still runs there
            self._replace(worker)
        return [] if number is None else [Reply(number, payload)]

    def _replace(self, worker: _Worker) -> None:
        code = worker.end()
        if worker.batch_id is not None:
            self._lost.append(Reply(worker.batch_id, lost=f"it ended with exit code {code}"))
        self._workers[self._workers.index(worker)] = _Worker(self._recipe, self.size)

    def _lost_meanwhile(self) -> list[Reply]:
        lost, self._lost = self._lost, []
        return lost


class _Worker:
    """One process, and the batch that it has."""

    def __init__(self, recipe: Recipe, size: int) -> None:
        # A forked worker would inherit locks that threads of this process hold.
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, recipe, size), daemon=True)
        self._process.start()
        theirs.close()
        self.is_ready = False
        self.batch_id: int | None = None

    @property
    def is_free(self) -> bool:
        return self.is_ready and self.batch_id is None

    def end(self) -> int | None:
        """End the process, whatever it does; the code it ended with."""
        self._process.kill()
        self._process.join()
        self.pipe.close()
        return self._process.exitcode


def _serve(pipe: Connection, recipe: Recipe, size: int) -> None:
    """What runs in a worker: make the bench once, then batch after batch."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the run, which ends workers
    bench = recipe.open(workers=size)
    pipe.send(("ready", b""))
    try:
        while not bench.is_spent:
            reply = bench.work(pipe.recv_bytes())
            pipe.send(("last" if bench.is_spent else "reply", reply))
    except (EOFError, OSError):
        pass  # the run is over
    finally:
        bench.close()
