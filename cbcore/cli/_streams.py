"""The standard streams: there when the process starts, and for reports alone during a run.

A stream that is closed when Python starts is None, which nobody who prints expects, and the next
file that is opened gets its number: what is written to standard output would end in that file.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
from collections.abc import Iterator
from typing import Any, TypeGuard

from cbcore.cli._guarded import guarded, unguarded

_FAR_AWAY = 512
"""Descriptors that are kept get numbers from here on: components may close all the first ones."""


def hold_standard_streams() -> None:
    """Put something in the place of each standard stream that is closed.

    Input is empty and errors go nowhere. Output that was asked for must not be lost in silence:
    writing it fails, as it does for programs that are not written in Python.
    """
    # In this order: a file that is opened gets the lowest number that is free.
    for number, mode in enumerate((os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, mode), True)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def is_closed_output(error: BaseException) -> bool:
    """Whether it is what writing raises when the process was started without an output."""
    was_closed = sys.__stdout__ is None
    return was_closed and isinstance(error, OSError) and error.errno == errno.EBADF


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def is_full_output(error: BaseException) -> TypeGuard[OSError]:
    """Whether it is what writing raises when a disk is full: of a file it would name that."""
    return isinstance(error, OSError) and error.errno in _NO_ROOM and error.filename is None


def give_output_up() -> None:
    """Let what could not be written go, so that the end of the process does not try again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextlib.contextmanager
def output_for_reports_only() -> Iterator[None]:
    """Send what components print to standard error, by whatever way they print it.

    Afterwards both streams are as they were, also if a component closed or replaced them.
    """
    out, err = sys.stdout, sys.stderr
    behind_out, behind_err = unguarded(out), unguarded(err)
    if behind_out is not sys.__stdout__ or behind_err is not sys.__stderr__ or err is None:
        # Somebody else has redirected them, and keeps what is written.
        try:
            with contextlib.redirect_stdout(err):
                yield
        finally:
            sys.stderr = err
        return
    _flush(out)
    kept = {number: _kept(number) for number in (1, 2)}
    os.dup2(2, 1)
    # A stream of its own: if it is closed, standard error is not.
    sys.stdout = guarded(_text_stream(os.dup(2), closefd=True, like=err))
    try:
        yield
    finally:
        _flush(out)  # what was printed by ways round `sys.stdout` and is waiting still
        for number, copy in kept.items():
            with contextlib.suppress(OSError):
                os.dup2(copy, number)
                os.close(copy)
        sys.stdout, sys.stderr = _usable(out, 1), _usable(err, 2)


def _kept(number: int) -> int:
    try:
        import fcntl

        return fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, _FAR_AWAY)
    except (ImportError, OSError):
        return os.dup(number)


def _usable(stream: Any, number: int) -> Any:
    if stream is not None and stream.closed:
        return guarded(_text_stream(number, closefd=False, like=stream))
    return stream


def _text_stream(number: int, *, closefd: bool, like: Any = None) -> io.TextIOWrapper:
    encoding = getattr(like, "encoding", "utf-8")
    errors = getattr(like, "errors", "backslashreplace")
    return open(number, "w", 1, encoding=encoding, errors=errors, closefd=closefd)


def _flush(stream: Any) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        stream.flush()
