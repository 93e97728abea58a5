"""What this machine offers to lock code up with. Every mechanism is tried before it is trusted."""

from __future__ import annotations

import functools
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from cb_code_execution.limits import Limits
from cb_code_execution._server import SYSTEM_PATHS
from cb_code_execution.sandbox import Sandbox, SandboxError

MECHANISMS = ("bubblewrap", "landlock")
"""The strongest first."""

UNCONFINED = "none"
_CANDIDATES = ("/usr/bin/python3", "/usr/local/bin/python3", "/bin/python3")
_finding = threading.Lock()
_PARTS = ("bin", "lib", "lib64", "pyvenv.cfg")
_TELL_WHERE = """
import json, sys
folders = sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix
print(json.dumps([sys.executable, *folders]))
"""

# Holds when the program sees neither the file it is told of, nor a network, nor our environment.
_LOOK_FOR_WAYS_OUT = """
import os, socket
assert "CB_SANDBOX_PROBE" not in os.environ
assert os.getuid() != 0
for path in ({secret!r}, "/etc/passwd", "/proc/1/environ"):
    try:
        open(path).close()
    except OSError:
        continue
    raise AssertionError(f"{{path}} can be read")

"""


def find(
    limits: Limits, python: str | None = None, mechanisms: tuple[str, ...] = MECHANISMS
) -> Sandbox:
    """A sandbox by the first of these mechanisms that works here; raises `SandboxError`."""
    with _finding:
        mechanism, interpreter, prefixes = _tried(python, mechanisms)
    return Sandbox(mechanism, interpreter, prefixes, limits)


def unconfined(limits: Limits, python: str | None = None) -> Sandbox:
    """Limits, and no sandbox."""
    interpreter, prefixes = _interpreter(python, shared=False)
    return Sandbox(UNCONFINED, interpreter, prefixes, limits)


@functools.lru_cache(maxsize=8)
def _tried(python: str | None, mechanisms: tuple[str, ...]) -> tuple[str, str, tuple[str, ...]]:
    problems = []
    interpreter, prefixes = _interpreter(python, shared=True)
    for mechanism in mechanisms:
        problem = _problem(Sandbox(mechanism, interpreter, prefixes))
        if problem is None:
            return mechanism, interpreter, prefixes
        problems.append(f"{mechanism}: {problem}")
    raise SandboxError(
        "no sandbox works on this machine, and code is not run without one: install bubblewrap, "
        f"or give --allow-unsandboxed if the code can be trusted ({'; '.join(problems)})"
    )


def _problem(sandbox: Sandbox) -> str | None:
    """Why a sandbox cannot be used, or None after it held against a look for ways out."""
    if sys.platform != "linux":
        return "it needs Linux"
    if sandbox.mechanism == "bubblewrap" and shutil.which("bwrap") is None:
        return "the command bwrap is not installed"
    with tempfile.TemporaryDirectory(prefix="cb-probe-") as folder:
        Path(folder).chmod(0o755)
        secret = Path(folder, "secret")
        secret.write_text("secret")
        try:
            outcome = sandbox.run("", _LOOK_FOR_WAYS_OUT.format(secret=str(secret)))
        except SandboxError as error:
            return error.message
    return None if outcome.passed else f"{outcome.status}: {outcome.message}"


def _interpreter(python: str | None, *, shared: bool) -> tuple[str, tuple[str, ...]]:
    """The interpreter that runs the code, and what it has to read beside the system's folders.

    Root runs code as another user, who must be able to read the interpreter: one below
    root's home will not do.
    """
    own = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
    wanted = (python,) if python else (own, *map(os.path.realpath, _CANDIDATES))
    problem = "is no Python that can be run"
    for command in wanted:
        found = shutil.which(os.path.expanduser(command))  # noqa: PTH111 - a command, not a path
        installed = _installed(found) if found else None
        if installed is None:
            continue
        executable, prefixes = installed
        needed = (executable, os.path.realpath(executable), *prefixes)
        if shared and os.geteuid() == 0 and not all(map(_readable_by_all, needed)):
            problem = "cannot be read by another user than root, who is to run the code"
            continue
        return executable, prefixes
    if python:
        raise SandboxError(f"python={python} {problem}")
    raise SandboxError(
        f"no Python can be run by another user than root: tried {', '.join(wanted)}",
        hint="install the system's python3, or name one with python=PATH",
    )


@functools.lru_cache(maxsize=8)
def _installed(command: str) -> tuple[str, tuple[str, ...]] | None:
    """The interpreter behind a command, and what it consists of outside the system's folders.

    Asked of itself: a virtual environment has packages of its own, and a standard library
    elsewhere. Of a folder that it is installed in, only the parts that are Python's are taken,
    as that may be somebody's home.
    """
    try:
        asked = subprocess.run(  # noqa: S603 - the interpreter that the user names
            [command, "-I", "-c", _TELL_WHERE], capture_output=True, timeout=60, check=True
        )
        executable, *folders = json.loads(asked.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    parts = [Path(f, part) for f in dict.fromkeys(folders) for part in _PARTS]
    real = Path(os.path.realpath(executable))
    prefixes = [str(part) for part in (*parts, real) if part.exists() and not _is_system(part)]
    return executable, tuple(prefixes)


def _is_system(path: Path) -> bool:
    return any(path.is_relative_to(system) for system in SYSTEM_PATHS)


def _readable_by_all(path: str) -> bool:
    parents = [Path(path), *Path(path).parents]
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in parents if parent.is_dir())
