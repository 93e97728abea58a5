"""Processes that compare answers, each for one thread at a time, killed when they take too long."""

from __future__ import annotations

import atexit
import json
import os
import select
import subprocess
import sys
import threading
import time

from cb_scorers.math import _worker
from cbcore.exceptions import MissingScoreError

START_WITHIN_S = 120.0
"""The first comparison of a process waits for its imports, however slow the machine is."""


class Workers:
    """As many processes as there are processors, started when they are first needed."""

    def __init__(self, most: int | None = None) -> None:
        self._free = threading.Semaphore(most or os.cpu_count() or 1)
        self._idle: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()
        atexit.register(self.close)

    def equal(self, gold: str, answer: str, timeout_s: float) -> bool:
        """Whether the answers are equal; raises `MissingScoreError` when that cannot be told."""
        with self._free:
            with self._lock:
                worker = self._idle.pop() if self._idle else None
            worker = worker or self._started()
            try:
                told = _ask(worker, [gold, answer], timeout_s)
            except BaseException:
                _end(worker)
                raise
            with self._lock:
                self._idle.append(worker)
        if "error" in told:
            raise MissingScoreError(f"the answers could not be compared: {told['error']}")
        return bool(told["equal"])

    def _started(self) -> subprocess.Popen[bytes]:
        worker = subprocess.Popen(  # noqa: S603 - this interpreter and our own file
            [sys.executable, _worker.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        try:
            _ask(worker, ["1", "1"], START_WITHIN_S)
        except BaseException:
            _end(worker)
            raise
        return worker

    def close(self) -> None:
        """End the processes; they start again when needed."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            _end(worker)


def _ask(
    worker: subprocess.Popen[bytes], question: list[str], timeout_s: float
) -> dict[str, object]:
    assert worker.stdin is not None and worker.stdout is not None  # noqa: S101, PT018 - asked for
    deadline = time.monotonic() + timeout_s
    line = b""
    try:
        worker.stdin.write(json.dumps(question).encode() + b"\n")
        worker.stdin.flush()
        while not line.endswith(b"\n"):
            left = max(0.0, deadline - time.monotonic())
            if not select.select([worker.stdout], [], [], left)[0]:
                raise MissingScoreError(f"comparing the answers took longer than {timeout_s:g} s")
            chunk = os.read(worker.stdout.fileno(), 65_536)
            if not chunk:
                raise MissingScoreError("comparing the answers ended the process that did it")
            line += chunk
    except BrokenPipeError as error:
        raise MissingScoreError("the process that compares answers has ended") from error
    told: dict[str, object] = json.loads(line)
    return told


def _end(worker: subprocess.Popen[bytes]) -> None:
    worker.kill()
    worker.wait()
    for pipe in (worker.stdin, worker.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except BrokenPipeError:
                continue
