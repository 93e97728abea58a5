"""What stands for the components of an earlier run: its stored outputs and examples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from cbcore.exceptions import ProcessError
from cbcore.store.rows import StoredRows

__all__ = ()


class StoredSystem:
    """Stands for a system of an earlier run: its outputs, by their `key` in the store."""

    def __init__(self, record: dict[str, Any], rows: StoredRows) -> None:
        self.name = record["name"]
        self.record = record
        self.key = rows.find_system_key()
        self._errors = dict(rows.find("example_id, error", "error NOT NULL"))

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        error = self._errors.get(str(example.get("id")))
        if error is None:
            raise ProcessError("no output is stored for this example")
        name, _, reason = error.partition(": ")
        raise type(name, (Exception,), {})(reason)


class StoredData:
    """Stands for a dataset of an earlier run: the examples that the store has of it, in order.

    `read` yields them each time, and a `DataError` in the place of one that could not be made.
    """

    def __init__(
        self, record: dict[str, Any], main_score: str | None, read: Callable[[], Iterator[Any]]
    ) -> None:
        self.name = record["name"]
        self.record = record
        self.main_score = main_score
        self._read = read

    def __iter__(self) -> Iterator[Any]:
        return self._read()
