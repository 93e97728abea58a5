"""What passes between a run and the workers of an executor, and what a worker does with it.

An executor is a transport. Its `Crew` carries batches to workers and replies back, and can end
the worker that has a batch; what is in them is none of its business. Order, deadlines, retries,
the store, budgets and limits stay with the run. A worker, wherever it is, does this:

    bench = recipe.open(workers=crew_size)      # once, when it starts
    reply = bench.work(batch.payload)           # for each batch, one at a time
    if bench.is_spent: ...                      # leave, and let another worker take the place
    bench.close()

One that stays for the next system of the run closes its bench and opens the next recipe after it:

    bench = recipe.open(workers=crew_size, after=bench)
"""

from __future__ import annotations

import json
from typing import Protocol, runtime_checkable

import attrs

import cbcore
from cbcore.components import describe_exception

__all__ = ("Batch", "Bench", "Recipe", "Reply")


@attrs.frozen
class Batch:
    """Examples on their way to a worker. `n_examples` says how many; what they are is packed."""

    id: int
    payload: bytes = attrs.field(repr=lambda value: f"{len(value)} bytes")
    n_examples: int = 1


@attrs.frozen
class Reply:
    """What became of a batch: the `payload` of its worker, or why it was `lost`, in words.

    A batch is lost when its worker ended, whatever the reason: a crash, a signal, a machine that
    is gone. What an example itself does wrong is in the payload.
    """

    batch_id: int
    payload: bytes | None = attrs.field(
        default=None, repr=lambda value: "None" if value is None else f"{len(value)} bytes"
    )
    lost: str | None = None


@runtime_checkable
class Bench(Protocol):
    """A system and its evaluators, made in a worker and ready for work.

    `work` takes the payload of a batch and returns that of its reply. It never raises: where the
    worker cannot do anything at all, every reply says why. It is not to be called in two threads
    at once. `is_spent` says, after a reply, that a call which took too long is still running in
    this process: end it, and start another worker in its place.
    """

    @property
    def is_spent(self) -> bool: ...

    def work(self, payload: bytes) -> bytes: ...

    def close(self) -> None: ...


@attrs.frozen
class Refusal:
    """Every reply of a worker that cannot do anything at all: what is wrong with it."""

    message: str
    hint: str | None = None
    is_spent: bool = False

    def work(self, payload: bytes) -> bytes:
        """The reply to any batch, as bytes that every version of the core can read."""
        return _REFUSED + json.dumps([self.message, self.hint]).encode()

    def close(self) -> None:
        """There is nothing to close."""

    @classmethod
    def read(cls, payload: bytes) -> Refusal | None:
        """The refusal that a reply is; None for one with results."""
        if not payload.startswith(_REFUSED):
            return None
        message, hint = json.loads(payload[len(_REFUSED) :])
        return cls(message, hint)


_REFUSED = b"refused "


@attrs.frozen
class Recipe:
    """What a worker makes its bench from: specs, versions and settings, pickled.

    It holds no secret: what was taken from the environment is taken from that of the worker.
    Unpickling a recipe imports nothing of anybody's; `open` does. `name` is that of the system,
    for logs and process titles.
    """

    name: str
    payload: bytes = attrs.field(repr=lambda value: f"{len(value)} bytes")
    cbcore: str = cbcore.__version__

    def open(self, *, workers: int = 1, after: Bench | None = None) -> Bench:
        """Make system and evaluators, and warm the system up. Takes what that takes.

        `workers` is the number of workers, `Crew.size`: limits that hold for all of them
        together are divided by it. `after` is the bench that this worker had before, and has
        closed: evaluators that are the same go on with their work. Never raises but for an
        interrupt: where something is wrong with this worker, such as another version of a
        plugin, it is a `Refusal`.
        """
        if self.cbcore != cbcore.__version__:
            told = f"the worker has cbcore {cbcore.__version__}, and the run {self.cbcore}"
            return Refusal(told, f"install cbcore=={self.cbcore} where the workers are")
        import pickle

        try:
            kit = pickle.loads(self.payload)  # noqa: S301 - of our own run
            bench: Bench = kit.open(workers, after)
        except Exception as error:  # noqa: BLE001 - told as the reason of the refusal
            return Refusal(f"a worker cannot begin: {describe_exception(error)}")
        return bench
