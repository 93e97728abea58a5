"""Files in object stores and on the hub, by their addresses: `s3://`, `hf://`, `gs://`, `https://`.

They are read through fsspec, block by block, as far as rows are asked for. Credentials are found
where the libraries behind it look for them: in the environment and in their own files. An address
is shown without any that stands in it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

from cbcore.components import describe_exception
from cbcore.exceptions import CBError, DataError, MissingExtraError, UsageError
from cbcore.secrets import is_telling, notice, redact, remember

__all__ = ()

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_BLOCK_BYTES = 2**20


def is_address(text: str) -> bool:
    """Whether a text is an address rather than a path."""
    return _ADDRESS.match(text) is not None


def notice_address(address: str) -> None:
    """Remember what may be a credential in an address: who logs in, and the query."""
    notice(address)
    parts = _split(address)
    login, at, _ = parts.netloc.rpartition("@")
    values = [value for _, value in parse_qsl(parts.query)]
    for text in (login + at, login, parts.query, *filter(is_telling, values)):
        if text:
            remember(text)


def _split(address: str) -> SplitResult:
    try:
        return urlsplit(address)
    except ValueError as error:
        raise UsageError(f"{redact(address)!r} is no address: {error}") from error


class RemoteFile:
    """A file by its address, with what reading a data file takes of a `Path`.

    Shown, it is the address without what may be a credential: who logs in, and the query.
    """

    def __init__(self, address: str) -> None:
        notice_address(address)
        self._address = address
        parts = _split(address)
        host = parts.netloc.rpartition("@")[2]
        self._shown = f"{parts.scheme}://{host}{parts.path}"
        self._name = PurePosixPath(parts.path or host)

    def __str__(self) -> str:
        return self._shown

    __repr__ = __str__

    @property
    def name(self) -> str:
        return self._name.name

    @property
    def stem(self) -> str:
        return self._name.stem

    @property
    def suffix(self) -> str:
        return self._name.suffix

    def with_suffix(self, suffix: str) -> PurePosixPath:
        """Its name with another suffix."""
        return self._name.with_suffix(suffix)

    def is_file(self) -> bool:
        """Whether it is there. Raises `UsageError` or `DataError` where that cannot be found out."""
        with self._told():
            system, path = self._found()
            return bool(system.isfile(path))

    def open(self, mode: str = "r", **text: Any) -> Any:
        """The file, to be read as it comes; as text with an encoding."""
        with self._told():
            system, path = self._found()
            opened = io.BufferedReader(system.open(path, "rb"), _BLOCK_BYTES)
        return opened if "b" in mode else io.TextIOWrapper(opened, **text)

    def read_bytes(self) -> bytes:
        """All of it."""
        with self.open("rb") as file, self._told():
            content: bytes = file.read()
            return content

    def _found(self) -> tuple[Any, str]:
        try:
            import fsspec
        except ImportError as error:
            raise MissingExtraError(f"reading {self}", "fsspec", "cbcore[remote]") from error
        try:
            found: tuple[Any, str] = fsspec.core.url_to_fs(self._address)
        except (ImportError, ValueError) as error:
            # Which says what to install, or that there is no such protocol.
            raise UsageError(f"cannot read {self}: {redact(str(error))}") from error
        return found

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What others' libraries raise, as an error about this file."""
        try:
            yield
        except (CBError, KeyboardInterrupt):
            raise
        except Exception as error:  # the boundary to whatever library reads this kind of address
            described = redact(describe_exception(error))
            raise DataError(
                f"cannot read {self}: {described}",
                hint="is the address right, and are its credentials in the environment?",
            ) from error
