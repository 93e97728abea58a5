"""The process that runs patterns and templates: one request at a time, each within its limits.

It imports nothing of `cb`, so that it is there at once. Whatever takes too long ends the process;
whatever needs too much memory is an error.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import pickle
import re
import signal
import struct
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

MOST_CPU_S = 2.0
"""So much time of a processor one request may take; a busy machine makes no difference."""

MOST_MEMORY = 1_000_000_000
MOST_RESULT = 20_000_000
_HEADER = struct.Struct("<Q")


def packed(value: Any) -> bytes:
    """A value as it is sent."""
    return pickle.dumps(value, protocol=5)


def unpacked(data: bytes) -> Any:
    """A value that was sent."""
    return pickle.loads(data)  # noqa: S301 - from the process at the other end alone


def send(stream: BinaryIO, data: bytes) -> None:
    """Write bytes, with their number before them."""
    stream.write(_HEADER.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: BinaryIO) -> bytes:
    """Bytes that were sent. Raises EOFError at the end."""
    header = stream.read(_HEADER.size)
    if len(header) < _HEADER.size:
        raise EOFError
    (n_bytes,) = _HEADER.unpack(header)
    data = stream.read(n_bytes)
    if len(data) < n_bytes:
        raise EOFError
    return data


def _check_pattern(pattern: str) -> None:
    re.compile(pattern)


def _find(pattern: str, text: str) -> list[Any]:
    return re.findall(pattern, text)


def _replace(pattern: str, replacement: str, text: str, count: int = 0) -> str:
    return re.sub(pattern, replacement, text, count=count)


def _check_template(template: str) -> None:
    from cb_suites.bounded.templates import compiled

    compiled(template)


def _render(template: str, fields: dict[str, Any]) -> str:
    from cb_suites.bounded.templates import compiled

    return compiled(template)(fields)


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "check_pattern": _check_pattern,
    "find": _find,
    "replace": _replace,
    "check_template": _check_template,
    "render": _render,
}


def _answer(request: bytes) -> bytes:
    """What came of it: `("done", value)`, or `("failed", type, message)`."""
    try:
        operation, arguments = unpacked(request)
        answer = packed(("done", _OPERATIONS[operation](*arguments)))
    except MemoryError:
        reason = f"it needs more than {MOST_MEMORY:,} bytes of memory"
        return packed(("failed", "MemoryError", reason))
    except Exception as error:  # noqa: BLE001 - a stranger's pattern or template: it is told
        return packed(("failed", type(error).__name__, str(error)))
    if len(answer) > MOST_RESULT:
        reason = f"the result is larger than {MOST_RESULT:,} bytes"
        return packed(("failed", "SizeError", reason))
    return answer


def _limit_memory(n_bytes: int | None) -> None:
    """Allow so many bytes; None takes the limit back."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (hard if n_bytes is None else n_bytes, hard))


def _limit_time(seconds: float) -> None:
    """End the process after so much work; 0 takes the limit back."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)
    elif seconds:
        faulthandler.dump_traceback_later(seconds, exit=True, file=open(os.devnull, "w"))  # noqa: SIM115, PTH123
    else:
        faulthandler.cancel_dump_traceback_later()


def main() -> None:
    """Answer requests until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asked is interrupted, and ends this
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            request = receive(requests)
        except EOFError:
            return
        _limit_memory(MOST_MEMORY + 8 * len(request))  # a document is large once it is made
        _limit_time(MOST_CPU_S)
        answer = _answer(request)
        _limit_time(0)
        _limit_memory(None)
        send(answers, answer)
