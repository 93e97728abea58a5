"""The process of a run, and what components may do to it: copy it, or end it without a word."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import NoReturn

current = os.getpid()
"""The number of this process. Not a system call, so that it can be compared at every row."""


def _note_fork() -> None:
    global current  # noqa: PLW0603 - there is one process
    current = os.getpid()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def leave_copy(who: str) -> NoReturn:
    """End this process, which is a copy of the run that came back out of a component.

    Whoever calls components compares `current` before and after. The copy must not go on: it
    would make calls again, and write into the store and the reports of the run.
    """
    with contextlib.suppress(OSError):
        os.write(2, f"cb: warning: {who} forked and returned twice: the copy was ended\n".encode())
    os._exit(1)


class HardExitError(BaseException):
    """A component called `os._exit`. Not for the component to catch."""


_guarding = threading.Lock()
_guards = 0
_guarded = current
_really_exit = os._exit


@contextlib.contextmanager
def surviving_exits() -> Iterator[None]:
    """Turn `os._exit` of a component, which would end the run without a word, into an error.

    A process forked from this one ends as it means to. Runs may overlap in several threads.
    """
    global _guards, _guarded, _really_exit  # noqa: PLW0603 - there is one process
    with _guarding:
        if not _guards:
            _guarded = os.getpid()
            _really_exit, os._exit = os._exit, _refused_exit
        _guards += 1
    try:
        yield
    finally:
        with _guarding:
            _guards -= 1
            if not _guards:
                os._exit = _really_exit


def _refused_exit(status: int) -> NoReturn:
    if os.getpid() != _guarded:
        _really_exit(status)
    raise HardExitError(f"it called os._exit({status!r})")
