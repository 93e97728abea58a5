"""Reading the columns of a row: what a mapping sees, and what becomes of what does not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from cbcore.columns._paths import SYSTEM, ColumnPath, NoSuchError, Side, shown
from cbcore.components import describe_exception
from cbcore.exceptions import ColumnError, MissingScoreError
from cbcore.introspection import function_name
from cbcore.names import near_matches
from cbcore.usercode import import_attribute

SUFFIX = "_column"
"""What a parameter ends in that says where a field is read from."""


class Row(Mapping[str, Any]):
    """What a mapping sees: the columns of the example and those the system returned, together.

    `original` and `processed` hold them apart, `system` is the name of the system under test
    (None outside a run). A column both have is that of the preferred side.
    """

    def __init__(
        self,
        original: Mapping[str, Any],
        processed: Mapping[str, Any],
        *,
        system: str | None = None,
        prefer: Side = "processed",
    ) -> None:
        self.original = original
        self.processed = processed
        self.system = system
        sides = (processed, original) if prefer == "processed" else (original, processed)
        self._first, self._second = sides

    def __getitem__(self, name: str) -> Any:
        if name in self._first:
            return self._first[name]
        if name in self._second:
            return self._second[name]
        if name == "original":
            return self.original
        if name == "processed":
            return self.processed
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter({**self.original, **self.processed})

    def __len__(self) -> int:
        return len({**self.original, **self.processed})


Column: TypeAlias = str | Callable[[Row], Any]
"""Where a field is read from: the name of a column, a path, or a function of the row."""


class ColumnReader:
    """Reads the mapped fields of an evaluator from rows.

    `columns` maps fields to where they are read from, `sides` says which of them belong to the
    output (`"processed"`) rather than the example. `accepts` may hold, for a field, a function
    that returns its value as it is wanted, or raises `MissingScoreError` for another type.
    Raises ValueError for a path that cannot be read and TypeError for what is no column.
    """

    def __init__(
        self,
        evaluator: str,
        columns: Mapping[str, Column],
        sides: Mapping[str, Side],
        *,
        accepts: Mapping[str, Callable[[Any], Any]] | None = None,
        system: str | None = None,
    ) -> None:
        self.evaluator = evaluator
        self.columns = {field: resolved(field, column) for field, column in columns.items()}
        self.sides = dict(sides)
        self.accepts = dict(accepts or {})
        self.system = system
        self._readers: dict[str, ColumnPath | Callable[[Row], Any]] = {}
        for field, column in self.columns.items():
            self._readers[field] = self._parsed(field, column)

    def _parsed(self, field: str, column: Column) -> ColumnPath | Callable[[Row], Any]:
        if not isinstance(column, str):
            return column
        try:
            path = ColumnPath.parse(column)
        except ValueError as error:
            raise ValueError(f"{field}{SUFFIX}: {error}") from error
        return path if self.system is None else path.for_system(self.system)

    @property
    def depends_on_system(self) -> bool:
        """Whether a column may be another for another system; a function can look at it."""
        return any(callable(c) or SYSTEM in c for c in self.columns.values())

    def for_system(self, name: str) -> ColumnReader:
        """The reader for the rows of one system."""
        return ColumnReader(
            self.evaluator, self.columns, self.sides, accepts=self.accepts, system=name
        )

    def read(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, Any]:
        """The value of every mapped field. Raises `ColumnError`."""
        return {field: self._value(field, original, processed) for field in self.columns}

    def check(
        self, original: Mapping[str, Any], processed: Mapping[str, Any] | None = None
    ) -> list[str]:
        """Try the mapping on one example. Raises `ColumnError`.

        Without an output, what is to be read from it is not an error but is returned, as text.
        """
        unchecked = []
        for field in self.columns:
            try:
                self._value(field, original, {} if processed is None else processed)
            except ColumnError as error:
                if processed is not None or not self._may_be_in_output(field, original):
                    raise
                unchecked.append(
                    f"{error.evaluator}: {error.parameter}={error.column} is read from what the "
                    "system returns, so it was not checked"
                )
        return unchecked

    def _may_be_in_output(self, field: str, original: Mapping[str, Any]) -> bool:
        reader = self._readers[field]
        if not isinstance(reader, ColumnPath) or reader.side == "processed":
            return True
        in_example = reader.side == "original" or reader.starts_in(original)
        return not in_example and self.sides.get(field) == "processed"

    def _value(self, field: str, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Any:
        side = self.sides.get(field, "original")
        row = Row(original, processed, system=self.system, prefer=side)
        value = self._found(field, row, side)
        if field not in self.accepts:
            return value
        try:
            return self.accepts[field](value)
        except MissingScoreError as error:
            raise self._error(field, row, error.message) from error

    def _found(self, field: str, row: Row, side: Side) -> Any:
        reader = self._readers[field]
        if isinstance(reader, ColumnPath):
            if self.system is None and SYSTEM in reader.text:
                reason = "{system} is known in a run only; elsewhere use for_system(name)"
                raise self._error(field, row, reason)
            try:
                return reader.look_up(row.original, row.processed, side)
            except NoSuchError as error:
                raise self._error(field, row, str(error), error.wanted, error.there) from None
        try:
            return reader(row)
        except MissingScoreError:
            raise
        except Exception as error:  # the user's own function, plain as it is called per row
            wanted = error.args[0] if isinstance(error, KeyError) and error.args else ""
            reason = f"the function raised {describe_exception(error)}"
            raise self._error(field, row, reason, str(wanted), row) from error

    def _error(
        self, field: str, row: Row, reason: str, wanted: str = "", there: Iterable[str] = ()
    ) -> ColumnError:
        column = self.columns[field]
        return ColumnError(
            self.evaluator,
            field + SUFFIX,
            repr(column) if isinstance(column, str) else function_name(column),
            reason,
            example_id=row.original.get("id"),
            columns=shown(row),
            near=near_matches(wanted, list(map(str, there))) if wanted else (),
        )


def resolved(field: str, column: Any) -> Column:
    """The column, with a function named by text imported: the store knows it by its code."""
    if isinstance(column, str) and column.startswith("py:"):
        try:
            column = import_attribute(column)
        except ValueError as error:
            raise ValueError(f"{field}{SUFFIX}: {error}") from error
    if not isinstance(column, str) and not callable(column):
        raise TypeError(
            f"{field}{SUFFIX} is a column, a path or a function of the row, not {column!r}"
        )
    found: Column = column
    return found
