"""What runs in a worker process: one bench, and batch after batch from the pipe."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait

from cbcore.workers import Recipe

READY = b"ready"
REPLY = b"reply"
LAST_REPLY = b"last "
"""What a worker says: that it can begin, and what came of a batch, behind which it may leave."""


def serve(connection: Connection, recipe: Recipe, workers: int, memory_bytes: int | None) -> None:
    """Work until the pipe ends, which it does when the run does, or its process is gone."""
    _stand_alone()
    _leave_with_parent()
    if memory_bytes is not None:
        _limit_memory(memory_bytes)
    bench = recipe.open(workers=workers)
    try:
        connection.send_bytes(READY)
        while not bench.is_spent:
            reply = bench.work(connection.recv_bytes())
            connection.send_bytes((LAST_REPLY if bench.is_spent else REPLY) + reply)
    except (EOFError, OSError):
        pass  # nobody wants anything any more
    finally:
        bench.close()


def _stand_alone() -> None:
    """A group of processes of its own, which is ended as a whole, and by nobody's Ctrl-C."""
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    with contextlib.suppress(OSError):
        os.dup2(2, 1)  # standard output is for the results of the run
    # Where memory runs out, the system should end a worker, not the run.
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123
        file.write("500")


def _leave_with_parent() -> None:
    """End this process and what it has started when that of the run is gone, however it went."""
    parent = parent_process()
    if parent is None:
        return
    sentinel = parent.sentinel
    with contextlib.suppress(OSError):
        _signal_at_end_of(sentinel)

    def watch() -> None:
        wait([sentinel])
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, name="cb-parent", daemon=True).start()


def _signal_at_end_of(pipe: int) -> None:
    """Let Linux itself send SIGKILL: a thread cannot run while a call holds the interpreter."""
    if sys.platform != "linux":
        return
    import fcntl

    set_signal = 10  # F_SETSIG, which the module does not name everywhere
    fcntl.fcntl(pipe, fcntl.F_SETOWN, -os.getpgrp() if os.getpgrp() == os.getpid() else os.getpid())
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
