"""The rows of a result for other programs: JSON lines and CSV."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

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
    """One line per row, with the columns of `EvalResult.flat_columns`: one for every score and metadata key.

    Text that a spreadsheet would take for a formula gets a leading apostrophe, and control
    characters other than tabs and newlines are written out.
    """

    name = "csv"
    extension = "csv"

    def render(self, result: EvalResult) -> str:
        """A header line, then the rows in the order of the result."""
        columns = result.flat_columns()
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(map(_cell, columns.names))
        for row in result.rows:
            line = columns.line(row)
            writer.writerow([_cell(to_json_safe(line.get(name))) for name in columns.names])
        return out.getvalue()


def _cell(value: Any) -> str | int | float | None:
    """JSON data as a cell: numbers as they are, structures as JSON, text defused."""
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = visible(text, keep="\t\n")
    text = _AFTER_SEMICOLON.sub(";'", text)
    return f"'{text}" if text.lstrip(" ").startswith(_FORMULA_STARTS) else text
