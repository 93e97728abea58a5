"""Fields of datasets: read from other columns, from data frames, and checked in your own data."""

from __future__ import annotations

import ast
import inspect
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from operator import length_hint
from typing import Any

import attrs

from cbcore.binding import convert
from cbcore.columns import SUFFIX, ColumnReader, format_flags, list_names, propose_fields
from cbcore.contexts import FORMS
from cbcore.exceptions import ColumnError, DataError, ParameterError, UsageError
from cbcore.files import FileDataset
from cbcore.specs import Spec

_CHECKED_ROWS = 100


@attrs.frozen(eq=False, repr=False)
class Layout:
    """The columns of a dataset's fields, and whether repeated ids get their position added."""

    fields: Mapping[str, Any] = attrs.Factory(dict)
    unique_ids: bool = False

    @classmethod
    def split_spec(cls, spec: Spec, signature: inspect.Signature) -> tuple[Spec, Layout]:
        """A dataset's spec without the layout in it, and the layout.

        Parameters that the dataset has itself stay in the spec.
        """
        own = signature.parameters
        spec, columns = split_columns(spec, signature)
        params = dict(spec.params)
        fields = {} if "fields" in own else params.pop("fields", {})
        unique_ids = False if "unique_ids" in own else params.pop("unique_ids", False)
        try:
            fields = {**{n.removesuffix(SUFFIX): column for n, column in columns.items()}, **fields}
            unique_ids = convert(unique_ids, bool)
        except TypeError:
            hint = "write context_column=COLUMN, or in a run file fields: {context: COLUMN}"
            reason = f"fields is {fields!r}, not fields with their columns"
            raise ParameterError(spec.name, reason, hint=hint) from None
        except ValueError as error:
            raise ParameterError(spec.name, f"unique_ids: {error}") from error
        return attrs.evolve(spec, params=params), cls(fields, unique_ids)

    @property
    def parameters(self) -> dict[str, Any]:
        """The layout as parameters of a spec, for the record of a run."""
        columns = {f"{field}{SUFFIX}": column for field, column in self.fields.items()}
        return {**columns, **({"unique_ids": True} if self.unique_ids else {})}

    def apply(self, dataset: Any, name: str) -> Any:
        """The dataset in this layout; a layout that it already has goes first.

        Raises `ParameterError` for a value that is not a column.
        """
        fields = self.fields
        unique_ids = self.unique_ids
        if isinstance(dataset, MappedDataset):
            fields = {**fields, **dataset.fields}
            unique_ids = unique_ids or dataset.unique_ids
            dataset = dataset.dataset
        if not fields and not unique_ids and not _is_own_data(dataset):
            return dataset
        try:
            return MappedDataset(dataset, fields, unique_ids=unique_ids)
        except (ValueError, TypeError) as error:
            raise ParameterError(name or "the dataset", str(error)) from error


def split_columns(spec: Spec, signature: inspect.Signature) -> tuple[Spec, dict[str, Any]]:
    """A spec without the `…_column` parameters that its component does not take, and those."""
    own = signature.parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in own.values())
    columns = {
        name: value
        for name, value in spec.params.items()
        if name.endswith(SUFFIX) and name != SUFFIX and name not in own and not takes_any
    }
    others = {name: value for name, value in spec.params.items() if name not in columns}
    return attrs.evolve(spec, params=others), columns


class MappedDataset:
    """The examples of a dataset with fields read from other columns, which stay in the example.

    A list of texts becomes one `context`, joined with blank lines. If the first example lacks a
    column, iteration raises a `DataError`; a later one is replaced by the `DataError`. With
    `unique_ids`, a repeated id gets its position added. In the user's own data, a gold answer
    that is a list written as text becomes that list. Raises ValueError or TypeError for a value
    that is not a column.
    """

    def __init__(
        self, dataset: Any, fields: Mapping[str, Any], *, unique_ids: bool = False
    ) -> None:
        self.dataset = dataset
        name = getattr(dataset, "name", None) or "the dataset"
        self._reader = ColumnReader(name, fields, {})
        self.fields = self._reader.columns
        self.unique_ids = unique_ids
        self._is_own = _is_own_data(dataset)

    def __getattr__(self, name: str) -> Any:
        if name == "dataset":  # while it is unpickled
            raise AttributeError(name)
        return getattr(self.dataset, name)

    def __length_hint__(self) -> int:
        known = length_hint(self.dataset, -1)
        return known if known >= 0 else NotImplemented

    def __iter__(self) -> Iterator[Any]:
        seen: set[Any] = set()
        for index, raw in enumerate(self.dataset):
            if not isinstance(raw, Mapping):
                yield raw
                continue
            try:
                example = self._map(raw, index)
            except DataError as error:
                if index == 0:
                    raise
                yield error
                continue
            if self.unique_ids:
                _make_unique(example, index, seen)
            yield example

    def _map(self, raw: Mapping[str, Any], index: int) -> dict[str, Any]:
        try:
            values = self._reader.read(raw, {}, example=f"example {index}")
        except ColumnError as error:
            hint = "write a column, a path such as meta.text, or a function of the row"
            raise DataError(error.message, hint=hint) from error
        example = {**raw, **values}
        if "context" in values or (self._is_own and "context" in example):
            example["context"] = _join(example["context"])
        if self._is_own and "answer" in example:
            example["answer"] = _read_alternatives(example["answer"])
        return example


def _join(context: Any) -> Any:
    """One text from several, such as the passages of a retriever or their sentences."""
    if not isinstance(context, list | tuple):
        return context
    passages = []
    for part in context:
        if isinstance(part, list | tuple) and all(isinstance(text, str) for text in part):
            part = " ".join(text.strip() for text in part)  # noqa: PLW2901
        if not isinstance(part, str):
            return context
        passages.append(part)
    return "\n\n".join(passages)


def _read_alternatives(gold: Any) -> Any:
    """The list in a text such as `"['Paris', 'City of Paris']"`; any other gold unchanged."""
    if not isinstance(gold, str) or not (gold.startswith("[") and gold.endswith("]")):
        return gold
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(gold)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(found, list) and all(isinstance(one, str) for one in found):
            return found
    return gold


def _make_unique(example: dict[str, Any], index: int, seen: set[Any]) -> None:
    known = example.get("id")
    if type(known) is not str and type(known) is not int:
        return
    dataset = str(example.get("dataset") or "")
    if (dataset, known) in seen:
        example["id"] = f"{known}#{index}"
    seen.add((dataset, example["id"]))


# -- your own data ---------------------------------------------------------------------------------


class TableRecords:
    """The rows of a data frame as dicts. NaN, NaT and NA are None."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __len__(self) -> int:
        return len(self._frame)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for start in range(0, len(self), 256):
            for record in self._frame.iloc[start : start + 256].to_dict("records"):
                row = {str(column): _read_cell(value) for column, value in record.items()}
                known = row.get("id")
                if isinstance(known, float) and known.is_integer():
                    row["id"] = int(known)  # one missing id makes a column of integers floats
                elif not isinstance(known, str | int | None):
                    row["id"] = str(known)
                yield row


def read_table(value: Any) -> Any:
    """A dataset unchanged, or the records of a pandas data frame, which iterates over columns."""
    # By name: the import of pandas would cost everybody without a data frame.
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(value).__mro__}
    return TableRecords(value) if ("pandas", "DataFrame") in kinds else value


def _read_cell(value: Any) -> Any:
    if hasattr(value, "tolist"):  # Parquet files give lists as arrays
        value = value.tolist()
    is_nan = isinstance(value, float) and math.isnan(value)
    return None if is_nan or type(value).__name__ in ("NaTType", "NAType") else value


def _is_own_data(dataset: Any) -> bool:
    """Whether the rows come from a file or data frame of the user."""
    source = dataset.dataset if isinstance(dataset, MappedDataset) else dataset
    return isinstance(source, FileDataset | TableRecords)


def check_own_data(dataset: Any, name: str, warn: Callable[[str], None]) -> None:
    """Refuse the user's own data if no system can read it; warn about doubtful gold answers.

    Plugins know the layout of their data, and a generator can be read only once: other data is
    not checked.
    """
    if not _is_own_data(dataset):
        return
    name = name or "the dataset"
    rows = [row for row in islice(dataset, _CHECKED_ROWS) if isinstance(row, Mapping)]
    if not rows:
        return
    if all(row.get(field) is None for row in rows for field in (*FORMS, "question", "turns")):
        fields = propose_fields(rows[0]) or {"context": "COLUMN", "question": "COLUMN"}
        raise UsageError(
            f"{name} has neither 'context' nor 'question', so systems would have "
            f"nothing to work on; its columns are {list_names(rows[0])}",
            hint=f"say where they stand: {format_flags(fields)}",
        )
    nested = next((row["context"] for row in rows if isinstance(row.get("context"), Mapping)), None)
    if nested is not None:
        texts = {key: str(_join(part)) for key, part in nested.items()}
        longest = max(texts, key=lambda key: len(texts[key]), default="KEY")
        raise UsageError(
            f"The field 'context' of {name} is an object with the keys {list_names(nested)}, "
            "not text.",
            hint=f"name the text in it: {format_flags({'context': f'context.{longest}'})}",
        )
    golds = [row["answer"] for row in rows if "answer" in row]
    for pattern, problem in _DOUBTFUL_GOLDS.items():
        doubtful = [gold for gold in golds if isinstance(gold, str) and re.fullmatch(pattern, gold)]
        if doubtful:
            warn(
                f"{len(doubtful)} of the first {len(golds)} gold answers of {name} "
                f"{problem.format(doubtful[0])}"
            )


_DOUBTFUL_GOLDS = {
    r"\s*": "are empty texts, which some scores count as matched by any response. "
    "Use null for a missing answer.",
    r"\s*-?\d+\.0\s*": "are whole numbers written as decimals, such as {!r}. Scores that ignore "
    "punctuation compare the digits alone. Write the numbers without '.0'.",
    r"(?i)\s*(nan|null|none|n/a)\s*": "say {!r}, which is compared as text. "
    "Leave the cell empty for a missing answer.",
}
"""Patterns of gold answers that are compared otherwise than their authors meant."""
