"""Standard streams during a run: only reports belong on standard output."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import Any

_FAR_AWAY = 512
"""Descriptors that are kept get numbers from here on: components may close all the first ones."""


def open_closed_streams() -> None:
    """Give the three standard descriptors something to stand for, where they were closed.

    The next file that is opened, the store for one, would take such a number, and get whatever
    is printed.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # which takes the lowest number that is free
    if sys.stderr is None:
        sys.stderr = _text_stream(2, closefd=False)


@contextlib.contextmanager
def output_for_reports_only() -> Iterator[None]:
    """Send what components print to standard error, by whatever way they print it.

    Afterwards both streams are as they were, also if a component closed or replaced them.
    """
    out, err = sys.stdout, sys.stderr
    if out is not sys.__stdout__ or err is not sys.__stderr__ or err is None:
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
    sys.stdout = _text_stream(os.dup(2), closefd=True, like=err)
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
        return _text_stream(number, closefd=False, like=stream)
    return stream


def _text_stream(number: int, *, closefd: bool, like: Any = None) -> io.TextIOWrapper:
    encoding = getattr(like, "encoding", "utf-8")
    errors = getattr(like, "errors", "backslashreplace")
    return open(number, "w", 1, encoding=encoding, errors=errors, closefd=closefd)


def _flush(stream: Any) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        stream.flush()
