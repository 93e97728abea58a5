"""Watching a program: what it uses is measured, and its end is made sure of."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from pathlib import Path

import attrs

from cb_code_execution.limits import Limits

_READ_AT_ONCE = 65_536
_LOOK_EVERY_S = 0.05
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_END_WITHIN_S = 30.0
"""How long the kernel may take to end a tree of processes that was killed."""


@attrs.define
class Seen:
    """What was seen of a program. `stopped` says why it was not left to end by itself."""

    verdict: str = ""
    stopped: str = ""
    exit_code: int = 0


def watch(process: subprocess.Popen[bytes], verdict: int, sources: bytes, limits: Limits) -> Seen:
    """Hand a program its sources and follow it to its verdict, its end, or a limit.

    Afterwards its whole tree is killed, and waited for: the pipe closes with the last of it.
    """
    assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - asked for
    seen = Seen()
    waiting = memoryview(sources)
    printed = 0
    deadline = time.monotonic() + limits.time_s
    with selectors.DefaultSelector() as selector:
        for pipe, event in (
            (process.stdin.fileno(), selectors.EVENT_WRITE),
            (process.stdout.fileno(), selectors.EVENT_READ),
            (verdict, selectors.EVENT_READ),
        ):
            os.set_blocking(pipe, False)
            selector.register(pipe, event)
        # A program may close its side of the verdict and go on: then its end is waited for.
        while not seen.verdict and (verdict in selector.get_map() or process.poll() is None):
            remaining = deadline - time.monotonic()
            seen.stopped = _exceeded(process.pid, remaining, printed, limits)
            if seen.stopped:
                break
            for key, event in selector.select(min(remaining, _LOOK_EVERY_S)):
                if event & selectors.EVENT_WRITE:
                    waiting = _sent(key.fd, waiting)
                    if not waiting:
                        selector.unregister(key.fd)
                        process.stdin.close()
                    continue
                chunk = os.read(key.fd, _READ_AT_ONCE)
                if not chunk:
                    selector.unregister(key.fd)
                elif key.fd == verdict:
                    seen.verdict = chunk.decode("utf-8", "replace")
                else:
                    printed += len(chunk)
    seen.exit_code = _end(process)
    return seen


def _exceeded(pid: int, remaining_s: float, printed: int, limits: Limits) -> str:
    """Which limit a program has reached, in words; empty when none."""
    if remaining_s <= 0:
        return "timed out"
    if printed > limits.output_bytes:
        return "too much output"
    return "too much memory" if _memory_bytes(pid) > limits.memory_bytes_of_all else ""


def _memory_bytes(pid: int) -> int:
    """The memory of a process and all that it started, as far as they are still there."""
    total, found = 0, [str(pid)]
    while found:
        process = Path("/proc", found.pop())
        with contextlib.suppress(OSError):
            total += int((process / "statm").read_text().split()[1]) * _PAGE_BYTES
            for children in process.glob("task/*/children"):
                found += children.read_text().split()
    return total


def _sent(pipe: int, data: memoryview) -> memoryview:
    try:
        return data[os.write(pipe, data[:_READ_AT_ONCE]) :]
    except BlockingIOError:
        return data
    except BrokenPipeError:
        return data[:0]


def _end(process: subprocess.Popen[bytes]) -> int:
    """Kill what is left of a program, and wait for all of it."""
    assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - asked for
    with contextlib.suppress(OSError):
        process.stdin.close()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    exit_code = process.wait()
    deadline = time.monotonic() + _END_WITHIN_S
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout.fileno(), selectors.EVENT_READ)
        while selector.select(max(0.0, deadline - time.monotonic())):
            if not os.read(process.stdout.fileno(), _READ_AT_ONCE):
                break
    process.stdout.close()
    return exit_code
