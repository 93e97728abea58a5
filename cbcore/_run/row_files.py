"""Where finished rows are kept: in memory, or on disk for runs of any length."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
import tempfile
import weakref
from array import array
from collections.abc import Iterator, Sequence
from io import FileIO
from pathlib import Path
from typing import Any, overload

from cbcore._store.owned import abandoned, entries, hold
from cbcore._store.rows import decoded, encoded
from cbcore._store.tally import Tally
from cbcore.exceptions import StoreError
from cbcore.results import EvalRow

_BUFFERED_ROWS = 128
_PREFIX = "cb-rows-"
_FILE_NAME = "rows.jsonl"


class DiskRows(Sequence[EvalRow]):
    """Rows in a file of their own; only where each starts is kept in memory.

    The file is temporary: it goes when the last reference to the rows does. When it cannot be
    written, rows appended before stay readable.
    """

    def __init__(self, system: str, folder: Path | None = None) -> None:
        self._system = system
        try:
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
            self._folder, self._file = _new_file(folder)
        except OSError as error:
            raise _failure(folder or "the temporary folder", error) from error
        self._path = self._folder / _FILE_NAME
        self._starts = array("Q")
        self._written = 0
        self._buffered: list[bytes] = []
        self.tally = Tally()
        # Not with the run: a result keeps its rows for as long as somebody keeps the result.
        weakref.finalize(self, _remove, self._file, self._folder)

    def append(self, row: EvalRow) -> None:
        """Add a row. Raises `StoreError` when there is no room for it."""
        if len(self._buffered) >= _BUFFERED_ROWS:
            self._write()
        self._buffered.append(encoded(row) + b"\n")
        self.tally.add(row)

    def _write(self) -> None:
        data = memoryview(b"".join(self._buffered))
        try:
            # What a failed attempt left behind is written over.
            self._file.seek(self._written)
            while data:
                data = data[self._file.write(data) or 0 :]
        except OSError as error:
            raise _failure(self._path, error) from error
        ends = list(itertools.accumulate(map(len, self._buffered), initial=self._written))
        self._buffered = []
        self._written = ends.pop()
        self._starts.extend(ends)

    def __len__(self) -> int:
        return len(self._starts) + len(self._buffered)

    def __iter__(self) -> Iterator[EvalRow]:
        return self._read(len(self._starts), tuple(self._buffered))

    def _read(self, n_written: int, buffered: Sequence[bytes]) -> Iterator[EvalRow]:
        with self._path.open("rb") as lines:
            for line in itertools.chain(itertools.islice(lines, n_written), buffered):
                yield self._row(line)

    def _row(self, line: bytes) -> EvalRow:
        return decoded(self._system, line[:-1])

    @overload
    def __getitem__(self, index: int) -> EvalRow: ...
    @overload
    def __getitem__(self, index: slice) -> list[EvalRow]: ...
    def __getitem__(self, index: int | slice) -> EvalRow | list[EvalRow]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        if number >= len(self._starts):
            return self._row(self._buffered[number - len(self._starts)])
        with self._path.open("rb") as lines:
            lines.seek(self._starts[number])
            return self._row(lines.readline())


def _new_file(folder: Path | None) -> tuple[Path, FileIO]:
    """A folder for rows and the file in it, held open."""
    while True:
        made = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder)).absolute()
        with contextlib.suppress(FileNotFoundError):
            file = (made / _FILE_NAME).open("wb", buffering=0)
            hold(file.fileno())
            if (made / _FILE_NAME).stat().st_ino == os.fstat(file.fileno()).st_ino:
                return made, file
        # A run that cleaned up took it away before it was held.


def remove_abandoned(folder: Path) -> None:
    """Remove what runs that were killed left in a folder. What a living one has stays."""
    for left in entries(folder, _PREFIX):
        with abandoned(left / _FILE_NAME) as is_left:
            if is_left:
                shutil.rmtree(left, ignore_errors=True)
        with contextlib.suppress(OSError):  # killed before there was a file in it
            left.rmdir()


def _failure(where: object, error: OSError) -> StoreError:
    return StoreError(
        f"finished rows cannot be written to {where}: {error.strerror}",
        hint="free some space and run again, or name another folder with --cache-dir",
    )


def _remove(file: Any, folder: Path) -> None:
    file.close()
    shutil.rmtree(folder, ignore_errors=True)
