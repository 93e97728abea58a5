"""What was found out about this environment's plugins, kept in one file between processes.

It saves time and nothing else: what cannot be read is no memory, and what cannot be written is
found out again. Processes that write at the same time take turns, so that none loses what
another learnt.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cbcore
from cbcore.plugins._plugin import Plugin, stamp_of

_BELIEVED_S = 3600
"""For how long a plugin that took too long is not tried again: that is costly to find out."""
_MOST_BYTES = 64 * 1024 * 1024
_PATIENCE_S = 2.0


def cache_folder() -> Path:
    """Where what is found out once is remembered, for all environments of a user."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    # Unlike Path.home(), this does not raise for a user without a home.
    root = Path(base) if base else Path(os.path.expanduser("~")) / ".cache"  # noqa: PTH111
    return root / "cb"


def memory_path() -> Path:
    """Where what is known of this environment's plugins is remembered."""
    place = f"{sys.prefix} {sys.version_info[:2]}".encode()
    import zlib

    return cache_folder() / f"plugins-{zlib.crc32(place):08x}.json"


def full_stamp(plugin: Plugin) -> str:
    """What changes when a plugin or the core does."""
    return f"{cbcore.__version__} {plugin.version} {plugin.location} {stamp_of(plugin)}"


def still_believed(failed_at: float | None) -> bool:
    """Whether a failure of that time still counts, although its cause may be gone."""
    return 0 <= time.time() - float(failed_at or 0) < _BELIEVED_S


def recall(path: Path | None = None) -> dict[str, Any]:
    """What is remembered; nothing where it cannot be read."""
    try:
        memory = json.loads(_content(path or memory_path()))
    except (OSError, ValueError, RecursionError):
        return {}
    return memory if isinstance(memory, dict) else {}


def section(memory: dict[str, Any], name: str) -> dict[str, Any]:
    """A part of the memory; empty where it is not what it should be."""
    part = memory.get(name)
    return part if isinstance(part, dict) else {}


def update(change: Callable[[dict[str, Any]], None]) -> None:
    """Let `change` alter what is remembered by now, and write it down."""
    path = memory_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _turn(path.parent):
            memory = recall(path)
            change(memory)
            temporary = path.with_suffix(f".{os.getpid()}")
            temporary.write_text(json.dumps(memory), encoding="utf-8")
            temporary.replace(path)
    except OSError:
        pass  # a read-only home only costs time


def _content(path: Path) -> bytes:
    """The bytes of a file; what is none (a pipe would never end) or too large is not read."""
    # Opening a pipe nobody writes to would wait for ever.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > _MOST_BYTES:
            raise OSError(f"{path} is no file of ours")
        return file.read()


@contextlib.contextmanager
def _turn(folder: Path) -> Iterator[None]:
    """Keep other processes from writing meanwhile, where the system has such locks."""
    try:
        import fcntl
    except ImportError:  # not on Windows, where a lost note is found out again
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        until = time.monotonic() + _PATIENCE_S
        while time.monotonic() < until:  # one that was stopped meanwhile stops nobody else
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                time.sleep(0.005)
        yield
    finally:
        os.close(descriptor)
