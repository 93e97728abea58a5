"""Asking the process that has limits. It is started when it is first needed, and kept."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import threading
from typing import Any

from cb_suites.bounded import child

_PROGRAM = "import sys; sys.path[:] = {!r}; from cb_suites.bounded.child import main; main()"


class FailedError(Exception):
    """What a pattern or a template did wrong: the type of its error, and the message."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message


class TooMuchError(FailedError):
    """A pattern or a template that goes beyond its limits."""


_BEYOND_LIMITS = {"MemoryError", "SizeError", "RecursionError"}


class Workers:
    """Processes for as many threads as ask at once, each for one request at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[subprocess.Popen[bytes]] = []
        self._owner = os.getpid()
        atexit.register(self.close)

    def ask(self, operation: str, *arguments: Any) -> Any:
        """The result. Raises `FailedError`, and `TooMuchError` where a limit was met."""
        request = child.packed((operation, arguments))
        worker = self._taken()
        try:
            answer = _exchange(worker, request)
        except (EOFError, BrokenPipeError):
            raise _ended(_end(worker)) from None
        except BaseException:  # whatever it is, the next answer would be the one to this question
            _end(worker)
            raise
        with self._lock:
            self._idle.append(worker)
        if answer[0] == "done":
            return answer[1]
        _, kind, message = answer
        raise (TooMuchError if kind in _BEYOND_LIMITS else FailedError)(kind, message)

    def _taken(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._owner != os.getpid():  # after a fork they belong to the other process
                self._idle, self._owner = [], os.getpid()
            if self._idle:
                return self._idle.pop()
        return _started()

    def close(self) -> None:
        """End the processes; they start again when needed."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle if self._owner == os.getpid() else ():
            _end(worker)


def _started() -> subprocess.Popen[bytes]:
    path = [entry for entry in sys.path if entry]
    return subprocess.Popen(  # noqa: S603 - this interpreter and our own module
        [sys.executable, "-I", "-c", _PROGRAM.format(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def _exchange(worker: subprocess.Popen[bytes], request: bytes) -> Any:
    assert worker.stdin is not None and worker.stdout is not None  # noqa: S101, PT018 - asked for
    child.send(worker.stdin, request)  # type: ignore[arg-type]
    return child.unpacked(child.receive(worker.stdout))  # type: ignore[arg-type]


def _ended(exit_code: int) -> TooMuchError:
    """Why a process gave no answer."""
    if exit_code == -getattr(signal, "SIGPROF", exit_code):
        return TooMuchError("TimeoutError", f"it takes longer than {child.MOST_CPU_S:g} s")
    return TooMuchError("EOFError", f"it ended the process that ran it ({exit_code})")


def _end(worker: subprocess.Popen[bytes]) -> int:
    """End a process, if it has not ended by itself. Gives what it ended with."""
    worker.kill()
    exit_code = worker.wait()
    for pipe in (worker.stdin, worker.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except BrokenPipeError:
                continue
    return exit_code


WORKERS = Workers()
"""Those of this process."""
