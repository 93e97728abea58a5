"""Files as datasets: `.jsonl`, `.json`, `.csv` and `.parquet`, read row by row.

They are local ones, or in an object store by their address: `s3://bucket/rows.jsonl`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

from cbcore.boundary import contained
from cbcore.exceptions import DataError, MissingExtraError, UsageError
from cbcore.names import hint
from cbcore.remote import RemoteFile, is_address

FILE_SUFFIXES = (".jsonl", ".json", ".csv", ".parquet")
"""Endings of files that can be read as data."""

_Row: TypeAlias = "dict[str, Any] | DataError"
"""A row, or why there is none in this place."""

_MOST_UNREADABLE_AT_FIRST = 1000
"""So many rows may be unreadable before the first that is not."""


_MOST_BYTES_TO_COUNT = 64 * 2**20
"""A larger file would take longer to count than anybody wants to wait for a run to begin."""


class FileDataset:
    """The rows of a data file; the suffix gives the format.

    An empty or blank cell of a CSV or Parquet file is a missing value, None.
    """

    def __init__(self, path: str) -> None:
        self.path = RemoteFile(path) if is_address(path) else Path(path).expanduser()
        suffix = self.path.suffix.lower()
        if suffix not in FILE_SUFFIXES:
            raise UsageError(
                f"{self.path}: cannot tell how to read a file ending in {suffix!r}",
                hint=f"use one of {', '.join(FILE_SUFFIXES)}",
            )
        if not self.path.is_file():
            raise UsageError(f"there is no data file {str(self.path)!r}", hint=self._near_files())
        self._read = {
            ".jsonl": self._read_jsonl,
            ".json": self._read_json,
            ".csv": self._read_csv,
            ".parquet": self._read_parquet,
        }[suffix]

    @property
    def name(self) -> str:
        """How rows of this file are tagged: the file's name without its suffix."""
        return self.path.stem

    def __iter__(self) -> Iterator[dict[str, Any] | DataError]:
        """The rows as `rows` gives them; a file without any is an error."""
        row = None
        for row in self.rows():
            yield row
        if row is None:
            raise DataError(f"{self.path}: the file is empty, it has no rows")

    def __length_hint__(self) -> int:
        """How many rows there are, where that can be known without reading all that they hold."""
        suffix = self.path.suffix.lower()
        with contained():  # what is wrong with the file is told when it is read
            if suffix == ".parquet":
                import pyarrow.parquet

                with self.path.open("rb") as file:
                    return int(pyarrow.parquet.read_metadata(file).num_rows)
            if isinstance(self.path, RemoteFile):
                return NotImplemented  # type: ignore[no-any-return]
            if suffix == ".jsonl" and self.path.stat().st_size <= _MOST_BYTES_TO_COUNT:
                with self.path.open("rb") as lines:
                    return sum(1 for line in lines if not line.isspace())
        return NotImplemented  # type: ignore[no-any-return]

    def rows(self) -> Iterator[dict[str, Any] | DataError]:
        """The rows, read anew each time; in place of one that cannot be read, why not.

        There may be none: a file may be only part of a dataset. One that begins with nothing but
        rows that cannot be read is an error: it is something else than its suffix says.
        """
        unreadable: list[DataError] = []
        for row in (rows := self._read()):
            if isinstance(row, DataError) and len(unreadable) < _MOST_UNREADABLE_AT_FIRST:
                unreadable.append(row)
                continue
            if isinstance(row, DataError):
                break
            yield from unreadable
            yield row
            yield from rows
            return
        if unreadable:
            raise unreadable[0]

    def _near_files(self) -> str | None:
        if isinstance(self.path, RemoteFile):
            return "is the address right, and may it be read? One that is signed ends to be valid"
        folder = self.path.parent
        if not folder.is_dir():
            return f"there is no folder {str(folder)!r} either"
        there = [entry.name for entry in folder.iterdir()]
        return hint(self.path.name, there, shown=lambda name: str(folder / name))

    def _bad(self, where: str, what: str) -> DataError:
        return DataError(f"{self.path}, {where}: {what}")

    def _read_jsonl(self) -> Iterator[_Row]:
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                raw = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
                if raw.strip():
                    yield self._parsed(raw, f"line {number}")

    def _parsed(self, raw: bytes, where: str) -> _Row:
        try:
            return self._object(json.loads(raw.decode("utf-8")), where)
        except UnicodeDecodeError as error:
            return self._bad(where, f"not valid UTF-8 at byte {error.start}")
        except json.JSONDecodeError as error:
            return self._bad(where, f"not valid JSON: {error.msg} at column {error.colno}")
        except (ValueError, RecursionError) as error:  # a number too long, nesting too deep
            return self._bad(where, f"not usable JSON: {error}")

    def _object(self, value: Any, where: str) -> _Row:
        if isinstance(value, dict):
            return value
        return self._bad(where, f"expected an object with keys, found {type(value).__name__}")

    def _read_json(self) -> Iterator[_Row]:
        try:
            data = json.loads(self.path.read_bytes().decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            raise self._not_utf8() from error
        except json.JSONDecodeError as error:
            hint = None
            if error.msg == "Extra data":
                hint = f"one object per line? Then call it {self.path.with_suffix('.jsonl').name}"
            raise DataError(
                f"{self.path}, line {error.lineno}: not valid JSON: {error.msg}", hint=hint
            ) from error
        except (ValueError, RecursionError) as error:
            raise self._bad("whole file", f"not usable JSON: {error}") from error
        if isinstance(data, dict):
            lists = [key for key, value in data.items() if isinstance(value, list)]
            if len(lists) != 1:
                raise self._bad("whole file", "expected a list of objects, or one key holding it")
            data = data[lists[0]]
        if not isinstance(data, list):
            raise self._bad("whole file", f"expected a list, found {type(data).__name__}")
        for index, value in enumerate(data):
            yield self._object(value, f"item {index}")

    def _read_csv(self) -> Iterator[_Row]:
        import csv

        # The default of 128 KiB per cell is less than a long context; the limit is a global.
        csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))
        # Bytes that are no UTF-8 are let through, to be found in the row that has them.
        with self.path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as lines:
            if not _is_text(lines.readline()):
                raise self._not_utf8()
            lines.seek(0)
            reader = csv.reader(lines, strict=True)
            header: list[str] | None = None
            while True:
                try:
                    cells = next(reader)
                except StopIteration:
                    return
                except csv.Error as error:
                    bad = self._bad(f"line {reader.line_num}", f"not valid CSV: {error}")
                    if header is None:
                        raise bad from error
                    yield bad
                    continue
                if header is not None and cells:
                    yield self._record(header, cells, reader.line_num)
                elif cells:
                    header = self._header(cells)

    def _header(self, cells: list[str]) -> list[str]:
        twice = next((name for name, n in Counter(cells).items() if n > 1), None)
        if twice is not None:
            raise self._bad("line 1", f"the header has {twice!r} twice")
        return cells

    def _record(self, header: list[str], cells: list[str], line: int) -> _Row:
        if len(cells) != len(header):
            which = "more" if len(cells) > len(header) else "fewer"
            return self._bad(f"line {line}", f"{which} cells than the header has")
        if not _is_text("".join(cells)):
            at = next(i for i, cell in enumerate(cells) if not _is_text(cell))
            return self._bad(f"line {line}", f"not valid UTF-8 in {header[at]!r}")
        return {name: _read_cell(cell) for name, cell in zip(header, cells, strict=True)}

    def _not_utf8(self) -> DataError:
        """Find the line: decoding happens in blocks, so the error itself does not know it."""
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError as error:
                    return self._bad(f"line {number}", f"not valid UTF-8 at byte {error.start}")
        return self._bad("whole file", "not valid UTF-8")

    def _read_parquet(self) -> Iterator[_Row]:
        try:
            import pyarrow.parquet
        except ImportError as error:
            raise MissingExtraError(f"reading {self.path}", "pyarrow", "cbcore[parquet]") from error
        try:
            with self.path.open("rb") as file, pyarrow.parquet.ParquetFile(file) as table:
                for batch in table.iter_batches(batch_size=256):
                    for row in batch.to_pylist():
                        yield {name: _read_cell(cell) for name, cell in row.items()}
        except (pyarrow.ArrowException, OSError) as error:
            raise self._bad("whole file", f"not valid Parquet: {error}") from error


def _is_text(text: str) -> bool:
    """Whether a text holds no byte that was let through although it is no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _read_cell(cell: Any) -> Any:
    """The value of a cell; None for a blank one."""
    return None if isinstance(cell, str) and not cell.strip() else cell
