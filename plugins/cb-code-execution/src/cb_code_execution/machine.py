"""What this machine offers to lock code up with. Every mechanism is tried before it is trusted."""

from __future__ import annotations

import functools
import os
import shutil
import stat
import sys
import tempfile
import threading
from pathlib import Path

from cb_code_execution.limits import Limits
from cb_code_execution.sandbox import SYSTEM_PATHS, Sandbox, SandboxError

MECHANISMS = ("bubblewrap", "landlock")
"""The strongest first."""

UNCONFINED = "none"
_CANDIDATES = ("/usr/bin/python3", "/usr/local/bin/python3", "/bin/python3")
_finding = threading.Lock()

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
assert [name for _, name in socket.if_nameindex() if name != "lo"] == [], "there is a network"
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
    """The interpreter that runs the code, and the folders it needs beside the system's.

    Root runs code as another user, who must be able to read the interpreter: one below
    root's home will not do.
    """
    own = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
    wanted = (os.path.realpath(python),) if python else (own, *_CANDIDATES)
    for path in wanted:
        if not os.access(path, os.X_OK):
            continue
        if shared and os.geteuid() == 0 and not _readable_by_all(path):
            continue
        real = os.path.realpath(path)
        prefix = str(Path(real).parent.parent)
        inside = any(Path(prefix).is_relative_to(p) for p in SYSTEM_PATHS)
        return real, () if inside else (prefix,)
    raise SandboxError(
        f"no Python can be run by another user than root: tried {', '.join(wanted)}",
        hint="install the system's python3, or name one with python=PATH",
    )


def _readable_by_all(path: str) -> bool:
    parents = [Path(path), *Path(path).parents]
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in parents)
