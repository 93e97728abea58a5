"""A bench that does as it is told, by which executors are tried: answers, dies, hangs, is spent."""

from __future__ import annotations

import os
import pickle
import signal
import threading

import attrs

from cbcore.workers import Recipe

ANSWER, DIE, HANG, SPEND = b"answer", b"die", b"hang", b"spend"
MARK = b" another"
"""What a bench adds to its replies that was made after another."""
HERE = b"here"
"""What a worker replies that should die, and is the process of the test itself."""


@attrs.define
class TrialBench:
    """Replies with its own process, the number of workers it was told of, and what it was sent."""

    workers: int
    home: int
    is_spent: bool = False
    mark: bytes = b""

    def work(self, payload: bytes) -> bytes:
        order = payload.partition(b" ")[0]
        if order in (DIE, HANG) and os.getpid() == self.home:
            return HERE
        if order == DIE:
            os.kill(os.getpid(), signal.SIGKILL)
        if order == HANG:
            threading.Event().wait()
        self.is_spent = order == SPEND
        return b"%d %d %s%s" % (os.getpid(), self.workers, payload, self.mark)

    def close(self) -> None:
        pass


@attrs.frozen
class TrialKit:
    """What the recipe of such a bench unpacks to."""

    home: int
    mark: bytes = b""

    def open(self, workers: int, after: object = None) -> TrialBench:
        return TrialBench(workers, self.home, mark=self.mark)


def trial_recipe(mark: bytes = b"") -> Recipe:
    return Recipe("trial", pickle.dumps(TrialKit(os.getpid(), mark)))
