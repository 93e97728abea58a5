"""What this machine offers to lock code up with. Every mechanism is tried before it is trusted."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import platform
import pwd
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from cb_code_execution._server import SYSTEM_PATHS
from cb_code_execution._syscalls import call_filter
from cb_code_execution.limits import Limits
from cb_code_execution.sandbox import Sandbox, SandboxError

MECHANISMS = ("bubblewrap", "landlock")
"""The strongest first."""

UNCONFINED = "none"
_CANDIDATES = ("/usr/bin/python3", "/usr/local/bin/python3", "/bin/python3")
_finding = threading.Lock()
_PARTS = ("bin", "lib", "lib64", "pyvenv.cfg")
_TELL_WHERE = """
import json, os, sys, sysconfig
folders = sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix
needed = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
library = [sysconfig.get_config_var(name) for name in ("LIBDIR", "INSTSONAME")]
needed += [os.path.join(*library)] if all(library) else []
print(json.dumps([sys.executable, folders, needed]))
"""

# Holds when the program can do nothing with what it is told of, a file and two sockets, and
# has no network, no other kind of socket, and not our environment.
_LOOK_FOR_WAYS_OUT = """
import os, socket
def refused(what, do, *args):
    try:
        do(*args)
    except OSError:
        return
    raise AssertionError(what)
def connect(family, kind, address):
    with socket.socket(family, kind) as made:
        made.connect(address)
assert "CB_SANDBOX_PROBE" not in os.environ
assert os.getuid() != 0
for path in ({secret!r}, "/etc/passwd", "/proc/1/environ"):
    refused(f"{{path}} can be read", open, path)
    refused(f"{{path}} can be seen", os.stat, path)
    refused(f"{{path}} can be changed", os.chmod, path, 0o666)
for address in ({socket!r}, "\\0" + {socket!r}):
    refused("a socket of this machine can be reached", connect, socket.AF_UNIX, socket.SOCK_STREAM, address)
refused("there is a network", connect, socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.1", 9))
for family in (16, 17, 38, 40):
    refused(f"sockets of family {{family}} can be made", socket.socket, family, socket.SOCK_DGRAM)
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
    if not call_filter():
        return f"the system calls of {platform.machine()} are not known, so none can be refused"
    with tempfile.TemporaryDirectory(prefix="cb-probe-") as folder:
        Path(folder).chmod(0o755)
        secret, path = Path(folder, "secret"), str(Path(folder, "socket"))
        secret.write_text("secret")
        with _listening(path), _listening(f"\0{path}"):
            Path(path).chmod(0o777)
            look = _LOOK_FOR_WAYS_OUT.format(secret=str(secret), socket=path)
            try:
                outcome = sandbox.run(look, "")
            except SandboxError as error:
                return error.message
    return None if outcome.passed else f"{outcome.status}: {outcome.message}"


def _listening(address: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    return listener


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
    elsewhere. Of a folder that it is installed in, only the parts that are Python's are taken.
    Of one that is somebody's home or has it inside, only what the interpreter cannot do without.
    """
    try:
        asked = subprocess.run(  # noqa: S603 - the interpreter that the user names
            [command, "-I", "-c", _TELL_WHERE], capture_output=True, timeout=60, check=True
        )
        executable, folders, needed = json.loads(asked.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    parts = [*_links(Path(executable)), *map(Path, needed)]
    for folder in map(Path, dict.fromkeys(folders)):
        names = ("pyvenv.cfg",) if _has_home(folder) else _PARTS
        parts = [*(folder / name for name in names), *parts]
    found = dict.fromkeys(part for part in parts if part.exists() and not _is_system(part))
    shown = [part for part in found if not any(one in part.parents for one in found)]
    return executable, tuple(map(str, shown))


def _links(path: Path) -> list[Path]:
    """A path, and what it leads to, link by link."""
    found = [path]
    while found[-1].is_symlink() and len(found) < 40:
        found.append(found[-1].parent / found[-1].readlink())
    return [*found, path.resolve()]


def _has_home(folder: Path) -> bool:
    """Whether a folder is a home or has one inside: the user's, or that which the system knows."""
    homes = [os.path.expanduser("~")]  # noqa: PTH111 - pathlib raises where there is none
    with contextlib.suppress(KeyError):
        homes.append(pwd.getpwuid(os.getuid()).pw_dir)
    real = folder.resolve()
    return any(Path(home).resolve().is_relative_to(real) for home in homes)


def _is_system(path: Path) -> bool:
    return any(path.is_relative_to(system) for system in SYSTEM_PATHS)


def _readable_by_all(path: str) -> bool:
    parents = [Path(path), *Path(path).parents]
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in parents if parent.is_dir())
