"""Rows as a Parquet file, written in batches so that their number does not matter."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import attrs

from cbcore.exceptions import MissingExtraError
from cbcore.plain import json_safe
from cbcore.results import EvalResult, EvalRow

_ROWS_PER_BATCH = 10_000


@attrs.frozen
class Parquet:
    """One row per system and example, with a column for every score; needs a file.

    Ids are text. `metadata` and `missing` are JSON objects as text, because their keys differ
    from row to row.
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
        scores = sorted({name for row in result.rows for name in row.scores})
        schema = pyarrow.schema(
            [
                *((name, pyarrow.string()) for name in ("system", "example_id", "dataset")),
                *((name, pyarrow.int64()) for name in _INTEGERS),
                ("latency", pyarrow.float64()),
                ("recalled", pyarrow.bool_()),
                *((name, pyarrow.string()) for name in ("error", "response")),
                *((_column(name), pyarrow.float64()) for name in scores),
                *((name, pyarrow.string()) for name in ("missing", "metadata")),
            ]
        )
        rows = iter(result.rows)
        with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
            while batch := list(islice(rows, _ROWS_PER_BATCH)):
                flat = [_flat(row, scores) for row in batch]
                writer.write_table(pyarrow.Table.from_pylist(flat, schema=schema))


_INTEGERS = ("repeat", "input_tokens", "output_tokens", "response_tokens")


def _flat(row: EvalRow, scores: list[str]) -> dict[str, Any]:
    flat = {name: getattr(row, name) for name in (*_INTEGERS, "latency", "recalled")}
    for name in ("system", "example_id", "dataset", "error", "response"):
        value = getattr(row, name)
        flat[name] = None if value is None else _storable(str(value))
    flat |= {_column(name): row.scores.get(name) for name in scores}
    flat["missing"] = json.dumps(row.missing)
    flat["metadata"] = json.dumps(json_safe(row.metadata))
    return flat


def _column(score: str) -> str:
    return _storable(f"scores.{score}")


def _storable(text: str) -> str:
    """Text as UTF-8 can hold it: a lone surrogate becomes a question mark."""
    return text.encode("utf-8", "replace").decode()
