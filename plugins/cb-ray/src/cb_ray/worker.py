"""What runs in an actor: a bench that is opened once, and one batch after another."""

from __future__ import annotations

import os
import pickle
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from cbcore.workers import Bench


class CbWorker:
    """An actor's methods. Everything that a component does wrong is inside a reply."""

    def __init__(self) -> None:
        self._bench: Bench | None = None

    def open(self, recipe: bytes, workers: int, environment: Mapping[str, str]) -> str:
        """Make the bench, with these variables in the environment; returns where that is."""
        os.environ.update(environment)
        # Not unpickled before: a worker without this core shall say so, and not end.
        self._bench = pickle.loads(recipe).open(workers=workers)  # noqa: S301 - of our own run
        return f"process {os.getpid()} on {socket.gethostname()}"

    def work(self, payload: bytes) -> tuple[bytes, bool]:
        """The reply to a batch, and whether this process is spent and has to be replaced."""
        bench = cast("Bench", self._bench)  # opened before the first batch
        return bench.work(payload), bench.is_spent

    def close(self) -> None:
        """Let go of what the components hold."""
        if self._bench is not None:
            self._bench.close()
