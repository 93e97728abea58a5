"""Actors as workers: each makes one call at a time, and another takes the place of one that ends."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from typing import TYPE_CHECKING, Any

from ray import exceptions

from cb_ray.cluster import LOOK_S, Cluster
from cb_ray.env_file import read_variables
from cbcore.exceptions import CBError, RunError
from cbcore.protocols import WorkerLost
from cbcore.run.workers import open_worker, print_to_stderr
from cbcore.threaded_pool import ThreadedPool

if TYPE_CHECKING:
    from cb_ray.executor import RayExecutor

_LONG = 600


class CbWorker:
    """What runs on a node. Whatever a component does wrong is in a reply."""

    def open(self, worker: bytes, variables: str | None) -> str:
        """Make the components. `variables` is a file of this node. Returns where this is."""
        if variables is not None:
            os.environ.update(read_variables(variables))
        print_to_stderr()
        self._run_task = open_worker(worker)
        return f"process {os.getpid()} on {socket.gethostname()}"

    def ask(self, task: bytes) -> bytes:
        return self._run_task(task)


class RayPool(ThreadedPool):
    """Actors of an executor. Ray itself retries nothing."""

    def __init__(
        self, executor: RayExecutor, cluster: Cluster, worker: bytes, n_workers: int
    ) -> None:
        self.executor, self.cluster = executor, cluster
        self.kind = cluster.ray.remote(
            num_cpus=executor.num_cpus,
            num_gpus=executor.num_gpus,
            max_restarts=0,
            max_task_retries=0,
        )(CbWorker)
        self.packed = cluster.ray.put(worker)
        self.ready: set[RayWorker] = set()
        self.last_ready = 0.0
        super().__init__(lambda: RayWorker(self), n_workers)


class RayWorker:
    """One actor."""

    _where = "getting ready"

    def __init__(self, pool: RayPool) -> None:
        self._pool, self._ray = pool, pool.cluster.ray
        self._started = time.monotonic()
        self._actor = pool.kind.remote()

    def open(self) -> None:
        self._where = self._call("open", self._pool.packed, self._pool.executor.env_file)
        self._pool.ready.add(self)

    def ask(self, task: bytes) -> bytes:
        reply: bytes = self._call("ask", task)
        return reply

    def _call(self, method: str, *arguments: Any) -> Any:
        cluster = self._pool.cluster
        try:
            cluster.check()
            reply = getattr(self._actor, method).remote(*arguments)
            while not self._ray.wait([reply], timeout=LOOK_S)[0]:
                cluster.check()
                self._check_patience()
            return self._ray.get(reply)
        except RunError:
            raise
        except Exception as error:  # noqa: BLE001 - Ray raises many kinds, of which not all are its own
            cluster.check()
            is_unusable = isinstance(
                error, exceptions.RayTaskError | exceptions.RuntimeEnvSetupError
            )
            if is_unusable and self not in self._pool.ready:
                raise _describe_unusable(error) from None
            self.kill()
            cause = getattr(error, "cause", None) or error
            reason = str(cause).strip().partition("\n")[0][:_LONG]
            raise WorkerLost(
                f"the Ray worker ({self._where}) was lost, {type(cause).__name__}: {reason}"
            ) from None

    def _check_patience(self) -> None:
        """Raise `RunError` if for a long time no worker has been ready."""
        pool, asked, now = self._pool, self._pool.executor, time.monotonic()
        if pool.ready:
            pool.last_ready = now
        elif now - max(pool.last_ready, self._started) > asked.start_timeout_s:
            raise RunError(
                f"No Ray worker got ready in {asked.start_timeout_s:g} s: each asks for "
                f"{asked.num_cpus:g} CPUs and {asked.num_gpus:g} GPUs, and "
                f"{pool.cluster.describe_room()}.",
                hint="Ask for less, or wait longer with start_timeout_s=.",
            )

    def kill(self) -> None:
        self._pool.ready.discard(self)
        if self._pool.cluster.is_alive:  # else Ray would start a cluster of its own
            with contextlib.suppress(Exception):  # it may be gone already
                self._ray.kill(self._actor, no_restart=True)


def _describe_unusable(error: Exception) -> RunError:
    """Why no worker can begin."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, CBError):
        return RunError(cause.message, hint=cause.hint)
    reason = (str(error).strip() or type(error).__name__).splitlines()[-1][:_LONG]
    hint = "Install cb-ray, cbcore and the plugins of this run on every node."
    return RunError(f"A Ray worker could not begin: {reason}", hint=hint)
