"""Data frames as datasets: their records, read a few at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

__all__: tuple[str, ...] = ()

_ROWS_AT_ONCE = 256


class TableRecords:
    """The rows of a data frame as dicts. What a frame shows as NaN, NaT or NA is None."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __len__(self) -> int:
        return len(self._frame)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for start in range(0, len(self), _ROWS_AT_ONCE):
            part = self._frame.iloc[start : start + _ROWS_AT_ONCE]
            for record in part.to_dict("records"):
                plain = {str(column): _plain(value) for column, value in record.items()}
                if "id" in plain:
                    plain["id"] = _id(plain["id"])
                yield plain


def as_dataset(value: Any) -> Any:
    """A dataset as it is; a pandas data frame, whose iteration gives columns, as its records."""
    # Told by name: importing pandas to ask it would cost everybody who has no data frame.
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(value).__mro__}
    return TableRecords(value) if ("pandas", "DataFrame") in kinds else value


def _plain(value: Any) -> Any:
    """A cell as plain data: Parquet files, for one, give lists as arrays."""
    if isinstance(value, str | int | list | dict):
        return value
    if hasattr(value, "tolist"):
        value = value.tolist()
    missing = type(value).__name__ in ("NaTType", "NAType")
    return None if missing or (isinstance(value, float) and math.isnan(value)) else value


def _id(value: Any) -> Any:
    """An id as it was meant: one that is missing makes a column of whole numbers one of floats."""
    if value is None or isinstance(value, str | int):
        return value
    return int(value) if isinstance(value, float) and value.is_integer() else str(value)
