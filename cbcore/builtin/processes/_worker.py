"""What runs in a worker process: one bench, and batch after batch from the pipe."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import sys
import threading
from multiprocessing.connection import wait
from multiprocessing.spawn import prepare

from cbcore.builtin.processes._pipe import WorkerPipe
from cbcore.components import describe_exception
from cbcore.workers import Bench, Recipe, Refusal

READY = b"ready"
REPLY = b"reply"
LAST_REPLY = b"last "
"""What a worker says: that it can begin, and what came of a batch, behind which it may leave."""

ORDER = b"order"
BATCH = b"batch"
"""What it is told: what to make its bench from, the first of all and later instead, and work."""

is_preparing = False
"""Whether the script of the run is being imported here, for what it defines."""


def main(pipe_fd: int, lifeline_fd: int) -> None:
    """Work until the pipe ends, which it does when the run does, or its process is gone."""
    _stand_alone()
    _leave_with(lifeline_fd)
    pipe = WorkerPipe(pipe_fd)
    bench: Bench | None = None
    try:
        while bench is None or not bench.is_spent:
            message = pipe.receive()
            if bench is None or message.startswith(ORDER):
                if bench is not None:
                    bench.close()
                order = pickle.loads(message[len(ORDER) :])  # noqa: S301 - of our own run
                bench = _opened(bench, *order)
                pipe.send(READY)
            else:
                reply = bench.work(message[len(BATCH) :])
                pipe.send((LAST_REPLY if bench.is_spent else REPLY) + reply)
    except (EOFError, OSError):
        pass  # nobody wants anything any more
    finally:
        if bench is not None:
            bench.close()


def _opened(
    before: Bench | None,
    surroundings: dict[str, object],
    recipe: Recipe,
    workers: int,
    memory_bytes: int | None,
) -> Bench:
    global is_preparing  # noqa: PLW0603 - there is one process
    if memory_bytes is not None:
        _limit_memory(memory_bytes)
    is_preparing = True
    try:
        prepare(surroundings)
    except BaseException as error:  # noqa: BLE001 - a script does what it does
        return Refusal(f"a worker cannot import the script of the run: {describe_exception(error)}")
    finally:
        is_preparing = False
    return recipe.open(workers=workers, after=before)


def _stand_alone() -> None:
    """It is in a session of its own already, so that it hears of nobody's Ctrl-C."""
    # Where memory runs out, the system should end a worker, not the run.
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123
        file.write("500")


def _leave_with(lifeline: int) -> None:
    """End this process and what it has started when that of the run is gone, however it went."""
    with contextlib.suppress(OSError):
        _signal_at_end_of(lifeline)

    def watch() -> None:
        wait([lifeline])
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, name="cb-lifeline", daemon=True).start()


def _signal_at_end_of(pipe: int) -> None:
    """Let Linux itself send SIGKILL: a thread cannot run while a call holds the interpreter."""
    if sys.platform != "linux":
        return
    import fcntl

    # Opened anew: who is told belongs to the open file, which all workers have in common.
    pipe = os.open(f"/proc/self/fd/{pipe}", os.O_RDONLY | os.O_NONBLOCK)
    set_signal = 10  # F_SETSIG, which not every Python names
    fcntl.fcntl(pipe, fcntl.F_SETOWN, -os.getpgrp())
    fcntl.fcntl(pipe, set_signal, int(signal.SIGKILL))
    fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)


def _limit_memory(limit_bytes: int) -> None:
    import resource

    # On Linux, what is written to; elsewhere, the nearest there is.
    what = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    _, hard = resource.getrlimit(what)
    most = limit_bytes if hard == resource.RLIM_INFINITY else min(limit_bytes, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(what, (most, hard))
