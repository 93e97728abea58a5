"""What runs in an actor: a bench that is opened once, and one batch after another."""

from __future__ import annotations

import os
import pickle
import socket
from typing import TYPE_CHECKING, cast

from cb_ray import env_file

if TYPE_CHECKING:
    from cbcore.workers import Bench


class CbWorker:
    """An actor's methods. Everything that a component does wrong is inside a reply."""

    def __init__(self) -> None:
        self._bench: Bench | None = None

    def open(self, recipe: bytes, workers: int, variables: str | None) -> str:
        """Make the bench, after the one it had; returns where that is.

        `variables` is a file of this node whose variables are set before.
        """
        if self._bench is not None:
            self._bench.close()
        if variables is not None:
            os.environ.update(env_file.read(variables))
        # Not unpickled before: a worker without this core shall say so, and not end.
        made = pickle.loads(recipe)  # noqa: S301 - of our own run
        self._bench = made.open(workers=workers, after=self._bench)
        return f"process {os.getpid()} on {socket.gethostname()}"

    def work(self, payload: bytes) -> tuple[bytes, bool]:
        """The reply to a batch, and whether this process is spent and has to be replaced."""
        bench = cast("Bench", self._bench)  # opened before the first batch
        return bench.work(payload), bench.is_spent

    def close(self) -> None:
        """Let go of what the components hold."""
        if self._bench is not None:
            self._bench.close()
