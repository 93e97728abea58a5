"""The server that programs are forked from: it has been started, and holds no secrets.

It is started once, in front of everything it is to hide, and then asked for programs over a
socket. For each it forks a process, which enters namespaces of its own and forks two cells:
one for the solution, one for its tests. They share a folder to work in and a channel to talk
over, and nothing else. The sources come to each cell from outside, so that no process ever
has what the other is not to see.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import time
import traceback

from cb_code_execution import _candidate, _confine, _judge, _wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_OFTEN_USED = """
    bisect collections copy datetime functools heapq inspect itertools math operator random re
    string types typing unittest
"""
_HIGH_FD = 200
_GRACE_S = 10.0
"""How much longer than its time a program may live when nobody ends it."""


def main(config: dict[str, Any]) -> NoReturn:
    """Prepare, say so, and serve until nobody can ask any more."""
    asked = socket.socket(fileno=config["socket"])
    try:
        if config["mechanism"] == "landlock":
            if _confine.landlock_version() < 3:
                raise OSError("this kernel has no Landlock that keeps files from being truncated")
            _confine.leave_machine(config["proc"], only_mounts=True)
            _confine.change_root(config["readable"], config["devices"])
    except Exception as error:  # noqa: BLE001 - told where somebody can do something about it
        asked.send(f"refused: {error}".encode("utf-8", "replace"))
        os._exit(1)
    for name in _OFTEN_USED.split():
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    asked.send(b"ready")
    while True:
        request, descriptors, _, _ = socket.recv_fds(asked, 1 << 16, 8, socket.MSG_CMSG_CLOEXEC)
        if request in (b"", b"end"):
            os._exit(0)
        if os.fork() == 0:
            asked.close()
            _run(config, json.loads(request), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)


def _run(config: dict[str, Any], job: dict[str, Any], descriptors: list[int]) -> NoReturn:
    """One program, from its namespaces to the end of its last process."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    control = socket.socket(fileno=descriptors[0])
    output, *sources = descriptors[1:]
    try:
        control.send(b"{}")  # with it the kernel tells who this is
        user = _lock_up(config, job)
        ends = [end.detach() for end in (*socket.socketpair(), *socket.socketpair())]
        cells = [
            _start(config, job, user, role, (output, sources[n], ends[n], ends[2 + n]))
            for n, role in enumerate(("solution", "tests"))
        ]
    except BaseException as error:  # noqa: BLE001 - nothing may run after a failed lock
        control.send(json.dumps({"refused": str(error)}).encode())
        os._exit(1)
    for descriptor in (output, *sources, *ends):
        os.close(descriptor)
    _supervise(control, cells, time.monotonic() + job["time_s"] + _GRACE_S)
    os._exit(0)


def _lock_up(config: dict[str, Any], job: dict[str, Any]) -> int:
    if config["mechanism"] == "none":
        _confine.adopt_orphans()
        os.chdir(job["scratch"])
        return os.getuid()
    was_root = os.getuid() == 0
    user = _confine.leave_machine(config["proc"])
    if not was_root:
        # The two that keep the program are the same user in the same namespace.
        job["limits"]["NPROC"] += 2
    os.close(config["proc"])
    _confine.mount_scratch(job["scratch_bytes"], job["scratch_files"], user)
    return user


def _start(
    config: dict[str, Any],
    job: dict[str, Any],
    user: int,
    role: str,
    descriptors: tuple[int, ...],
) -> int:
    """A process with which a cell ends, and all that the cell started.

    A solution has a process above it, which takes the first place in its namespace: there,
    signals do not do what they do elsewhere. Tests can live with that.
    """
    confined = config["mechanism"] != "none"
    above = confined and role == "solution"
    if confined and not above:
        _confine.own_processes_for_next_fork()
    first = _confine.fork_with_own_processes() if above else os.fork()
    if first:
        return first
    try:
        if confined:
            _confine.end_with_parent()
        worker = os.fork() if above else 0
        if worker:
            os.closerange(0, _HIGH_FD)
            _wait_for(worker)
        _enter(config, job, user, role, descriptors)
    except BaseException:  # noqa: BLE001 - a cell that could not be locked up runs nothing
        with contextlib.suppress(OSError):
            os.write(descriptors[0], traceback.format_exc().encode())
    os._exit(1)


def _wait_for(worker: int) -> NoReturn:
    while True:
        ended, status = os.wait()
        if ended == worker:
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _enter(
    config: dict[str, Any],
    job: dict[str, Any],
    user: int,
    role: str,
    descriptors: tuple[int, ...],
) -> None:
    """Lock this process up for good, and be the cell."""
    source, channel, entrance = _keep(*descriptors)
    os.setsid()
    if config["mechanism"] == "none":
        _confine.set_limits(job["limits"])
    else:
        # Before, as who gives up privileges has to be allowed another process.
        _confine.give_up_privileges(user)
        _confine.set_limits(job["limits"])
        if config["mechanism"] == "landlock":
            _confine.restrict_files([*config["readable"], *config["devices"]], ".")
        _confine.restrict_calls(bytes.fromhex(config["filter"]))
    _set_stack(job["thread_stack_bytes"])
    told = _wire.Channel(socket.socket(fileno=source))
    talking = _wire.Channel(socket.socket(fileno=channel))
    door = socket.socket(fileno=entrance)
    given = told.receive()
    if role == "solution":
        os.close(source)
        with contextlib.suppress(_wire.ClosedError):
            solution = _candidate.Candidate(
                talking, given["source"], given["imports"], job["output_bytes"]
            )
            if given["threads"]:
                solution.open_door(door)
            else:
                door.close()
            solution.serve()
        os._exit(0)
    verdict = _judge.judge(given, talking, door)
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    told.send(verdict)
    signal.pause()  # until the verdict has been read


def _keep(output: int, *kept: int) -> list[int]:
    """Have only the standard descriptors and some others, of which no program gets a copy."""
    high = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, _HIGH_FD) for one in (output, *kept)]
    os.closerange(0, _HIGH_FD)
    os.open(os.devnull, os.O_RDONLY)
    os.dup2(high[0], 1)
    os.dup2(high[0], 2)
    found = [os.dup2(one, number, False) for number, one in enumerate(high[1:], 3)]
    os.closerange(_HIGH_FD, high[-1] + 1)
    os.set_inheritable(0, True)
    return found


def _set_stack(size: int) -> None:
    import _thread

    _thread.stack_size(size)


def _supervise(control: socket.socket, cells: list[int], deadline: float) -> None:
    """Tell when a cell has ended, until told to end them; then end all of it."""
    handles = {os.pidfd_open(cell): cell for cell in cells}
    waiting = [control.fileno(), *handles]
    while control.fileno() in waiting:
        remaining = deadline - time.monotonic()
        ready = select.select(waiting, [], [], max(0.0, remaining))[0]
        if not ready:
            break
        for one in ready:
            waiting.remove(one)
            if one in handles:
                _, status = os.waitpid(handles[one], 0)
                code = os.waitstatus_to_exitcode(status) & 0xFF
                with contextlib.suppress(OSError):
                    control.send(
                        json.dumps({"ended": cells.index(handles[one]), "code": code}).encode()
                    )
    _end_all(cells)


def _end_all(cells: list[int]) -> None:
    for cell in cells:
        with contextlib.suppress(ProcessLookupError):
            os.kill(cell, signal.SIGKILL)
    while True:
        # Without namespaces, what they started is left, and found as children of this process.
        for child in _children():
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:  # noqa: PTH123
            return list(map(int, file.read().split()))
    except OSError:
        return []
