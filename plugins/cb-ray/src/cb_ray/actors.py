"""The workers of one crew: an actor in each place, and another when it ends.

Actors are never restarted by Ray: one that waits for a free CPU could not be told from one that
works. Here a worker is free when it has opened its bench, so batches go to those that live.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import attrs
import ray
from ray import exceptions

from cb_ray import cluster, losses
from cb_ray.env_file import EnvFileError
from cb_ray.settings import Failure, Place
from cb_ray.worker import CbWorker

_MOST_FAILED_STARTS = 5
_PAUSE_S = 0.5
_LOOK_S = 1.0
_ANSWER_S = 5.0
"""How long a head may take to say what its cluster has."""
_GOODBYE_S = 3.0
"""How long components may take to let go of what they hold."""


@attrs.define(eq=False)
class _Given:
    """A worker that is free, and what it is given to do: a batch, or None for another recipe."""

    batch: asyncio.Future[tuple[int, bytes] | None]
    abandoned: asyncio.Event


class Actors:
    """Keeps `size` workers, and says what happens to them: `free`, `reply`, `lost`, `gone`."""

    def __init__(
        self,
        place: Place,
        recipe: bytes,
        size: int,
        *,
        tell: Callable[..., None],
        is_crowded: Callable[[], bool],
    ) -> None:
        self._place = place
        self._recipe = ray.put(recipe)  # once, however many workers there are
        self._size = size
        self._tell = tell
        self._is_crowded = is_crowded
        self._failure: Failure | None = None
        self._kind = ray.remote(CbWorker).options(
            num_cpus=place.num_cpus,
            num_gpus=place.num_gpus,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy="SPREAD",
        )
        self._living: dict[Any, bool] = {}
        self._free: deque[_Given] = deque()
        self._at_work: dict[int, _Given] = {}
        self._failed_starts = 0
        self._over = False
        self._tasks = [asyncio.ensure_future(self._keep()) for _ in range(size)]
        self._tasks.append(asyncio.ensure_future(self._watch()))

    @property
    def has_workers(self) -> bool:
        """Whether any worker is ready or at work."""
        return bool(self._at_work or self._free)

    def send(self, batch_id: int, payload: bytes) -> None:
        """Give a batch to a worker that is free; there is one, or the batch is lost."""
        while self._free:
            given = self._free.popleft()
            if not given.batch.done():
                self._at_work[batch_id] = given
                given.batch.set_result((batch_id, payload))
                return
        self._tell("lost", batch_id, "no Ray worker was there any more")

    def reopen(self, recipe: bytes, *, tell: Callable[..., None]) -> None:
        """Let the workers, none of which has a batch, make their benches from another recipe.

        What happens to them is from now on told to somebody else.
        """
        self._tell = tell
        if self._failure is not None:  # which was told to who does not listen any more
            tell("gone", self._failure.message, self._failure.hint)
            return
        self._recipe = ray.put(recipe)
        self._failed_starts = 0
        while self._free:
            given = self._free.popleft()
            if not given.batch.done():
                given.batch.set_result(None)

    def abandon(self, batch_id: int) -> None:
        """End the worker that has this batch."""
        if given := self._at_work.pop(batch_id, None):
            given.abandoned.set()

    async def close(self) -> None:
        """Let workers that have nothing to do say goodbye, and end all."""
        self._over = True
        for task in self._tasks:
            task.cancel()
        idle = [actor.close.remote() for actor, is_free in self._living.items() if is_free]
        if idle:
            await asyncio.wait([_future(ref) for ref in idle], timeout=_GOODBYE_S)
        for actor in list(self._living):
            _kill(actor)

    async def _keep(self) -> None:
        """One worker after another in one place."""
        while not self._over:
            actor = self._kind.remote()
            self._living[actor] = False
            try:
                while await self._attend(actor):
                    pass
            finally:
                if not self._over:  # else `close` sees to it
                    del self._living[actor]
                    _kill(actor)

    async def _attend(self, actor: Any) -> bool:
        """A worker with one recipe; whether it can go on with another."""
        recipe = self._recipe
        where = await self._opened(actor)
        if where is None:
            return False
        self._failed_starts = 0
        return recipe is not self._recipe or await self._serve(actor, where)

    async def _opened(self, actor: Any) -> str | None:
        """Where a worker is that has opened its bench; None when it could not."""
        try:
            opening = actor.open.remote(self._recipe, self._size, self._place.env_file)
            where: str = await opening
        except (exceptions.RayTaskError, exceptions.RuntimeEnvSetupError) as error:
            self._give_up(_unusable(error))
        except exceptions.RayError as error:
            self._failed_starts += 1
            if self._failed_starts >= _MOST_FAILED_STARTS:
                words = losses.in_words(error, "getting ready")
                self._give_up(
                    Failure(
                        f"{self._failed_starts} workers in a row ended before they were ready: "
                        f"{words}",
                        "look into the logs of Ray on the node, and at what the system loads",
                    )
                )
            else:
                await asyncio.sleep(_PAUSE_S * self._failed_starts)
        else:
            return where
        return None

    async def _serve(self, actor: Any, where: str) -> bool:
        """Batches, until the worker ends, is ended, or is spent; or True, for another recipe."""
        while True:
            given = _Given(asyncio.get_running_loop().create_future(), asyncio.Event())
            self._free.append(given)
            self._living[actor] = True
            self._tell("free")
            batch = await given.batch
            self._living[actor] = False
            if batch is None:
                return True
            batch_id, payload = batch
            working = _future(actor.work.remote(payload))
            del batch, payload  # Ray has it, and it may be large
            ended = asyncio.ensure_future(given.abandoned.wait())
            await asyncio.wait({working, ended}, return_when=asyncio.FIRST_COMPLETED)
            ended.cancel()
            if given.abandoned.is_set():
                working.cancel()
                return False
            self._at_work.pop(batch_id, None)
            try:
                reply, is_spent = working.result()
            except Exception as error:  # noqa: BLE001 - whatever it is, its batch is replied to
                self._tell("lost", batch_id, losses.in_words(error, where))
                return False
            self._tell("reply", batch_id, reply)
            if is_spent:
                return False

    async def _watch(self) -> None:
        """Give up when for a long time there was no worker that could do anything.

        Unless other crews of this run have the room: these get ready, or their run is over.
        """
        useful = time.monotonic()
        while not self._over:
            if self.has_workers or self._is_crowded():
                useful = time.monotonic()
            elif time.monotonic() - useful > self._place.start_timeout_s:
                self._give_up(await self._starved())
            await asyncio.sleep(_LOOK_S)

    async def _starved(self) -> Failure:
        told = (
            f"no Ray worker got ready in {self._place.start_timeout_s:g} s; "
            f"each asks for {self._place.wanted}"
        )
        asked = asyncio.get_running_loop().run_in_executor(None, cluster.described)
        try:
            has = await asyncio.wait_for(asyncio.shield(asked), _ANSWER_S)
        except Exception:  # noqa: BLE001 - late or refused: it cannot be asked
            return Failure(
                f"{told}, and the head of the cluster does not answer", "see whether it is running"
            )
        hint = "ask for less with num_cpus= or num_gpus=, or wait longer with start_timeout_s="
        return Failure(f"{told}, and {has}", hint)

    def _give_up(self, failure: Failure) -> None:
        if not self._over:
            self._over = True
            self._failure = failure
            self._tell("gone", failure.message, failure.hint)


def _unusable(error: Exception) -> Failure:
    cause = getattr(error, "cause", None)
    if isinstance(cause, EnvFileError):
        return Failure(
            f"a Ray worker could not begin: {cause}",
            "put the file on every node, or set the variables where `ray start` is called",
        )
    lines = [line for line in str(error).splitlines() if line.strip()]
    cause = lines[-1].strip() if lines else type(error).__name__
    if isinstance(error, exceptions.RuntimeEnvSetupError):
        return Failure(f"Ray could not set up the runtime_env of a worker: {cause[:600]}")
    return Failure(
        f"a Ray worker could not begin: {cause[:600]}",
        "install cb-ray, cbcore and the plugins of this run on every node, in the same versions",
    )


def _future(ref: Any) -> asyncio.Future[Any]:
    return asyncio.ensure_future(_awaited(ref))


async def _awaited(ref: Any) -> Any:
    return await ref


def _kill(actor: Any) -> None:
    with contextlib.suppress(exceptions.RayError, ValueError):  # it may be gone already
        ray.kill(actor, no_restart=True)
