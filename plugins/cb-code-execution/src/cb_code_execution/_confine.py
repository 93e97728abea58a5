"""What the kernel offers to lock a process up, one function each. Standard library only.

Runs in the process that is locked up. What cannot be done raises: nothing untrusted may run
then.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import signal
import struct
import sys

_CLONE_NEWNS, _CLONE_NEWUTS, _CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
_CLONE_NEWUSER, _CLONE_NEWPID, _CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_BIND = 1, 2, 4, 4096
_MS_REC, _MS_PRIVATE = 16384, 1 << 18
_MNT_DETACH = 2
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE = 442, -100, 0x8000
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV = 1, 2, 4
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_CLONE = {"x86_64": 56, "aarch64": 220}
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP = 1, 4, 22
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_SECCOMP_MODE_FILTER = 2
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_FS_RIGHTS_OF_ABI = {3: 15, 4: 15, 5: 16}
_OLDEST_ABI = 3
"""The first version of Landlock that also keeps files from being truncated."""
_CAPABILITIES = struct.pack("=Ii", 0x20080522, 0)
INSIDE = 1000
"""The user that a program is in a namespace of users."""
SCRATCH = "/scratch"

# Without giving up the interpreter's lock, as a clone must not wake up without it.
_libc = ctypes.PyDLL(None, use_errno=True)


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
        kind = getattr(resource, f"RLIMIT_{name}")
        most = resource.getrlimit(kind)[1]
        least = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.setrlimit(kind, (least, least))


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
    _check(_libc.syscall(_RESTRICT_SELF, ruleset, 0), "landlock_restrict_self")
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    if not os.path.isdir(path):  # noqa: PTH112 - pathlib is not imported here
        rights &= ~_READ_DIR
    # struct landlock_path_beneath_attr is packed: 8 bytes of rights, 4 of file descriptor.
    rule = rights.to_bytes(8, sys.byteorder) + opened.to_bytes(4, sys.byteorder)
    _check(_libc.syscall(_ADD_RULE, ruleset, 1, rule, 0), f"landlock_add_rule {path}")
    os.close(opened)


def restrict_calls(steps: bytes) -> None:
    """Seccomp: refuse the calls that a filter names."""
    text = ctypes.create_string_buffer(steps, len(steps))
    # struct sock_fprog: the number of steps of eight bytes, and where they are.
    program = struct.pack("HxxxxxxP", len(steps) // 8, ctypes.addressof(text))
    _check(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program, 0, 0), "seccomp")


def end_with_parent() -> None:
    """When the process that started this one ends, so does this one."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "pdeathsig")


def adopt_orphans() -> None:
    """What is started by processes that end is this one's to end."""
    _check(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "subreaper")


def give_up_privileges(user: int) -> None:
    """Be somebody without any capability, who can gain none, and whose memory is nobody's."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    _check(_libc.capset(_CAPABILITIES, bytes(24)), "capset")
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _check(_libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0), "dumpable")


def leave_machine(proc: int, *, only_mounts: bool = False) -> int:
    """Enter namespaces of one's own, for mounts or for all but processes. Returns the user to be.

    Root becomes a user that nobody else is, so that the limit on processes counts only its
    own. Anybody else gets a namespace of users. `proc` is a descriptor of /proc, which need
    not be seen here.
    """
    kinds = _CLONE_NEWNS
    if not only_mounts:
        kinds |= _CLONE_NEWUTS | _CLONE_NEWIPC | _CLONE_NEWNET
    user, group = os.getuid(), os.getgid()
    if user == 0:
        _check(_libc.unshare(kinds), "unshare")
        _hide_name(only_mounts)
        return 100_000 + os.getpid()
    _check(_libc.unshare(kinds | _CLONE_NEWUSER), "unshare")
    _hide_name(only_mounts)
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{INSIDE} {user} 1"),
        ("gid_map", f"{INSIDE} {group} 1"),
    ):
        opened = os.open(f"self/{name}", os.O_WRONLY, dir_fd=proc)
        os.write(opened, text.encode())
        os.close(opened)
    return INSIDE


def _hide_name(still_that_of_the_machine: bool) -> None:
    if not still_that_of_the_machine:
        _check(_libc.sethostname(b"sandbox", ctypes.c_size_t(7)), "sethostname")


def fork_with_own_processes() -> int:
    """A fork that is the first process of a namespace of processes: all others end with it."""
    flags = ctypes.c_ulong(_CLONE_NEWPID | signal.SIGCHLD)
    nothing = (ctypes.c_ulong(0),) * 4
    return _check(_libc.syscall(_CLONE[platform.machine()], flags, *nothing), "clone")


def own_processes_for_next_fork() -> None:
    """The next fork is the first process of a namespace of processes. This works once."""
    _check(_libc.unshare(_CLONE_NEWPID), "unshare")


def _mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> None:
    done = _libc.mount(
        source.encode(), target.encode(), kind and kind.encode(), flags, options.encode() or None
    )
    _check(done, f"mount {target}")


def _set_attributes(path: str, attributes: int, flags: int = 0) -> None:
    changes = struct.pack("=4Q", attributes, 0, 0, 0)
    done = _libc.syscall(
        _MOUNT_SETATTR, _AT_FDCWD, path.encode(), flags, changes, ctypes.c_size_t(len(changes))
    )
    _check(done, f"mount_setattr {path}")


def change_root(readable: list[str], devices: list[str]) -> None:
    """Have nothing but some paths, which cannot be written to, and an empty folder to work in."""
    # What they are is found out here: links lead elsewhere when there is another root.
    shown = [(path, os.path.realpath(path)) for path in (*readable, *devices)]
    links = {path: os.readlink(path) for path in readable if os.path.islink(path)}  # noqa: PTH114, PTH115
    _check(_libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None), "mount --make-private")
    # Where it is put together does not matter: only this process sees it there.
    root = "/tmp"  # noqa: S108
    _mount("tmpfs", root, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=0755,size=1m,nr_inodes=1k")
    os.mkdir(f"{root}/old")  # noqa: PTH102
    pivot = _libc.syscall(_PIVOT_ROOT[platform.machine()], root.encode(), f"{root}/old".encode())
    _check(pivot, "pivot_root")
    os.chdir("/")
    for path, real in shown:
        _show(path, f"/old{real}", links.get(path), path in devices)
    os.mkdir(SCRATCH)  # noqa: PTH102
    _check(_libc.umount2(b"/old", _MNT_DETACH), "umount of the old root")
    os.rmdir("/old")  # noqa: PTH106
    _set_attributes("/", _ATTR_RDONLY | _ATTR_NOSUID | _ATTR_NODEV)


def _show(path: str, source: str, link: str | None, is_device: bool) -> None:
    if os.path.lexists(path) or not os.path.lexists(source):
        return  # one of those that it lies in is shown already, or there is none
    os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
    if link is not None:
        os.symlink(link, path)  # noqa: PTH211
        return
    if os.path.isdir(source):  # noqa: PTH112
        os.mkdir(path)  # noqa: PTH102
    else:
        os.close(os.open(path, os.O_CREAT, 0o444))
    _mount(source, path, None, _MS_BIND | _MS_REC)
    attributes = _ATTR_RDONLY | _ATTR_NOSUID | (0 if is_device else _ATTR_NODEV)
    _set_attributes(path, attributes, _AT_RECURSIVE)


def mount_scratch(size: int, files: int, owner: int) -> None:
    """A folder in memory to work in, for so many bytes and so many files."""
    _check(_libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None), "mount --make-private")
    options = f"size={size},nr_inodes={files},mode=0700,uid={owner},gid={owner}"
    _mount("tmpfs", SCRATCH, "tmpfs", _MS_NOSUID | _MS_NODEV, options)
    os.chdir(SCRATCH)
