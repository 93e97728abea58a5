"""The program that locks itself up before it runs untrusted code. Standard library only.

It is started as a script by the interpreter that will run the code, with the job as JSON in
its only argument and the sources on standard input. Whatever cannot be locked ends it with
`EXIT_NOT_CONFINED`: nothing untrusted has run then.
"""
# It starts in front of every program, so it imports little.
# ruff: noqa: PTH112, PTH123, S606

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import struct
import sys
from typing import Any, NoReturn

EXIT_NOT_CONFINED = 97
VERDICT_FD = 3
FILES = ("solution.py", "tests.py", "remaining.py")
"""Where the sources are found by the program that runs them."""

_CLONE_NEWNS, _CLONE_NEWUTS, _CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
_CLONE_NEWUSER, _CLONE_NEWPID, _CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REC, _MS_PRIVATE = 2, 4, 8, 16384, 1 << 18
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
_SECCOMP_MODE_FILTER = 2
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_FS_RIGHTS_OF_ABI = {3: 15, 4: 15, 5: 16}
_OLDEST_ABI = 3
"""The first version of Landlock that also keeps files from being truncated."""

_libc = ctypes.CDLL(None, use_errno=True)


def refusal(word: str) -> str:
    """How a message begins that says why code was not run; a program cannot know the word."""
    return f"not run {word}: "


def _check(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def landlock_version() -> int:
    """The version of Landlock this kernel offers; 0 when it has none."""
    return max(0, int(_libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)))


def set_limits(limits: dict[str, int]) -> None:
    """Hold this process and all it starts to limits that it cannot raise again."""
    for name, value in limits.items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))


def restrict_files(readable: list[str], writable: str) -> None:
    """Landlock: read and execute below some paths, everything below one, nothing else.

    Into `/dev/null` anything may be written, as subprocesses and test runners do.
    """
    abi = landlock_version()
    if abi < _OLDEST_ABI:
        raise OSError(f"this kernel has Landlock version {abi}; {_OLDEST_ABI} is needed")
    every = (1 << _FS_RIGHTS_OF_ABI.get(abi, 16)) - 1
    tcp = 3 if abi >= 4 else 0
    scopes = 3 if abi >= 6 else 0
    handled = (ctypes.c_uint64 * 3)(every, tcp, scopes)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    created = _libc.syscall(_CREATE_RULESET, handled, ctypes.c_size_t(size), 0)
    ruleset = _check(created, "landlock_create_ruleset")
    for path in readable:
        _allow(ruleset, path, _EXECUTE | _READ_FILE | _READ_DIR)
    _allow(ruleset, writable, every)
    _allow(ruleset, os.devnull, _READ_FILE | _WRITE_FILE | _TRUNCATE)
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _check(_libc.syscall(_RESTRICT_SELF, ruleset, 0), "landlock_restrict_self")
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    if not os.path.isdir(path):
        rights &= ~_READ_DIR
    # struct landlock_path_beneath_attr is packed: 8 bytes of rights, 4 of file descriptor.
    rule = rights.to_bytes(8, sys.byteorder) + opened.to_bytes(4, sys.byteorder)
    _check(_libc.syscall(_ADD_RULE, ruleset, 1, rule, 0), f"landlock_add_rule {path}")
    os.close(opened)


def restrict_calls(steps: bytes) -> None:
    """Seccomp: refuse the calls that a filter names. Without a filter, none."""
    if not steps:
        return
    text = ctypes.create_string_buffer(steps, len(steps))
    # struct sock_fprog: the number of steps of eight bytes, and where they are.
    program = struct.pack("HxxxxxxP", len(steps) // 8, ctypes.addressof(text))
    _check(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program, 0, 0), "seccomp")


def end_with_parent() -> None:
    """When whoever watches this program is killed, so is the program."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "pdeathsig")


def _mount_scratch(path: str, size: int, owner: int) -> None:
    _check(_libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None), "mount --make-private")
    options = f"size={size},mode=0700,uid={owner},gid={owner}".encode()
    flags = _MS_NOSUID | _MS_NODEV
    _check(_libc.mount(b"tmpfs", path.encode(), b"tmpfs", flags, options), "mount tmpfs")
    os.chdir(path)


def enter_namespaces() -> int:
    """Leave the network, the processes and the mounts of this machine. Returns the user to be.

    Root becomes a user that nobody else is, so that the limit on processes counts only its
    own. Anybody else gets a user namespace.
    """
    kinds = _CLONE_NEWNS | _CLONE_NEWUTS | _CLONE_NEWIPC | _CLONE_NEWPID | _CLONE_NEWNET
    user, group = os.getuid(), os.getgid()
    if user == 0:
        _check(_libc.unshare(kinds), "unshare")
        return 100_000 + os.getpid()
    _check(_libc.unshare(kinds | _CLONE_NEWUSER), "unshare")
    inside = 1000
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{inside} {user} 1"),
        ("gid_map", f"{inside} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)
    return inside


def become(user: int) -> None:
    """Give up root for good; in a user namespace the user is already another."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


def write_sources(sources: list[str], owner: int) -> None:
    """Put what the program reads into the current folder."""
    for name, text in zip(FILES, sources, strict=True):
        with open(name, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        if os.getuid() == 0:
            os.chown(name, owner, owner)


def run_under_landlock(job: dict[str, Any], sources: list[str]) -> NoReturn:
    """Three processes: this one waits, the first of the namespace reaps, the last runs the code.

    When the first of a namespace ends, the kernel ends all others in it.
    """
    user = enter_namespaces()
    end_with_parent()
    first = os.fork()
    if first:
        _, status = os.waitpid(first, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    end_with_parent()
    _mount_scratch(job["scratch"], job["scratch_bytes"], user if os.getuid() == 0 else 1000)
    write_sources(sources, user)
    worker = os.fork()
    if worker == 0:
        set_limits(job["limits"])
        become(user)
        _check(_libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0), "dumpable")
        restrict_files(job["readable"], ".")
        restrict_calls(bytes.fromhex(job["filter"]))
        os.execve(job["command"][0], job["command"], job["environment"])
    while True:
        ended, status = os.wait()
        if ended == worker:
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def run_under_bubblewrap(job: dict[str, Any], sources: list[str]) -> NoReturn:
    """As a user that nobody else is, within limits, bubblewrap does the rest."""
    files = {
        **{f"@source-{n}": text.encode("utf-8", "replace") for n, text in enumerate(sources)},
        "@filter": bytes.fromhex(job["filter"]),
    }
    # bubblewrap reads them from descriptors, which the program does not get.
    command = [_opened(files[part]) if part in files else part for part in job["command"]]
    set_limits(job["limits"])
    if os.getuid() == 0:
        become(100_000 + os.getpid())
    os.execve(command[0], command, job["environment"])


def _opened(data: bytes) -> str:
    """The number of a descriptor from which data can be read."""
    descriptor = os.memfd_create("data", 0)
    with open(descriptor, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return str(descriptor)


def run_unconfined(job: dict[str, Any], sources: list[str]) -> NoReturn:
    """Limits and an empty environment only, for those who asked for it."""
    end_with_parent()
    os.chdir(job["scratch"])
    write_sources(sources, os.getuid())
    set_limits(job["limits"])
    os.execve(job["command"][0], job["command"], job["environment"])


def main() -> NoReturn:
    """Run the job; what keeps it from being locked up is told on the verdict's descriptor."""
    job = json.loads(sys.argv[1])
    try:
        if job["verdict_fd"] != VERDICT_FD:
            os.dup2(job["verdict_fd"], VERDICT_FD)
            os.close(job["verdict_fd"])
        os.set_inheritable(VERDICT_FD, True)
        sources = json.loads(sys.stdin.buffer.read())
        empty = os.open(os.devnull, os.O_RDONLY)
        os.dup2(empty, 0)
        run = {
            "landlock": run_under_landlock,
            "bubblewrap": run_under_bubblewrap,
            "none": run_unconfined,
        }[job["mechanism"]]
        run(job, sources)
    except BaseException as error:  # noqa: BLE001 - nothing may run after a failed lock
        os.write(VERDICT_FD, f"{refusal(job['word'])}{error}".encode("utf-8", "replace"))
    os._exit(EXIT_NOT_CONFINED)


if __name__ == "__main__":
    main()
