"""The filter that keeps a program from calls of the kernel that no solution needs.

They are those that reach memory which is not counted, keys and processes of others, sockets
that are found by a name, or parts of the kernel in which ways out have been found.
"""

from __future__ import annotations

import errno
import platform
import struct

_REFUSED = """
    call               x86_64  aarch64
    add_key               248      217
    bpf                   321      280
    chroot                161       51
    fanotify_init         300      262
    fsconfig              431      431
    fsmount               432      432
    fsopen                430      430
    fspick                433      433
    io_setup              206        0
    io_uring_setup        425      425
    kcmp                  312      272
    keyctl                250      219
    memfd_create          319      279
    memfd_secret          447      447
    mount                 165       40
    mount_setattr         442      442
    move_mount            429      429
    mq_open               240      180
    msgget                 68      186
    name_to_handle_at     303      264
    open_by_handle_at     304      265
    open_tree             428      428
    perf_event_open       298      241
    pidfd_getfd           438      438
    pivot_root            155       41
    process_vm_readv      310      270
    process_vm_writev     311      271
    ptrace                101      117
    quotactl              179       60
    request_key           249      218
    semget                 64      190
    setns                 308      268
    shmat                  30      196
    shmget                 29      194
    syslog                103      116
    umount2               166       39
    unshare               272       97
    userfaultfd           323      282
"""
_LOOKED_AT = """
    call               x86_64  aarch64
    clone                  56      220
    socket                 41      198
    socketpair             53      199
    setsockopt             54      208
"""
_AUDITED_AS = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_CLONE3 = 435
_X32 = 0x40000000
"""On x86-64 every call has a second number from here on."""
_NEW_NAMESPACES = 0x7E020000
_INTERNET = (2, 10)
"""The families of a network that is empty here. All others reach something by a name."""
_CONNECTED = (1, 5)
"""Kinds of pairs that stay connected to each other; datagrams can be sent elsewhere."""
_SOCKET_LEVEL, _BUFFER_SIZES = 1, (7, 8, 32, 33)
_LOAD, _RETURN, _EQUALS, _AT_LEAST, _HAS_BIT, _AND = 0x20, 0x06, 0x15, 0x35, 0x45, 0x54
_NUMBER, _MACHINE, _FIRST, _SECOND, _THIRD = 0, 4, 16, 24, 32
_ALLOW, _FAIL_WITH = 0x7FFF0000, 0x00050000
_Step = tuple[int, str, str, int]
"""What is done, where to go on if it is so and if not (empty: with the next step), a number."""


def numbers(table: str, machine: str) -> dict[str, int]:
    """The numbers of calls on a kind of machine."""
    (_, *machines), *calls = (line.split() for line in table.strip().splitlines())
    return {name: int(found[machines.index(machine)]) for name, *found in calls}


def call_filter(machine: str | None = None) -> bytes:
    """The filter as the kernel takes it; empty on a kind of machine whose calls are not known."""
    machine = machine or platform.machine()
    if machine not in _AUDITED_AS:
        return b""
    looked_at = numbers(_LOOKED_AT, machine)
    steps: list[_Step | str] = [
        (_LOAD, "", "", _MACHINE),
        (_EQUALS, "", "refuse", _AUDITED_AS[machine]),
        (_LOAD, "", "", _NUMBER),
        (_AT_LEAST, "refuse", "", _X32),
        *((_EQUALS, "refuse", "", number) for number in numbers(_REFUSED, machine).values()),
        (_EQUALS, "absent", "", _CLONE3),  # glibc falls back to clone, whose flags can be seen
        *((_EQUALS, name, "", number) for name, number in looked_at.items()),
        (_RETURN, "", "", _ALLOW),
        *_arguments(),
        "allow",
        (_RETURN, "", "", _ALLOW),
        "refuse",
        (_RETURN, "", "", _FAIL_WITH | errno.EPERM),
        "absent",
        (_RETURN, "", "", _FAIL_WITH | errno.ENOSYS),
    ]
    return _assembled(steps)


def _arguments() -> list[_Step | str]:
    """What is refused of calls that are refused in part."""
    return [
        "clone",
        (_LOAD, "", "", _FIRST),
        (_HAS_BIT, "refuse", "allow", _NEW_NAMESPACES),
        "socket",
        (_LOAD, "", "", _FIRST),
        *((_EQUALS, "allow", "", family) for family in _INTERNET),
        (_RETURN, "", "", _FAIL_WITH | errno.EPERM),
        "socketpair",
        (_LOAD, "", "", _SECOND),
        (_AND, "", "", 0xF),
        *((_EQUALS, "allow", "", kind) for kind in _CONNECTED),
        (_RETURN, "", "", _FAIL_WITH | errno.EPERM),
        "setsockopt",
        (_LOAD, "", "", _SECOND),
        (_EQUALS, "", "allow", _SOCKET_LEVEL),
        (_LOAD, "", "", _THIRD),
        *((_EQUALS, "refuse", "", option) for option in _BUFFER_SIZES),
        (_RETURN, "", "", _ALLOW),
    ]


def _assembled(steps: list[_Step | str]) -> bytes:
    """Steps of eight bytes, with distances in place of the names that stand between them."""
    places: dict[str, int] = {}
    real: list[_Step] = []
    for step in steps:
        if isinstance(step, str):
            places[step] = len(real)
        else:
            real.append(step)
    return b"".join(
        struct.pack(
            "=HBBI",
            what,
            *(places[name] - at - 1 if name else 0 for name in (if_so, if_not)),
            number,
        )
        for at, (what, if_so, if_not, number) in enumerate(real)
    )
