"""A system that does to its worker what a task says, by which executors are tried."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import attrs

from cbcore.assembly import Built
from cbcore.run.workers import pack_task, pack_worker, read_reply

ANSWER, DIE, HANG = "answer", "die", "hang"
HERE = "here"
"""The answer of a worker that should die or hang, and is the process of the test itself."""


@attrs.frozen
class Trial:
    """Answers with its process and with the text of the task, or does to its process as told."""

    home: int
    name: str = "trial"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        order = example["order"]
        if order != ANSWER and os.getpid() == self.home:
            return {"response": HERE}
        if order == DIE:
            os.kill(os.getpid(), signal.SIGKILL)
        if order == HANG:
            threading.Event().wait()
        return {"response": example["text"], "process": os.getpid()}


def make_worker() -> bytes:
    """What an executor opens its workers with."""
    return pack_worker([Built(Trial(os.getpid()))])


def make_task(order: str, text: str = "") -> bytes:
    """A call of the trial system, which is the first component of the worker."""
    return pack_task(0, {"order": order, "text": text})


def read_output(reply: bytes) -> dict[str, Any]:
    """What the trial system returned. Raises what it raised, and for bytes that are no reply."""
    call = read_reply(reply)
    if call.error is not None:
        raise call.error
    return dict(call.output)
