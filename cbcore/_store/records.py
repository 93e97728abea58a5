"""What is recorded of each run, so that it can be listed, continued and reproduced."""

from __future__ import annotations

import os
import platform
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

import attrs

from cbcore.results import RunConfig

_OWNER = re.compile("[0-9a-f]{16}")
_ENDED = (b"Z", b"X")
RESUMABLE_STATES = ("running", "interrupted", "failed")


class Manifest(TypedDict, total=False):
    """All that is needed to repeat a run, and in the end what came of it.

    `datasets` are their specs; `argv` and they are None where they were given from Python.
    `places` are the shelves of the store that hold its rows and texts, and `scores` the mean of
    the main score of each system. An `untrusted` one came from a file that nobody vouched for:
    what it names is shown, and neither run nor read.
    """

    config: RunConfig
    argv: list[str] | None
    datasets: list[str] | None
    identities: dict[str, str | None]
    places: dict[str, Any]
    fingerprints: dict[str, str]
    host: dict[str, Any]
    cwd: str
    git_commit: str | None
    plugins: dict[str, str]
    rows: dict[str, int]
    scores: dict[str, float | None]
    reason: str
    untrusted: bool


@attrs.define(eq=False, repr=False)
class RunRecord:
    """One run: when, in what state, and a manifest of all that is needed to repeat it."""

    run_id: str
    started: str
    manifest: Manifest
    state: str = "running"
    ended: str = ""

    def finish(self, state: str, reason: str, total: int, errored: int, recalled: int = 0) -> None:
        """Note how the run ended and what came of it."""
        self.state = state
        self.ended = now()
        self.manifest["rows"] = {
            "total": total,
            "errored": errored,
            "ok": total - errored,
            "recalled": recalled,
        }
        if reason:
            self.manifest["reason"] = reason

    @property
    def is_whole(self) -> bool:
        """Whether the manifest has all that lists of runs show; damage may leave anything."""
        manifest = self.manifest
        config = manifest.get("config")
        if not isinstance(config, dict) or not isinstance(manifest.get("host", {}), dict):
            return False
        parts = [config.get(kind) for kind in ("systems", "datasets")]
        if "places" in manifest and not _are_places(manifest["places"]):
            return False
        return isinstance(manifest.get("rows", {}), dict) and all(
            isinstance(some, list)
            and all(isinstance(part, dict) and "name" in part for part in some)
            for some in parts
        )

    @property
    def process(self) -> str:
        """The process of the run, for people."""
        host = self.manifest.get("host", {})
        return f"process {host.get('pid')} of {host.get('name')}"

    @property
    def shown_state(self) -> str:
        """The state, where a run that says it is running but whose process is gone has crashed."""
        host = self.manifest.get("host", {})
        if self.state != "running" or host.get("name") != platform.node():
            return self.state
        if host.get("pid") == os.getpid():
            return "crashed"  # whoever asks is another process that was given the same number
        begun, known = process_start(host.get("pid")), host.get("process_start")
        is_another = bool(begun and known and begun != known)
        return "crashed" if begun is None or is_another else "running"


def _are_places(told: Any) -> bool:
    """Whether this names shelves, of the rows and outputs of the same systems."""
    if not isinstance(told, dict):
        return False
    examples, earlier = told.get("examples"), told.get("earlier")
    if not isinstance(examples, list) or not isinstance(earlier, list):
        return False
    attempts: list[Any] = [told.get("rows"), told.get("outputs"), *earlier]
    if not all(isinstance(attempt, dict) for attempt in attempts):
        return False
    owners = [*examples, *(owner for attempt in attempts for owner in attempt.values())]
    named = all(isinstance(owner, str) and _OWNER.fullmatch(owner) for owner in owners)
    return named and attempts[0].keys() <= attempts[1].keys()


def process_start(pid: Any) -> str | None:
    """When a process began, which tells it from a later one of the same number.

    None where it has ended, also if nobody has asked for its exit code yet; empty where nobody
    can tell more than that it may be there.
    """
    if type(pid) is not int or pid <= 0:
        return ""
    try:
        # Behind the name, which may be anything: the state first, the start as the twentieth.
        told = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2].split()
        return None if told[0] in _ENDED else told[19].decode()
    except (OSError, IndexError):
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except (OSError, OverflowError):
        pass
    return ""


def now() -> str:
    """The time in UTC, to the second, as ISO 8601."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def describe_environment(plugins: Mapping[str, str]) -> Manifest:
    """The machine, the working directory and the code a run uses."""
    machine = platform.uname()  # of which `platform.platform()` asks another process
    return {
        "host": {
            "name": platform.node(),
            "pid": os.getpid(),
            "process_start": process_start(os.getpid()),
            "platform": f"{machine.system}-{machine.release}-{machine.machine}",
            "python": platform.python_version(),
            "cpus": os.cpu_count(),
        },
        "cwd": str(_working_folder() or ""),
        "git_commit": git_commit(),
        "plugins": dict(plugins),
    }


def _working_folder() -> Path | None:
    """The working directory; None if it was deleted."""
    try:
        return Path.cwd()
    except OSError:
        return None


def git_commit() -> str | None:
    """The commit checked out in the working directory, marked when files differ from it."""
    here = _working_folder()
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
