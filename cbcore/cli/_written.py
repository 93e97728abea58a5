"""How reports get to their place: whole, or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from cbcore._store.owned import abandoned, entries, hold

_PREFIX = ".cb-part-"
_NO_PLACE_BESIDE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file to write to, which takes the place of `path` when all went well.

    Until then, and after a failure or a crash, what was there before stays as it was. The new
    file has the permissions of the old one. What is no file of its own (a device, a pipe, a
    link, such as `/dev/stdout`) is written directly, and so is a file in a folder that takes no
    other.
    """
    part = _part_beside(path) if _is_replaceable(path) else None
    if part is None:
        yield path
        return
    name, descriptor = part
    try:
        yield name
        written = name.stat()
        if not written.st_size and not written.st_mtime_ns:
            raise OSError(errno.ENODATA, "nothing was written")
        _take_permissions(name, path)
        _to_disk(name)
        name.replace(path)
        with contextlib.suppress(OSError):
            _to_disk(path.parent)
    finally:
        os.close(descriptor)
        name.unlink(missing_ok=True)


def _is_replaceable(path: Path) -> bool:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return True
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1


def _part_beside(path: Path) -> tuple[Path, int] | None:
    """A new file beside `path`, held open; None where the folder takes none."""
    for left in entries(path.parent, _PREFIX):
        if left.name.endswith(f"-{path.name}"):
            with abandoned(left) as is_left:
                if is_left:
                    left.unlink(missing_ok=True)
    while True:
        # The name ends alike: a reporter may go by the suffix.
        part = path.with_name(f"{_PREFIX}{os.urandom(4).hex()}-{path.name}")
        try:
            descriptor = os.open(part, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666)
        except OSError as error:
            if error.errno in _NO_PLACE_BESIDE:
                return None
            raise
        hold(descriptor)
        with contextlib.suppress(FileNotFoundError):  # cleaned away before it was held
            os.utime(part, (0, 0))  # which shows whether anybody wrote to it
            return part, descriptor
        os.close(descriptor)


def _take_permissions(part: Path, path: Path) -> None:
    try:
        old = path.stat()
    except FileNotFoundError:
        return
    with contextlib.suppress(OSError):
        if (old.st_uid, old.st_gid) != (os.getuid(), os.getgid()):
            os.chown(part, old.st_uid, old.st_gid)
        part.chmod(stat.S_IMODE(old.st_mode))


def _to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
