"""Run `cb` in processes forked from a server that has imported what a run needs.

    done = run_cb("run", "-s", "identity", cwd=folder, env=environment)

A forked process has its own environment, working folder, standard streams, signal handlers and
exit path, and leaves nothing behind. It shares the imported modules and the hash seed with the
other processes of this server. A command gets a new interpreter instead if it could notice that:
if its environment has a variable that Python reads when it starts, or if its import path holds a
module that the server has imported already.

The server also prepares a plugin cache, which `copy_plugin_cache` puts into an empty folder.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import runpy
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

WARM_UP = (
    ("list",),
    ("run", "-s", "identity | extractive", "-d", "hotpotqa:sample", "-n", "2", "--no-cache"),
)
"""Commands that fill the plugin cache. The last one imports what most runs import."""

CAN_FORK = hasattr(os, "fork") and hasattr(os, "pidfd_open")
_READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "TZ")
_SET_LATER = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")


def run_cb(
    *arguments: str,
    cwd: Path,
    env: Mapping[str, str],
    timeout: float = 120,
    process: bool = False,
) -> subprocess.CompletedProcess[str]:
    """Run `cb` to its end, without standard input; with `process` in a new interpreter."""
    if process or not CAN_FORK:
        return subprocess.run(
            [sys.executable, "-m", "cbcore", *arguments],
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=timeout,
            check=False,
        )
    return _server().run(arguments, str(cwd), dict(env), timeout)


def copy_plugin_cache(folder: Path) -> None:
    """Put what is known of the installed plugins into an empty cache folder (`XDG_CACHE_HOME`).

    An entry counts only for the files that it was made from, so plugins of a test add theirs.
    """
    if CAN_FORK:
        shutil.copytree(_server().cache / "cb", folder / "cb", copy_function=shutil.copyfile)


@functools.cache
def _server() -> Server:
    server = Server()
    atexit.register(server.close)
    return server


class Server:
    """The client's side: the process that forks, and the plugin cache that it prepared."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="cb-tests-")
        self.cache = Path(self._folder.name)
        self._control, theirs = socket.socketpair()
        self._read_at_start = {"LANG": os.environ["LANG"]} if "LANG" in os.environ else {}
        environment = {
            **self._read_at_start,
            "PATH": os.environ["PATH"],
            "XDG_CACHE_HOME": str(self.cache),
            "HOME": str(self.cache),
        }
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                cwd=self.cache,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        self._control.recv(1)  # it is ready

    def close(self) -> None:
        """End the server."""
        self._control.close()
        self._process.wait()
        self._folder.cleanup()

    def run(
        self, arguments: tuple[str, ...], cwd: str, env: dict[str, str], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """Let the server fork, and wait for the end of the process and of its output."""
        is_same = _read_at_start(env) == self._read_at_start
        order = {"arguments": arguments, "cwd": cwd, "env": env, "is_same_start": is_same}
        status, theirs = socket.socketpair()
        out, out_theirs = os.pipe()
        err, err_theirs = os.pipe()
        with status, os.fdopen(out, "rb") as stdout, os.fdopen(err, "rb") as stderr:
            with theirs:
                descriptors = [out_theirs, err_theirs, theirs.fileno()]
                socket.send_fds(self._control, [b"x"], descriptors)
            os.close(out_theirs)
            os.close(err_theirs)
            status.sendall(json.dumps(order).encode() + b"\n")
            descriptors = [stdout.fileno(), stderr.fileno(), status.fileno()]
            read, is_complete = _read_all(descriptors, timeout)
            *printed, told = read.values()
            pid, _, code = told.decode().partition("\n")
            if not is_complete:
                if pid and not code:
                    os.kill(int(pid), signal.SIGKILL)
                raise subprocess.TimeoutExpired(arguments, timeout, *printed)
        texts = [p.decode().replace("\r\n", "\n").replace("\r", "\n") for p in printed]
        return subprocess.CompletedProcess(["cb", *arguments], int(code), *texts)


def _read_all(descriptors: list[int], timeout: float) -> tuple[dict[int, bytes], bool]:
    """Read each of these to its end, but not for longer than the time limit; whether it was met."""
    read = dict.fromkeys(descriptors, b"")
    until = time.monotonic() + timeout
    with selectors.DefaultSelector() as selector:
        for descriptor in descriptors:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map() and (left := until - time.monotonic()) > 0:
            for key, _ in selector.select(left):
                data = os.read(key.fd, 65536)
                read[key.fd] += data
                if not data:
                    selector.unregister(key.fd)
        return read, not selector.get_map()


def _read_at_start(env: Mapping[str, str]) -> dict[str, str]:
    """The variables that only a new interpreter can take over."""
    return {
        name: value
        for name, value in env.items()
        if name.startswith(_READ_AT_START) and name not in _SET_LATER
    }


# -- the process that forks --------------------------------------------------------------------


def _preload() -> None:
    """Fill the plugin cache, and import what the commands import, in the same order."""
    names: list[str] = []
    for command in WARM_UP:
        reading, writing = os.pipe()
        if (pid := os.fork()) == 0:
            atexit.register(_report_modules, writing)
            _run_here(list(command))
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            names = json.loads(pipe.read())
        os.waitpid(pid, 0)
    for name in names:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


def _report_modules(descriptor: int) -> None:
    with os.fdopen(descriptor, "w") as pipe:
        json.dump([*sys.modules], pipe)


def _serve(control: socket.socket) -> dict[str, Any]:
    """Fork at each order and report each end; return the order in the forked process."""
    with selectors.DefaultSelector() as selector:
        selector.register(control, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is not control:
                    pid, status = key.data
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                    with status, contextlib.suppress(BrokenPipeError):
                        status.sendall(str(code).encode())
                    continue
                data, (*descriptors,), *_ = socket.recv_fds(control, 1, 3)
                if not data:
                    os._exit(0)
                status = socket.socket(fileno=descriptors.pop())
                pid = os.fork()
                if pid == 0:
                    for other in [*selector.get_map().values()]:
                        if other.data:
                            os.close(other.fd)
                            other.data[1].close()
                    control.close()
                    for number, descriptor in enumerate(descriptors, start=1):
                        os.dup2(descriptor, number)
                        os.close(descriptor)
                    with status, status.makefile("rb") as file:
                        return json.loads(file.readline())
                for descriptor in descriptors:
                    os.close(descriptor)
                try:
                    status.sendall(f"{pid}\n".encode())
                except BrokenPipeError:  # who asked does not wait any more
                    os.kill(pid, signal.SIGKILL)
                selector.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, status))


def _carry_out(order: dict[str, Any]) -> None:
    arguments, cwd, environ = order["arguments"], order["cwd"], order["env"]
    path = [cwd, *filter(None, environ.get("PYTHONPATH", "").split(os.pathsep))]
    os.chdir(cwd)
    if not order["is_same_start"] or _shadows_a_module(path):
        os.execve(sys.executable, [sys.executable, "-m", "cbcore", *arguments], environ)
    os.environ.clear()
    os.environ.update(environ)
    sys.path[:0] = path
    sys.dont_write_bytecode = bool(environ.get("PYTHONDONTWRITEBYTECODE"))
    _run_here(arguments)


def _shadows_a_module(path: list[str]) -> bool:
    """Whether a folder of the import path has a module that is imported already, or runs first."""
    taken = {name.partition(".")[0] for name in sys.modules} | {"sitecustomize", "usercustomize"}
    for folder in map(Path, path):
        modules = [*folder.glob("*.py"), *folder.glob("*.so")]
        packages = [init.parent for init in folder.glob("*/__init__.py")]
        if any(file.name.partition(".")[0] in taken for file in [*modules, *packages]):
            return True
    return False


def _run_here(arguments: list[str]) -> None:
    sys.argv = ["cb", *arguments]
    runpy.run_module("cbcore", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    sys.path.pop(0)
    with socket.socket(fileno=int(sys.argv[1])) as control_:
        _preload()
        gc.collect()
        gc.freeze()  # so that no forked process has to look through it
        control_.send(b"x")
        order_ = _serve(control_)
    _carry_out(order_)
