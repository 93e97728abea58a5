"""The filter that keeps a program from calls of the kernel that no solution needs.

They are those that reach memory which is not counted, keys and processes of others, or parts
of the kernel in which ways out have been found.
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
    fsconfig              431      431
    fsmount               432      432
    fsopen                430      430
    fspick                433      433
    io_uring_setup        425      425
    kcmp                  312      272
    keyctl                250      219
    memfd_create          319      279
    memfd_secret          447      447
    mount                 165       40
    mount_setattr         442      442
    move_mount            429      429
    msgget                 68      186
    open_tree             428      428
    perf_event_open       298      241
    pivot_root            155       41
    process_vm_readv      310      270
    process_vm_writev     311      271
    ptrace                101      117
    request_key           249      218
    semget                 64      190
    setns                 308      268
    shmat                  30      196
    shmget                 29      194
    umount2               166       39
    unshare               272       97
    userfaultfd           323      282
"""
_MACHINES = {
    # Its number in an audit, and that of the call `clone`.
    "x86_64": (0xC000003E, 56),
    "aarch64": (0xC00000B7, 220),
}
_CLONE3 = 435
_X32 = 0x40000000
"""On x86-64 every call has a second number from here on."""
_NEW_NAMESPACES = 0x7E020000
_LOAD, _RETURN, _EQUALS, _AT_LEAST, _HAS_BIT = 0x20, 0x06, 0x15, 0x35, 0x45
_NUMBER, _MACHINE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _FAIL_WITH = 0x7FFF0000, 0x00050000


def call_filter(machine: str | None = None) -> bytes:
    """The filter as the kernel takes it; empty on a kind of machine whose calls are not known."""
    machine = machine or platform.machine()
    if machine not in _MACHINES:
        return b""
    audit, clone = _MACHINES[machine]
    (_, *machines), *calls = (line.split() for line in _REFUSED.strip().splitlines())
    numbers = [int(call[1 + machines.index(machine)]) for call in calls]
    flags, allow, refuse, absent = (len(numbers) + step for step in (6, 8, 9, 10))
    # What is done, the steps to go on with if it is so and if not (None: the next), a number.
    steps: list[tuple[int, int | None, int | None, int]] = [
        (_LOAD, None, None, _MACHINE),
        (_EQUALS, None, refuse, audit),
        (_LOAD, None, None, _NUMBER),
        (_AT_LEAST, refuse, None, _X32),
        *((_EQUALS, refuse, None, number) for number in numbers),
        (_EQUALS, absent, None, _CLONE3),  # glibc falls back to clone, whose flags can be seen
        (_EQUALS, flags, allow, clone),
        (_LOAD, None, None, _FIRST_ARGUMENT),
        (_HAS_BIT, refuse, None, _NEW_NAMESPACES),
        (_RETURN, None, None, _ALLOW),
        (_RETURN, None, None, _FAIL_WITH | errno.EPERM),
        (_RETURN, None, None, _FAIL_WITH | errno.ENOSYS),
    ]
    return b"".join(
        struct.pack(
            "=HBBI", what, *(0 if target is None else target - at for target in targets), number
        )
        for at, (what, *targets, number) in enumerate(steps, start=1)
    )
