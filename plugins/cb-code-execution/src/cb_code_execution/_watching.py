"""Watching a program: its output is counted, its time is measured, and its end is made sure of."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time

import attrs

_READ_AT_ONCE = 65_536
_END_WITHIN_S = 30.0
"""How long the kernel may take to end a tree of processes that was killed."""


@attrs.define
class Seen:
    """What was seen of a program. `stopped` says why it was not left to end by itself."""

    verdict: str = ""
    stopped: str = ""
    exit_code: int = 0


def watch(
    process: subprocess.Popen[bytes],
    verdict: int,
    sources: bytes,
    time_s: float,
    output_bytes: int,
) -> Seen:
    """Hand a program its sources and follow it to its verdict, its end, or a limit.

    Afterwards its whole tree is killed, and waited for: the pipe closes with the last of it.
    """
    assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - asked for
    seen = Seen()
    waiting = memoryview(sources)
    printed = 0
    deadline = time.monotonic() + time_s
    with selectors.DefaultSelector() as selector:
        for pipe, event in (
            (process.stdin.fileno(), selectors.EVENT_WRITE),
            (process.stdout.fileno(), selectors.EVENT_READ),
            (verdict, selectors.EVENT_READ),
        ):
            os.set_blocking(pipe, False)
            selector.register(pipe, event)
        while verdict in selector.get_map() and not seen.verdict:
            remaining = deadline - time.monotonic()
            if remaining <= 0 or printed > output_bytes:
                seen.stopped = "timed out" if remaining <= 0 else "too much output"
                break
            for key, event in selector.select(remaining):
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
    is_ending = not seen.verdict and not seen.stopped
    seen.exit_code = _end(process, _END_WITHIN_S if is_ending else 0.0)
    return seen


def _sent(pipe: int, data: memoryview) -> memoryview:
    try:
        return data[os.write(pipe, data[:_READ_AT_ONCE]) :]
    except BlockingIOError:
        return data
    except BrokenPipeError:
        return data[:0]


def _end(process: subprocess.Popen[bytes], patience_s: float) -> int:
    """Let a program that is about to end do so, kill what is left, and wait for all of it."""
    assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - asked for
    with contextlib.suppress(OSError):
        process.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(patience_s)
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
