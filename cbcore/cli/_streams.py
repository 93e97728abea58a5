"""The standard streams of a process, whichever of them it was started without.

A stream that is closed when Python starts is None, which nobody who prints expects, and the next
file that is opened gets its number: what is written to standard output would end in that file.
"""

from __future__ import annotations

import errno
import os
import sys


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


def give_output_up() -> None:
    """Let what could not be written go, so that the end of the process does not try again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
