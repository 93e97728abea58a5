"""Temporary files whose owner is known to live, so that what a killed process left can go."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


def hold(descriptor: int, *, wait: bool = True) -> bool:
    """Mark an open file as in use, until it is closed or its process is gone, however.

    False where somebody else holds it, unless that is waited for, and where there are no locks.
    Whoever made a file has to look whether it is still there afterwards: see `abandoned`.
    """
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except (ImportError, OSError):
        return False
    return True


@contextlib.contextmanager
def abandoned(path: Path) -> Iterator[bool]:
    """Whether a file is held by no process any more, for as long as one is inside.

    False where nobody can tell.
    """
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:
        yield False
        return
    try:
        yield hold(descriptor, wait=False)
    finally:
        os.close(descriptor)


def entries(folder: Path, prefix: str) -> list[Path]:
    """What is in a folder under a name that begins so; nothing where it cannot be read."""
    try:
        return [path for path in folder.iterdir() if path.name.startswith(prefix)]
    except OSError:
        return []
