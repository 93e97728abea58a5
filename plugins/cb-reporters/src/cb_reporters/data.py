"""The rows of a result for other programs: JSON lines and CSV."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import attrs

from cbcore.exceptions import MissingExtraError
from cbcore.json_data import to_json_safe
from cbcore.results import EvalResult
from cbcore.texts import visible

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\n", "＝", "＋", "－", "＠")
_AFTER_SEMICOLON = re.compile(r";(?=\s*[=@＝＠]|[+-]\w)")
"""Where a spreadsheet that splits lines at `;` would find a formula."""


@attrs.frozen
class JsonLines:
    """One JSON object per row.

    Only ASCII, so that no character inside a text can end a line.
    """

    name = "jsonl"
    extension = "jsonl"

    def render(self, result: EvalResult) -> str:
        """The rows in the order of the result; empty without rows."""
        return "".join(_lines(result))

    def write(self, result: EvalResult, path: str | Path) -> None:
        """The same, to a file, row by row: there may be more of them than fit into memory."""
        with Path(path).open("w", encoding="ascii", newline="\n") as file:
            file.writelines(_lines(result))


def _lines(result: EvalResult) -> Iterator[str]:
    for row in result.rows:
        yield json.dumps(to_json_safe(row.to_dict()), allow_nan=False) + "\n"


@attrs.frozen
class Csv:
    """One line per row, with the columns of `EvalResult.flat_rows`: one for every score and metadata key.

    Text that a spreadsheet would take for a formula gets a leading apostrophe, and control
    characters other than tabs and newlines are written out.
    """

    name = "csv"
    extension = "csv"

    def render(self, result: EvalResult) -> str:
        """A header line, then the rows in the order of the result."""
        columns, lines = result.flat_rows()
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(map(_cell, columns))
        for line in lines:
            writer.writerow([_cell(to_json_safe(line.get(name))) for name in columns])
        return out.getvalue()


def _cell(value: Any) -> str | int | float | None:
    """JSON data as a cell: numbers as they are, structures as JSON, text defused."""
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = visible(text, keep="\t\n")
    text = _AFTER_SEMICOLON.sub(";'", text)
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA_STARTS) else text


_ROWS_PER_BATCH = 10_000
_TEXTS = ("system", "example_id", "dataset", "error", "response", "example_key", "missing")
_TYPES = {
    **dict.fromkeys(_TEXTS, "string"),
    **dict.fromkeys(("input_tokens", "output_tokens", "response_tokens", "repeat"), "int64"),
    "latency": "float64",
    "cached": "bool",
}
_LARGEST_INTEGER = 2**63


@attrs.frozen
class Parquet:
    """One row per system and example, with the columns of `EvalResult.flat_rows`; needs a file.

    Ids are text. Metadata are numbers or true and false where every row has such, and otherwise
    text: strings as they are, all else as JSON.
    """

    name = "parquet"
    extension = "parquet"

    def write(self, result: EvalResult, path: str | Path) -> None:
        """Write the rows to a file."""
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError as error:
            raise MissingExtraError("parquet", "pyarrow", "cb-reporters[parquet]") from error
        columns, lines = result.flat_rows()
        known = _TYPES | _metadata_types(result)
        types = {name: known.get(name, "float64") for name in columns}
        by_name = {
            "string": pyarrow.string(),
            "int64": pyarrow.int64(),
            "float64": pyarrow.float64(),
            "bool": pyarrow.bool_(),
        }
        schema = pyarrow.schema([(_storable(name), by_name[kind]) for name, kind in types.items()])
        with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
            while batch := list(islice(lines, _ROWS_PER_BATCH)):
                flat = [_flat(line, types) for line in batch]
                writer.write_table(pyarrow.Table.from_pylist(flat, schema=schema))


def _metadata_types(result: EvalResult) -> dict[str, str]:
    """The type of each metadata column, which all values that rows have in it fit."""
    found: dict[str, set[str]] = {}
    for row in result.rows:
        for key, value in row.metadata.items():
            found.setdefault(f"metadata.{key}", set()).add(_kind(value))
    return {name: _together(kinds - {""}) for name, kinds in found.items()}


def _kind(value: Any) -> str:
    if value is None:
        return ""
    if type(value) is int and -_LARGEST_INTEGER <= value < _LARGEST_INTEGER:
        return "int64"
    return {bool: "bool", float: "float64"}.get(type(value), "string")


def _together(kinds: set[str]) -> str:
    if len(kinds) == 1:
        return next(iter(kinds))
    return "float64" if kinds == {"int64", "float64"} else "string"


def _flat(line: dict[str, Any], types: dict[str, str]) -> dict[str, Any]:
    return {
        _storable(name): _storable(_text(value)) if types[name] == "string" else value
        for name, value in line.items()
        if value is not None
    }


def _text(value: Any) -> str:
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value)
    return json.dumps(to_json_safe(value))


def _storable(text: str) -> str:
    """Text as UTF-8 can hold it: a lone surrogate becomes a question mark."""
    return text.encode("utf-8", "replace").decode()
