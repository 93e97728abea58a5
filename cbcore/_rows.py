"""Where finished rows are kept: in memory, or on disk for runs of any length."""

from __future__ import annotations

import itertools
import shutil
import tempfile
import weakref
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, overload

from cbcore.exceptions import StoreError
from cbcore.identity import from_bytes, plain_bytes
from cbcore.results import EvalRow, json_safe

_BUFFERED_BYTES = 1 << 16


class DiskRows(Sequence[EvalRow]):
    """Rows in a file of their own; only where each starts is kept in memory.

    The file is temporary: it goes when the last reference to the rows does. When it cannot be
    written, rows appended before stay readable.
    """

    def __init__(self, folder: Path | None = None) -> None:
        try:
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
            self._folder = Path(tempfile.mkdtemp(prefix="cb-rows-", dir=folder))
            self._path = self._folder / "rows.jsonl"
            self._file = self._path.open("wb", buffering=0)
        except OSError as error:
            raise _failure(folder or "the temporary folder", error) from error
        self._starts = array("Q")
        self._written = 0
        self._buffer = bytearray()
        weakref.finalize(self, _remove, self._file, self._folder)

    def append(self, row: EvalRow) -> None:
        """Add a row. Raises `StoreError` when there is no room for it."""
        data = _encoded(row)
        if len(self._buffer) + len(data) > _BUFFERED_BYTES:
            self._write()
        self._starts.append(self._written + len(self._buffer))
        self._buffer += data

    def _write(self) -> None:
        try:
            # What a failed attempt left behind is written over.
            self._file.seek(self._written)
            unwritten = memoryview(self._buffer)
            while unwritten:
                unwritten = unwritten[self._file.write(unwritten) or 0 :]
        except OSError as error:
            raise _failure(self._path, error) from error
        self._written += len(self._buffer)
        self._buffer = bytearray()

    def __len__(self) -> int:
        return len(self._starts)

    def __iter__(self) -> Iterator[EvalRow]:
        return self._between(0, len(self._starts), bytes(self._buffer), self._written)

    def _between(self, start: int, stop: int, rest: bytes, written: int) -> Iterator[EvalRow]:
        """Rows by number, from the file and then from what was not yet written to it."""
        if start >= stop:
            return
        position = self._starts[start]
        if position < written:
            with self._path.open("rb") as lines:
                lines.seek(position)
                while start < stop and self._starts[start] < written:
                    yield EvalRow(**from_bytes(lines.readline()))
                    start += 1
        for number in range(start, stop):
            line = rest[self._starts[number] - written :].partition(b"\n")[0]
            yield EvalRow(**from_bytes(line))

    @overload
    def __getitem__(self, index: int) -> EvalRow: ...
    @overload
    def __getitem__(self, index: slice) -> list[EvalRow]: ...
    def __getitem__(self, index: int | slice) -> EvalRow | list[EvalRow]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        start = self._starts[index]
        if start >= self._written:
            line = self._buffer[start - self._written :].partition(b"\n")[0]
        else:
            with self._path.open("rb") as lines:
                lines.seek(start)
                line = lines.readline()
        return EvalRow(**from_bytes(line))


class JoinedRows(Sequence[EvalRow]):
    """The rows of all systems, one after another, without copying them."""

    def __init__(self, parts: Sequence[Sequence[EvalRow]]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __iter__(self) -> Iterator[EvalRow]:
        return itertools.chain.from_iterable(self._parts)

    @overload
    def __getitem__(self, index: int) -> EvalRow: ...
    @overload
    def __getitem__(self, index: slice) -> list[EvalRow]: ...
    def __getitem__(self, index: int | slice) -> EvalRow | list[EvalRow]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        wanted = index + len(self) if index < 0 else index
        for part in self._parts:
            if 0 <= wanted < len(part):
                return part[wanted]
            wanted -= len(part)
        raise IndexError(index)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def _encoded(row: EvalRow) -> bytes:
    data = row.to_dict()
    try:
        return plain_bytes(data) + b"\n"
    except TypeError:  # metadata a system made of other things than plain data
        return plain_bytes(json_safe(data)) + b"\n"


def _failure(where: object, error: OSError) -> StoreError:
    return StoreError(
        f"finished rows cannot be written to {where}: {error.strerror}",
        hint="free some space and run again, or name another folder with --cache-dir",
    )


def _remove(file: Any, folder: Path) -> None:
    file.close()
    shutil.rmtree(folder, ignore_errors=True)
