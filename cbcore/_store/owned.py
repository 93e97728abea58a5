"""Temporary files whose owner is known to live, so that what a killed process left can go."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


def hold(descriptor: int) -> bool:
    """Mark an open file as in use, until it is closed or its process is gone, however.

    False where somebody else holds it, and on machines and file systems without locks.
    """
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def is_abandoned(path: Path) -> bool:
    """Whether a file is held by no process any more; False where nobody can tell."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        return hold(descriptor)
    finally:
        os.close(descriptor)


def entries(folder: Path, prefix: str) -> Iterator[Path]:
    """What is in a folder under a name that begins so; nothing where it cannot be read."""
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        for entry in found:
            if entry.name.startswith(prefix):
                yield folder / entry.name
