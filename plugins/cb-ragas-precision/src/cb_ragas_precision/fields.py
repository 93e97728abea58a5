"""What the evaluators read from a row, under which names, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from cbcore.columns import SUFFIX, Column, ColumnReader, Side
from cbcore.exceptions import MissingScoreError
from cbcore.names import near_matches


@attrs.frozen
class Field:
    """A field an evaluator reads: its name, whose it is, and the names it is found under."""

    name: str
    side: Side
    names: tuple[str, ...]


QUESTION = Field("question", "original", ("question", "user_input"))
GROUND_TRUTH = Field("ground_truth", "original", ("ground_truth", "reference", "answer"))
REFERENCE_CONTEXTS = Field("reference_contexts", "original", ("reference_contexts",))
CONTEXTS = Field("contexts", "processed", ("contexts", "retrieved_contexts"))
RESPONSE = Field("response", "processed", ("response",))
CONTEXT_IDS = Field("context_ids", "processed", ("context_ids", "retrieved_context_ids"))
REFERENCE_IDS = Field(
    "reference_context_ids", "original", ("reference_context_ids", "reference_ids")
)

_LEGACY = {
    f"user_input{SUFFIX}": f"question{SUFFIX}",
    f"retrieved_contexts{SUFFIX}": f"contexts{SUFFIX}",
    f"reference{SUFFIX}": f"ground_truth{SUFFIX}",
    f"retrieved_context_ids{SUFFIX}": f"context_ids{SUFFIX}",
}
_TEXT_KEYS = ("text", "content", "page_content")


def with_legacy(
    columns: dict[str, Column | None], legacy: Mapping[str, Any]
) -> dict[str, Column | None]:
    """Columns by parameter, with those given under the names ragas and ValidMind use.

    Raises ValueError for a name that is neither, or a column that is given twice.
    """
    found = dict(columns)
    for old, column in legacy.items():
        new = _LEGACY.get(old, "")
        if new not in found:
            known = [*found, *(o for o, n in _LEGACY.items() if n in found)]
            near = near_matches(old, known, limit=1)
            hint = f"did you mean {near[0]}?" if near else f"columns: {', '.join(known)}"
            raise ValueError(f"there is no parameter {old!r}; {hint}")
        if found[new] is not None:
            raise ValueError(f"{new} and {old} are the same column: give one of them")
        found[new] = column
    return found


class Fields:
    """Reads an evaluator's fields: from the columns it was given, or where they usually are."""

    def __init__(
        self, evaluator: str, fields: tuple[Field, ...], columns: Mapping[str, Column | None]
    ) -> None:
        self._evaluator = evaluator
        self._fields = {field.name: field for field in fields}
        given = {
            parameter.removesuffix(SUFFIX): column
            for parameter, column in columns.items()
            if column is not None
        }
        sides = {field.name: field.side for field in fields}
        self.reader = ColumnReader(evaluator, given, sides)
        retrieved, gold = given.get("contexts"), given.get("reference_contexts")
        references = (gold, "reference_contexts", "original.reference_contexts")
        if retrieved is not None and retrieved in references:
            raise ValueError(
                f"contexts{SUFFIX} is {retrieved!r}: those are the reference contexts, "
                "and compared with themselves they are always perfect"
            )

    def for_system(self, name: str) -> Fields:
        """The fields of one system's rows."""
        bound = Fields(self._evaluator, tuple(self._fields.values()), {})
        bound.reader = self.reader.for_system(name)
        return bound

    def read(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, Any]:
        """The value of each field; None for one that is nowhere. Raises `ColumnError`."""
        values = self.reader.read(original, processed)
        for name, field in self._fields.items():
            if name not in values:
                data = original if field.side == "original" else processed
                present = (data[n] for n in field.names if data.get(n) is not None)
                values[name] = next(present, None)
        return values


def text(value: Any, what: str) -> str:
    """A text. Raises `MissingScoreError` for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list | tuple) and value and all(isinstance(v, str) for v in value):
        return str(value[0])
    if not isinstance(value, str):
        raise MissingScoreError(
            f"there is no {what}" if value is None else f"the {what} is a {_kind(value)}, not text"
        )
    if not value.strip():
        raise MissingScoreError(f"the {what} is empty")
    return value


def texts(value: Any, what: str, where: str) -> list[str]:
    """A list of texts, each given as such or as a dict with `text`. Raises `MissingScoreError`."""
    if value is None:
        raise MissingScoreError(f"there are no {what}: {where}")
    if isinstance(value, str):
        raise MissingScoreError(
            f"the {what} are one text, not a list of texts: split it, or put it in a list"
        )
    if not isinstance(value, list | tuple):
        raise MissingScoreError(f"the {what} are a {_kind(value)}, not a list of texts")
    found = []
    for rank, item in enumerate(value, start=1):
        if isinstance(item, Mapping):
            item = next((item[key] for key in _TEXT_KEYS if key in item), item)  # noqa: PLW2901
        if not isinstance(item, str):
            raise MissingScoreError(f"number {rank} of the {what} is a {_kind(item)}, not a text")
        found.append(item)
    return found


def contexts(value: Any) -> list[str]:
    """What was retrieved. Raises `MissingScoreError` unless it is a list of texts."""
    where = f"the system has to return them as `contexts`, or contexts{SUFFIX}= says where"
    return texts(value, "retrieved contexts", where)


def _kind(value: Any) -> str:
    return type(value).__name__
