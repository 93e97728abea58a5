"""The servers that programs are forked from: one for each interpreter and mechanism, kept warm."""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import shutil
import socket
import subprocess
import threading
from pathlib import Path
from typing import Any

import attrs

from cb_code_execution._syscalls import call_filter
from cb_code_execution._watching import Program

SYSTEM_PATHS = ("/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/etc/localtime")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom")
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "HOME": "/nowhere",
    "PYTHONHASHSEED": "0",
    # A thread that allocates would reserve an arena of its own; libraries would start one
    # thread for each processor.
    "MALLOC_ARENA_MAX": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}
_MODULES = """
    _wire _proxies _peer _candidate _examiner _mirroring _remaining _judge _confine _warden
"""
"""What runs inside, in the order in which they need each other."""
_BOOT = """
import json, sys, types
if sys.path[:1] == [""]:
    del sys.path[0]
config, modules = json.loads(sys.stdin.buffer.read())
package = sys.modules["cb_code_execution"] = types.ModuleType("cb_code_execution")
for name, text in modules:
    module = types.ModuleType(f"cb_code_execution.{name}")
    sys.modules[module.__name__] = module
    setattr(package, name, module)
    exec(compile(text, f"{name}.py", "exec"), module.__dict__)
package._warden.main(config)
"""
_START_WITHIN_S = 60.0


class ServerError(Exception):
    """A server could not be started, or is gone."""


@attrs.frozen
class Spec:
    """What a server is started for. Equal ones share it."""

    mechanism: str
    python: str
    prefixes: tuple[str, ...]


@attrs.define
class Server:
    """A process that programs are forked from."""

    _process: subprocess.Popen[bytes]
    _asked: socket.socket

    def start(self, job: dict[str, Any]) -> Program:
        """A program that waits for its sources; raises `ServerError` when the server is gone."""
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)]
        pairs += [socket.socketpair(), socket.socketpair()]
        output, printed = os.pipe()
        os.set_blocking(output, False)
        pairs[0][0].setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        program = Program(pairs[0][0], output, (pairs[1][0], pairs[2][0]))
        control, solution, tests = (pair[1] for pair in pairs)
        try:
            given = [control.fileno(), printed, solution.fileno(), tests.fileno()]
            socket.send_fds(self._asked, [json.dumps(job).encode()], given)
        except OSError as error:
            program.close()
            raise ServerError("the server has ended") from error
        finally:
            os.close(printed)
            for one in (control, solution, tests):
                one.close()
        return program

    def close(self) -> None:
        """It ends; what it started ends with those that watch it."""
        with contextlib.suppress(OSError):
            self._asked.send(b"end")  # a process that was forked from this may hold the socket
        self._asked.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10)


_servers: dict[tuple[int, Spec], Server] = {}
_starting = threading.Lock()


def program(spec: Spec, job: dict[str, Any]) -> Program:
    """A program of the server for this, which is started when there is none."""
    key = (os.getpid(), spec)
    for attempt in range(2):
        with _starting:
            server = _servers.get(key)
            if server is None:
                server = _servers[key] = _started(spec)
        try:
            return server.start(job)
        except ServerError:
            with _starting:
                if _servers.get(key) is server:
                    del _servers[key]
                    server.close()
            if attempt:
                raise
    raise AssertionError("unreachable")


@atexit.register
def _close_all() -> None:
    for (pid, _), server in list(_servers.items()):
        if pid == os.getpid():
            server.close()


@functools.cache
def _sources() -> list[tuple[str, str]]:
    return [(n, Path(__file__).with_name(f"{n}.py").read_text("utf-8")) for n in _MODULES.split()]


def _started(spec: Spec) -> Server:
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    proc = os.open("/proc", os.O_PATH | os.O_DIRECTORY)
    config = {
        "mechanism": spec.mechanism,
        "socket": there.fileno(),
        "proc": proc,
        "readable": [*SYSTEM_PATHS, *spec.prefixes],
        "devices": _DEVICES,
        "filter": call_filter().hex(),
    }
    command = [spec.python, "-s", "-B", "-c", _BOOT]
    user: dict[str, Any] = {}
    if spec.mechanism == "bubblewrap":
        command = [*_bubblewrap(spec), *command]
        if os.getuid() == 0:
            nobody = 100_000 + os.getpid()
            user = {"user": nobody, "group": nobody, "extra_groups": []}
    try:
        process = subprocess.Popen(  # noqa: S603 - no shell, and an absolute path
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=_ENVIRONMENT,
            cwd="/",
            start_new_session=True,
            pass_fds=(there.fileno(), proc),
            **user,
        )
    except OSError as error:
        here.close()
        raise ServerError(f"{spec.python} cannot be started: {error.strerror}") from error
    finally:
        there.close()
        os.close(proc)
    return _greeted(process, here, json.dumps([config, _sources()]).encode())


def _greeted(process: subprocess.Popen[bytes], asked: socket.socket, given: bytes) -> Server:
    """The server, once it says that it is ready."""
    assert process.stdin is not None and process.stderr is not None  # noqa: S101, PT018 - asked for
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(given)
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    asked.settimeout(_START_WITHIN_S)
    try:
        greeting = asked.recv(1 << 16).decode("utf-8", "replace")
    except OSError as error:
        greeting = f"refused: {error}"
    asked.settimeout(None)
    if greeting == "ready":
        process.stderr.close()
        return Server(process, asked)
    asked.close()
    process.kill()
    said = process.stderr.read().decode("utf-8", "replace").strip().splitlines()
    process.stderr.close()
    process.wait()
    raise ServerError(greeting.removeprefix("refused: ") or " ".join(said[-1:]) or "it ended")


def _bubblewrap(spec: Spec) -> list[str]:
    """An empty file system with the system's libraries and the interpreter in it."""
    binds: list[str] = []
    for path in map(Path, (*SYSTEM_PATHS, *spec.prefixes)):
        if path.is_symlink():
            binds += ["--symlink", str(path.readlink()), str(path)]
        elif path.exists():
            binds += ["--ro-bind", str(path), str(path)]
    return [
        *(shutil.which("bwrap") or "bwrap", "--unshare-all", "--new-session"),
        *("--cap-drop", "ALL", "--hostname", "sandbox"),
        *binds,
        *("--dev", "/dev", "--dir", "/scratch", "--chdir", "/"),
        # All that was made for the programs is in memory; only the folder of each has a size.
        *("--remount-ro", "/dev", "--remount-ro", "/"),
        "--",
    ]
