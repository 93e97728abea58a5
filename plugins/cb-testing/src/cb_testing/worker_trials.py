"""A system that does as its example says, by which executors are tried: answers, dies, hangs."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import attrs

from cbcore.components import Built
from cbcore.run.workers import pack_task, pack_worker

ANSWER, DIE, HANG = "answer", "die", "hang"
HERE = "here"
"""The response of a worker that should die or hang, and is the process of the test itself."""


@attrs.frozen
class TrialSystem:
    """Returns what it got, and the number of its process."""

    home: int
    name = "trial"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        do = example["do"]
        if do != ANSWER and os.getpid() == self.home:
            return {"response": HERE}
        if do == DIE:
            os.kill(os.getpid(), signal.SIGKILL)
        if do == HANG:
            threading.Event().wait()
        return {"response": example["text"], "process": os.getpid()}


def pack_trial_worker() -> bytes:
    return pack_worker([Built(TrialSystem(os.getpid()))])


def pack_trial_task(do: str, text: str = "") -> bytes:
    return pack_task(0, {"do": do, "text": text})
