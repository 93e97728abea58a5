"""Reading rows: fields by path, and errors that say which row and which field are wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cbcore.exceptions import DataError


class Row:
    """One row of a source. Fields inside fields are reached by path: `document.summary.text`.

    `number` counts from 0 and names rows that have no id of their own.
    """

    def __init__(self, values: Mapping[str, Any], *, dataset: str, number: int) -> None:
        self.values = values
        self.dataset = dataset
        self.number = number

    def get(self, path: str) -> Any:
        """The value at a path, or None."""
        if path in self.values:  # a name may itself hold a dot
            return self.values[path]
        value: Any = self.values
        for part in path.split("."):
            if not isinstance(value, Mapping):
                return None
            value = value.get(part)
        return value

    def text(self, path: str) -> str:
        """A text that is not blank, without the white space around it."""
        value = self.get(path)
        if not isinstance(value, str):
            raise self.bad(path, f"expected a text, found {described(value)}")
        if not value.strip():
            raise self.bad(path, "the text is empty")
        return value.strip()

    def optional_text(self, path: str) -> str:
        """A text, or the empty text where there is none."""
        value = self.get(path)
        absent = value is None or (isinstance(value, str) and not value.strip())
        return "" if absent else self.text(path)

    def source(self, path: str) -> str:
        """A text kept to the letter, such as program code."""
        self.text(path)
        value: str = self.get(path)
        return value

    def items(self, path: str) -> list[Any]:
        """A list of anything."""
        value = self.get(path)
        if not isinstance(value, list | tuple):
            raise self.bad(path, f"expected a list, found {described(value)}")
        return list(value)

    def texts(self, path: str) -> list[str]:
        """A list of texts, as they are."""
        return self.all_texts(path, self.items(path))

    def all_texts(self, path: str, values: Any) -> list[str]:
        """Values found at a path, which have to be a list of texts."""
        if not isinstance(values, list | tuple):
            raise self.bad(path, f"expected a list, found {described(values)}")
        for value in values:
            if not isinstance(value, str):
                raise self.bad(path, f"expected texts, found {described(value)}")
        return list(values)

    def record(self, path: str, value: Any) -> Row:
        """A record found at a path, to be read like a row."""
        if not isinstance(value, Mapping):
            raise self.bad(path, f"expected a record, found {described(value)}")
        return Row(value, dataset=self.dataset, number=self.number)

    def records(self, path: str) -> list[Row]:
        """A list of records, each to be read like a row."""
        return [self.record(path, value) for value in self.items(path)]

    def columns(self, path: str, *names: str) -> list[tuple[Any, ...]]:
        """Lists of equal length kept under a field, row by row; as the hub stores records."""
        columns = [self.items(f"{path}.{name}") for name in names]
        if len({len(column) for column in columns}) > 1:
            lengths = ", ".join(f"{len(c)} of {n}" for c, n in zip(columns, names, strict=True))
            raise self.bad(path, f"the lists do not pair: {lengths}")
        return list(zip(*columns, strict=True))

    def parsed(self, path: str) -> Any:
        """The JSON that a text holds."""
        try:
            return json.loads(self.text(path))
        except ValueError as error:
            raise self.bad(path, f"not valid JSON: {error}") from error

    def bad(self, path: str, what: str) -> DataError:
        """The error that names this row and a field."""
        return DataError(
            f"{self.dataset} row {self.number}, field {path!r}: {what}",
            hint=f"`cb datasets check {self.dataset}` compares data with what is expected",
        )


def described(value: Any) -> str:
    """A value described in words."""
    return "nothing" if value is None else f"a {type(value).__name__}"
