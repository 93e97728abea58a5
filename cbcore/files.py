"""Local files as datasets: `.jsonl`, `.json`, `.csv` and `.parquet`, read row by row."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cbcore.exceptions import DataError, MissingExtraError, UsageError
from cbcore.names import near_matches
from cbcore.specs import FILE_SUFFIXES


class FileDataset:
    """The rows of a data file, as they are; the format is told by the file's suffix."""

    def __init__(self, path: str) -> None:
        self.path = Path(path).expanduser()
        suffix = self.path.suffix.lower()
        if suffix not in FILE_SUFFIXES:
            raise UsageError(
                f"{path}: cannot tell how to read a file ending in {suffix!r}",
                hint=f"use one of {', '.join(FILE_SUFFIXES)}",
            )
        if not self.path.is_file():
            raise UsageError(f"there is no data file {str(path)!r}", hint=self._near_files())
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

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows, read anew each time. A file without any is an error."""
        empty = True
        for row in self.rows():
            empty = False
            yield row
        if empty:
            raise DataError(f"{self.path}: the file is empty, it has no rows")

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows, of which there may be none: for files that are only part of a dataset."""
        return self._read()

    def _near_files(self) -> str | None:
        folder = self.path.parent
        if not folder.is_dir():
            return f"there is no folder {str(folder)!r} either"
        near = near_matches(self.path.name, [entry.name for entry in folder.iterdir()], limit=1)
        return f"did you mean {folder / near[0]}?" if near else None

    def _bad(self, where: str, what: str) -> DataError:
        return DataError(f"{self.path}, {where}: {what}")

    def _read_jsonl(self) -> Iterator[dict[str, Any]]:
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                raw = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
                if raw.strip():
                    yield self._object(self._parse(raw, f"line {number}"), f"line {number}")

    def _parse(self, raw: bytes, where: str) -> Any:
        try:
            return json.loads(raw.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise self._bad(where, f"not valid UTF-8 at byte {error.start}") from error
        except json.JSONDecodeError as error:
            raise self._bad(
                where, f"not valid JSON: {error.msg} at column {error.colno}"
            ) from error
        except (ValueError, RecursionError) as error:  # a number too long, nesting too deep
            raise self._bad(where, f"not usable JSON: {error}") from error

    def _object(self, value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._bad(where, f"expected an object with keys, found {type(value).__name__}")
        return value

    def _read_json(self) -> Iterator[dict[str, Any]]:
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

    def _read_csv(self) -> Iterator[dict[str, Any]]:
        # The default of 128 KiB per cell is less than a long context; the limit is a global.
        csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))
        with self.path.open(encoding="utf-8-sig", newline="") as lines:
            reader = csv.DictReader(lines, strict=True)
            try:
                header = list(reader.fieldnames or ())
                twice = [name for name in header if header.count(name) > 1]
                if twice:
                    raise self._bad("line 1", f"the header has {twice[0]!r} twice")
                for row in reader:
                    if None in row:
                        raise self._bad(f"line {reader.line_num}", "more cells than the header has")
                    if None in row.values():
                        raise self._bad(
                            f"line {reader.line_num}", "fewer cells than the header has"
                        )
                    yield dict(row)
            except csv.Error as error:
                line = reader.reader.line_num  # the outer reader counts finished rows only
                raise self._bad(f"line {line}", f"not valid CSV: {error}") from error
            except UnicodeDecodeError as error:
                raise self._not_utf8() from error

    def _not_utf8(self) -> DataError:
        """Find the line: decoding happens in blocks, so the error itself does not know it."""
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    line.decode("utf-8")
                except UnicodeDecodeError as error:
                    return self._bad(f"line {number}", f"not valid UTF-8 at byte {error.start}")
        return self._bad("whole file", "not valid UTF-8")

    def _read_parquet(self) -> Iterator[dict[str, Any]]:
        try:
            import pyarrow.parquet
        except ImportError as error:
            raise MissingExtraError(f"reading {self.path}", "pyarrow", "cbcore[parquet]") from error
        try:
            with pyarrow.parquet.ParquetFile(self.path) as table:
                for batch in table.iter_batches(batch_size=256):
                    yield from batch.to_pylist()
        except (pyarrow.ArrowException, OSError) as error:
            raise self._bad("whole file", f"not valid Parquet: {error}") from error
