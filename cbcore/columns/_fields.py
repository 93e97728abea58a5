"""A dataset whose fields stand in columns of other names: everybody in a run sees the fields."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from operator import length_hint
from typing import Any

from cbcore.columns._guesses import as_flags, propose_fields
from cbcore.columns._paths import ColumnPath, NoSuchError, shown
from cbcore.columns._reader import SUFFIX, Column, Row, resolved
from cbcore.columns._tables import TableRecords
from cbcore.components import describe_exception
from cbcore.contexts import FORMS
from cbcore.exceptions import DataError, MissingScoreError, UsageError
from cbcore.files import FileDataset
from cbcore.lazy import lazy_pattern
from cbcore.names import hint

_TO_WORK_ON = (*FORMS, "question", "turns")
_ROWS_LOOKED_AT = 100


class Fielded:
    """The examples of a dataset, with fields read from other columns; the columns stay there.

    A field is a column's name, a path or a function of the row, as for evaluators. A list of
    texts becomes one `context`, with a blank line between them. What the first example lacks
    is an error of the mapping, raised as `DataError`; a later one that lacks it is replaced by
    the `DataError` that says so. With `unique_ids`, an id that comes again gets its position
    added. In the user's own data, a gold answer that is a list written as text becomes that list.
    Raises ValueError or TypeError for what is no column.
    """

    def __init__(
        self, dataset: Any, fields: Mapping[str, Column], *, unique_ids: bool = False
    ) -> None:
        self.dataset = dataset
        self.fields = {field: resolved(field, column) for field, column in fields.items()}
        self.unique_ids = unique_ids
        self._is_own = is_own_data(dataset)
        self._read: dict[str, Callable[[Mapping[str, Any]], Any]] = {
            field: _reader(field, column) for field, column in self.fields.items()
        }

    def __getattr__(self, name: str) -> Any:
        if name in ("dataset", "fields", "_read"):  # not there yet while being unpickled
            raise AttributeError(name)
        return getattr(self.dataset, name)

    def __length_hint__(self) -> int:
        known = length_hint(self.dataset, -1)
        return known if known >= 0 else NotImplemented

    def __iter__(self) -> Iterator[Any]:
        taken: set[Any] = set()
        for index, raw in enumerate(self.dataset):
            example = self._with_fields(raw, index) if isinstance(raw, Mapping) else raw
            if index == 0 and isinstance(example, DataError) and example is not raw:
                raise example
            if isinstance(example, dict):
                if self._is_own and "answer" in example:
                    example["answer"] = _read_alternatives(example["answer"])
                if self.unique_ids:
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
        example = {**raw, **found}
        if "context" in found or (self._is_own and "context" in example):
            example["context"] = _joined(example["context"])
        return example

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
    if not fields and not unique_ids and not is_own_data(dataset):
        return dataset
    kind = SizedFielded if hasattr(dataset, "__len__") else Fielded
    return kind(dataset, fields, unique_ids=unique_ids)


def is_own_data(dataset: Any) -> bool:
    """Whether the rows come from a file or data frame of the user."""
    source = dataset.dataset if isinstance(dataset, Fielded) else dataset
    return isinstance(source, FileDataset | TableRecords)


def check_own_data(dataset: Any, name: str, warn: Callable[[str], None]) -> None:
    """Refuse data that no system can read, and `warn` about gold answers that would be misread.

    The first rows are read, so the data must be readable again.
    """
    name = name or "the dataset"
    rows = [row for row in islice(dataset, _ROWS_LOOKED_AT) if isinstance(row, Mapping)]
    if not rows:
        return
    if all(row.get(field) is None for row in rows for field in _TO_WORK_ON):
        raise UsageError(
            f"{name} has neither 'context' nor 'question', so systems would have "
            f"nothing to work on; its columns are {shown(rows[0])}",
            hint=proposal(rows[0]),
        )
    nested = next((row["context"] for row in rows if isinstance(row.get("context"), Mapping)), None)
    if nested is not None:
        texts = {key: text for key, part in nested.items() if _is_text(text := _joined(part))}
        within = max(texts, key=lambda key: len(texts[key]), default="KEY")
        raise UsageError(
            f"The field 'context' of {name} is an object with the keys {shown(nested)}, not text.",
            hint=f"name the text in it: {as_flags({'context': f'context.{within}'})}",
        )
    golds = [row["answer"] for row in rows if "answer" in row]
    for is_doubtful, problem in _DOUBTFUL_GOLDS:
        doubtful = [gold for gold in golds if isinstance(gold, str) and is_doubtful(gold)]
        if doubtful:
            warn(
                f"{len(doubtful)} of the first {len(golds)} gold answers of {name} "
                f"{problem.format(doubtful[0])}"
            )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


_DOUBTFUL_GOLDS: tuple[tuple[Callable[[str], Any], str], ...] = (
    (
        lambda gold: not gold.strip(),
        (
            "are empty texts, which some scores count as matched by any response. "
            "Use null for a missing answer."
        ),
    ),
    (
        lazy_pattern(r"\s*-?\d+\.0\s*").fullmatch,
        (
            "are whole numbers written as decimals, such as {!r}. Scores that ignore punctuation "
            "compare the digits alone. Write the numbers without '.0'."
        ),
    ),
    (
        lazy_pattern(r"(?i)\s*(nan|null|none|n/a)\s*").fullmatch,
        "say {!r}, which is compared as text. Leave the cell empty for a missing answer.",
    ),
)
"""Golds that are compared otherwise than their authors meant, and what to do about them."""


def proposal(example: Mapping[str, Any]) -> str:
    """How the columns of an example could be given as fields."""
    fields = propose_fields(example) or {"context": "COLUMN", "question": "COLUMN"}
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
    """One text from several, such as the passages of a retriever or their sentences."""
    if not isinstance(context, list | tuple):
        return context
    passages = [
        " ".join(map(str.strip, part))
        if isinstance(part, list | tuple) and all(map(_is_text, part))
        else part
        for part in context
    ]
    return "\n\n".join(passages) if all(map(_is_text, passages)) else context


def _read_alternatives(gold: Any) -> Any:
    """The list in a text such as `"['Paris', 'City of Paris']"`; any other gold unchanged."""
    if not isinstance(gold, str) or not (gold.startswith("[") and gold.endswith("]")):
        return gold
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(gold)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(found, list) and all(map(_is_text, found)):
            return found
    return gold


def _make_unique(example: dict[str, Any], index: int, taken: set[Any]) -> None:
    known = example.get("id")
    if type(known) is not str and type(known) is not int:
        return
    key = (str(example.get("dataset") or ""), known)
    if key in taken:
        example["id"] = f"{known}#{index}"
        key = (key[0], example["id"])
    taken.add(key)
