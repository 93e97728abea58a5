"""The machine, the process and the code of a run."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cbcore

__all__ = ()

_ENDED = (b"Z", b"X")


def describe_environment(
    plugins: Mapping[str, str], argv: Sequence[str] | None = None
) -> dict[str, Any]:
    """Describe where a run is made. `argv` is its command; None if it is from Python."""
    machine = platform.uname()  # of which `platform.platform()` asks another process
    return {
        "argv": None if argv is None else list(argv),
        "cwd": str(_find_folder() or ""),
        "host": platform.node(),
        "pid": os.getpid(),
        "process_start": process_start(os.getpid()),
        "platform": f"{machine.system}-{machine.release}-{machine.machine}",
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "git_commit": git_commit(),
        "cbcore": cbcore.__version__,
        "plugins": dict(plugins),
    }


def is_alive(environment: Mapping[str, Any]) -> bool:
    """Whether the process of a run may still be there. On another machine, nobody can tell."""
    if environment.get("host") != platform.node():
        return True
    if environment.get("pid") == os.getpid():
        return False  # whoever asks is another process that was given the same number
    begun, known = process_start(environment.get("pid")), environment.get("process_start")
    return begun is not None and not (begun and known and begun != known)


def process_start(pid: Any) -> str | None:
    """When a process began, which tells it from a later one of the same number.

    None if it has ended; empty if nobody can tell more than that it may be there.
    """
    if type(pid) is not int or pid <= 0:
        return ""
    try:
        # Behind the name, which may be anything: the state first, the start as the twentieth.
        facts = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2].split()
        return None if facts[0] in _ENDED else facts[19].decode()
    except (OSError, IndexError):
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except (OSError, OverflowError):
        pass
    return ""


def count_processors() -> int:
    """The processors that this process may use, if the system can tell."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def _find_folder() -> Path | None:
    """The working directory; None if it was deleted."""
    try:
        return Path.cwd()
    except OSError:
        return None


def git_commit() -> str | None:
    """The commit checked out in the working directory, marked if files differ from it."""
    here = _find_folder()
    if here is None:
        return None
    in_git = any((folder / ".git").exists() for folder in (here, *here.parents))
    if not in_git and "GIT_DIR" not in os.environ:
        return None  # git would say the same, and take a process for it
    import subprocess

    command = ["git", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=+changes"]
    try:
        found = subprocess.run(  # noqa: S603 - fixed arguments, no shell; whichever git there is
            command, capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return found.stdout.strip() or None
