"""Files as datasets: `.jsonl`, `.json`, `.csv` and `.parquet`, read row by row.

A file is local, or an address such as `s3://bucket/rows.jsonl`, `hf://`, `gs://` or `https://`.
fsspec reads an address block by block, as far as rows are needed. The libraries behind it find
credentials in the environment and in their own files.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from cbcore.boundary import at_boundary, contained
from cbcore.exceptions import DataError, MissingExtraError, UsageError
from cbcore.names import hint
from cbcore.secrets import is_telling, notice, remember

__all__ = ("FileDataset",)

FILE_SUFFIXES = (".jsonl", ".json", ".csv", ".parquet")
"""Endings of files that can be read as data."""

Row: TypeAlias = "dict[str, Any] | DataError"
"""A row, or the reason why it cannot be read."""

_MOST_UNREADABLE_AT_FIRST = 1000
_MOST_BYTES_TO_COUNT = 64 * 2**20
"""Larger files are not counted: that would delay the start of a run."""


class FileDataset:
    """The rows of a data file. The suffix gives the format.

    An empty or blank cell of a CSV or Parquet file is a missing value, None.
    """

    suffixes = FILE_SUFFIXES

    def __init__(self, path: str) -> None:
        self.path = RemoteFile(path) if is_address(path) else Path(path).expanduser()
        self.suffix = self.path.suffix.lower()
        if self.suffix not in FILE_SUFFIXES:
            raise UsageError(
                f"{self.path}: cannot tell how to read a file ending in {self.suffix!r}",
                hint=f"use one of {', '.join(FILE_SUFFIXES)}",
            )
        if not self.path.is_file():
            raise UsageError(f"there is no data file {str(self.path)!r}", hint=self._near_files())

    @property
    def name(self) -> str:
        """The file's name without its suffix."""
        return self.path.stem

    def __iter__(self) -> Iterator[Row]:
        """The rows as `rows` gives them; a file without any is an error."""
        row = None
        for row in self.rows():
            yield row
        if row is None:
            raise DataError(f"{self.path}: the file is empty, it has no rows")

    def __length_hint__(self) -> int:
        """The number of rows, if it is cheap to find."""
        with contained():  # reading the file reports what is wrong with it
            if self.suffix == ".parquet":
                import pyarrow.parquet

                with self.path.open("rb") as file:
                    return int(pyarrow.parquet.read_metadata(file).num_rows)
            is_small = isinstance(self.path, Path) and (
                self.path.stat().st_size <= _MOST_BYTES_TO_COUNT
            )
            if self.suffix == ".jsonl" and is_small:
                with self.path.open("rb") as lines:
                    return sum(1 for line in lines if not line.isspace())
        return NotImplemented  # type: ignore[no-any-return]

    def rows(self) -> Iterator[Row]:
        """The rows, read again each time; a row that cannot be read is a `DataError`.

        There may be none: a file may be only part of a dataset. If the first thousand rows cannot
        be read, the file has another format, and the first `DataError` is raised.
        """
        read = {
            ".jsonl": self._read_jsonl,
            ".json": self._read_json,
            ".csv": self._read_csv,
            ".parquet": self._read_parquet,
        }
        rows = read[self.suffix]()
        first: list[Row] = []
        for row in islice(rows, _MOST_UNREADABLE_AT_FIRST):
            first.append(row)
            if not isinstance(row, DataError):
                break
        if first and isinstance(first[-1], DataError):
            raise first[0]  # type: ignore[misc]
        yield from first
        yield from rows

    def _near_files(self) -> str | None:
        if isinstance(self.path, RemoteFile):
            return "check the address, its access rights, and whether its signature has expired"
        folder = self.path.parent
        if not folder.is_dir():
            return f"there is no folder {str(folder)!r} either"
        there = [entry.name for entry in folder.iterdir()]
        return hint(self.path.name, there, shown=lambda name: str(folder / name))

    def _bad(self, where: str, what: str) -> DataError:
        return DataError(f"{self.path}, {where}: {what}")

    def _read_jsonl(self) -> Iterator[Row]:
        with self.path.open("rb") as lines:
            yield from read_json_lines(lines, str(self.path))

    def _read_json(self) -> Iterator[Row]:
        try:
            data = json.loads(self.path.read_bytes().decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            jsonl = f"one object per line? Then call it {self.path.stem}.jsonl"
            is_jsonl = getattr(error, "msg", "") == "Extra data"
            raise DataError(
                f"{self.path}: not valid JSON: {error}", hint=jsonl if is_jsonl else None
            ) from error
        if isinstance(data, dict):
            lists = [value for value in data.values() if isinstance(value, list)]
            data = lists[0] if len(lists) == 1 else data
        if not isinstance(data, list):
            raise self._bad("whole file", "expected a list of objects, or one key holding it")
        for index, value in enumerate(data):
            yield _check_row(value, f"{self.path}, item {index}")

    def _read_csv(self) -> Iterator[Row]:
        import csv

        # The default of 128 KiB per cell is less than a long context; the limit is a global.
        csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))
        # Bytes that are not UTF-8 are let through, to be found in the row that has them.
        with self.path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as lines:
            reader = csv.reader(lines, strict=True)
            header: list[str] = []
            while True:
                try:
                    cells = next(reader, None)
                    if cells is None:
                        return
                    "".join(cells).encode()
                    if header and cells and len(cells) != len(header):
                        which = "more" if len(cells) > len(header) else "fewer"
                        raise csv.Error(f"{which} cells than the header has")
                    if len(set(cells)) < len(cells) and not header:
                        (name, _) = Counter(cells).most_common(1)[0]
                        raise csv.Error(f"the header has {name!r} twice")
                except (csv.Error, UnicodeEncodeError) as error:
                    what = "not valid UTF-8" if isinstance(error, UnicodeError) else str(error)
                    bad = self._bad(f"line {reader.line_num}", f"not valid CSV: {what}")
                    if not header:
                        raise bad from error
                    yield bad
                    continue
                if not header:
                    header = cells
                elif cells:
                    yield dict(zip(header, map(_read_cell, cells), strict=True))

    def _read_parquet(self) -> Iterator[Row]:
        pyarrow = import_extra("pyarrow", f"reading {self.path}", "parquet")
        parquet = import_extra("pyarrow.parquet", f"reading {self.path}", "parquet")
        try:
            with self.path.open("rb") as file, parquet.ParquetFile(file) as table:
                for batch in table.iter_batches(batch_size=256):
                    for row in batch.to_pylist():
                        yield {name: _read_cell(cell) for name, cell in row.items()}
        except (pyarrow.ArrowException, OSError) as error:
            raise self._bad("whole file", f"not valid Parquet: {error}") from error


def read_json_lines(lines: Iterable[bytes], file: str) -> Iterator[Row]:
    """The objects in lines of JSON. A line that is not an object gives a `DataError`."""
    for number, line in enumerate(lines, start=1):
        if line.strip() in (b"", b"\xef\xbb\xbf"):
            continue
        where = f"{file}, line {number}"
        try:
            yield _check_row(
                json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8")), where
            )
        except json.JSONDecodeError as error:
            yield DataError(f"{where}: not valid JSON: {error.msg} at column {error.colno}")
        except (ValueError, RecursionError) as error:  # not UTF-8, a long number, deep nesting
            yield DataError(f"{where}: not valid JSON: {error}")


def import_extra(module: str, doing: str, extra: str) -> Any:
    """Import a module of an optional dependency. Raises `MissingExtraError`."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtraError(doing, package, f"cbcore[{extra}]") from error


def _check_row(value: Any, where: str) -> Row:
    if isinstance(value, dict):
        return value
    return DataError(f"{where}: expected an object with keys, found {type(value).__name__}")


def _read_cell(cell: Any) -> Any:
    """The value of a cell; None for a blank one."""
    return None if isinstance(cell, str) and not cell.strip() else cell


# -- addresses -------------------------------------------------------------------------------------


def is_address(text: str) -> bool:
    """Whether a text is an address, not a path."""
    return re.match(r"(?i)[a-z][a-z0-9+.-]+://", text) is not None


def notice_address(address: str) -> None:
    """Remember what may be a credential in an address: the login and the query."""
    notice(address)
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise UsageError(f"{address!r} is not an address: {error}") from error
    login, at, _ = parts.netloc.rpartition("@")
    values = [value for _, value in parse_qsl(parts.query)]
    for text in (login + at, login, parts.query, *filter(is_telling, values)):
        remember(text)


class RemoteFile:
    """A file at an address, with those methods of a `Path` that a data file needs.

    As text it is the address without what may be a credential: the login and the query.
    """

    def __init__(self, address: str) -> None:
        notice_address(address)
        self._address = address
        parts = urlsplit(address)
        host = parts.netloc.rpartition("@")[2]
        self._shown = f"{parts.scheme}://{host}{parts.path}"
        path = PurePosixPath(parts.path or host)
        self.name = path.name
        self.stem = path.stem
        self.suffix = path.suffix

    def __str__(self) -> str:
        return self._shown

    __repr__ = __str__

    def is_file(self) -> bool:
        """Whether the file exists. Raises `UsageError` or `DataError`."""
        with self._boundary():
            system, path = self._find()
            return bool(system.isfile(path))

    def open(self, mode: str = "r", **text: Any) -> Any:
        """The file, as bytes or with an encoding as text."""
        with self._boundary():
            system, path = self._find()
            opened = io.BufferedReader(system.open(path, "rb"), 2**20)
        return opened if "b" in mode else io.TextIOWrapper(opened, **text)

    def read_bytes(self) -> bytes:
        """The whole file."""
        with self.open("rb") as file, self._boundary():
            content: bytes = file.read()
            return content

    def _find(self) -> tuple[Any, str]:
        fsspec = import_extra("fsspec", f"reading {self}", "remote")
        try:
            found: tuple[Any, str] = fsspec.core.url_to_fs(self._address)
        except (ImportError, ValueError) as error:  # an unknown protocol, or a missing package
            raise UsageError(f"cannot read {self}: {error}") from error
        return found

    def _boundary(self) -> contextlib.AbstractContextManager[None]:
        advice = "is the address right, and are its credentials in the environment?"
        return at_boundary(f"reading {self}", lambda text: DataError(text, hint=advice))
