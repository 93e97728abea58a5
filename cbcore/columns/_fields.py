"""A dataset whose fields stand in columns of other names: everybody in a run sees the fields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from cbcore.columns._guesses import as_flags, proposed_fields
from cbcore.columns._paths import ColumnPath, NoSuchError, shown
from cbcore.columns._reader import SUFFIX, Column, Row, resolved
from cbcore.components import describe_exception
from cbcore.exceptions import DataError, MissingScoreError, UsageError
from cbcore.names import hint

_TO_WORK_ON = ("context", "question", "turns")
_ROWS_LOOKED_AT = 5


class Fielded:
    """The examples of a dataset, with fields read from other columns; the columns stay there.

    A field is a column's name, a path or a function of the row, as for evaluators. A list of
    texts becomes one `context`, with a blank line between them. What the first example lacks
    is an error of the mapping, raised as `DataError`; a later one that lacks it is replaced by
    the `DataError` that says so. With `unique_ids`, an id that comes again gets its position
    added. Raises ValueError or TypeError for what is no column.
    """

    def __init__(
        self, dataset: Any, fields: Mapping[str, Column], *, unique_ids: bool = False
    ) -> None:
        self.dataset = dataset
        self.fields = {field: resolved(field, column) for field, column in fields.items()}
        self.unique_ids = unique_ids
        self._read: dict[str, Callable[[Mapping[str, Any]], Any]] = {
            field: _reader(field, column) for field, column in self.fields.items()
        }

    def __getattr__(self, name: str) -> Any:
        if name in ("dataset", "fields", "_read"):  # not there yet while being unpickled
            raise AttributeError(name)
        return getattr(self.dataset, name)

    def __iter__(self) -> Iterator[Any]:
        taken: set[Any] = set()
        for index, raw in enumerate(self.dataset):
            example = self._with_fields(raw, index) if isinstance(raw, Mapping) else raw
            if index == 0 and isinstance(example, DataError) and example is not raw:
                raise example
            if self.unique_ids and isinstance(example, dict):
                _make_unique(example, index, taken)
            yield example

    def _with_fields(self, raw: Mapping[str, Any], index: int) -> dict[str, Any] | DataError:
        # All are read before any is replaced, so that two can be swapped.
        found = {}
        for field, read in self._read.items():
            try:
                found[field] = read(raw)
            except NoSuchError as error:
                return self._misfit(field, raw, index, str(error), error.wanted, error.there)
            except MissingScoreError as error:
                return self._misfit(field, raw, index, error.message)
            except Exception as error:  # noqa: BLE001 - the user's function, called per row
                return self._misfit(field, raw, index, f"it raised {describe_exception(error)}")
        if "context" in found:
            found["context"] = _joined(found["context"])
        return {**raw, **found}

    def _misfit(
        self,
        field: str,
        raw: Mapping[str, Any],
        index: int,
        reason: str,
        wanted: str = "",
        there: Any = (),
    ) -> DataError:
        meant = hint(wanted, there, "", lead="; ", shown=repr) if wanted else ""
        column = self.fields[field]
        told = repr(column) if isinstance(column, str) else "a function"
        return DataError(
            f"{getattr(self.dataset, 'name', None) or 'the dataset'}: {field}{SUFFIX}={told} does "
            f"not fit example {index}: {reason}{meant} (columns: {shown(raw)})",
            hint="write a column, a path such as meta.text, or a function of the row",
        )


class SizedFielded(Fielded):
    """The same of a dataset that knows how many examples it has."""

    def __len__(self) -> int:
        return len(self.dataset)


def with_fields(dataset: Any, fields: Mapping[str, Column], *, unique_ids: bool = False) -> Any:
    """A dataset with `fields` read from other columns; what it has been given before stays."""
    if isinstance(dataset, Fielded):
        fields = {**fields, **dataset.fields}
        unique_ids = unique_ids or dataset.unique_ids
        dataset = dataset.dataset
    if not fields and not unique_ids:
        return dataset
    kind = SizedFielded if hasattr(dataset, "__len__") else Fielded
    return kind(dataset, fields, unique_ids=unique_ids)


def check_has_fields(dataset: Any, name: str) -> None:
    """Refuse data in which nothing stands where a system looks, and propose where it may stand.

    The first rows are looked at, so it is for data that can be read again.
    """
    first: Mapping[str, Any] | None = None
    for looked_at, example in enumerate(dataset):
        if isinstance(example, Mapping):
            if any(example.get(field) is not None for field in _TO_WORK_ON):
                return
            first = first or example
        if looked_at + 1 == _ROWS_LOOKED_AT:
            break
    if first:
        raise UsageError(
            f"{name or 'the dataset'} has neither 'context' nor 'question', so systems would have "
            f"nothing to work on; its columns are {shown(first)}",
            hint=proposal(first),
        )


def proposal(example: Mapping[str, Any]) -> str:
    """How the columns of an example could be given as fields."""
    fields = proposed_fields(example) or {"context": "COLUMN", "question": "COLUMN"}
    return f"say where they stand: {as_flags(fields)}"


def _reader(field: str, column: Column) -> Callable[[Mapping[str, Any]], Any]:
    if not isinstance(column, str):
        function = column
        return lambda example: function(Row(example, {}))
    try:
        path = ColumnPath.parse(column)
    except ValueError as error:
        raise ValueError(f"{field}{SUFFIX}: {error}") from error
    return path.find


def _joined(context: Any) -> Any:
    """One text from several, such as the passages that a retriever found."""
    texts = isinstance(context, list | tuple) and all(isinstance(part, str) for part in context)
    return "\n\n".join(context) if texts else context


def _make_unique(example: dict[str, Any], index: int, taken: set[Any]) -> None:
    known = example.get("id")
    if type(known) is not str and type(known) is not int:
        return
    key = (str(example.get("dataset") or ""), known)
    if key in taken:
        example["id"] = f"{known}#{index}"
        key = (key[0], example["id"])
    taken.add(key)
