"""What the evaluators read from a row, under which names, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from cbcore.columns import SUFFIX, Column, ColumnReader
from cbcore.contexts import text_of
from cbcore.exceptions import MissingScoreError
from cbcore.names import hint
from cbcore.scoring import NO_RESPONSE

# -- what a value has to be ----------------------------------------------------------------------


def text(value: Any, what: str) -> str:
    """A text. Raises `MissingScoreError` for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list | tuple) and value and all(isinstance(v, str) for v in value):
        return str(value[0])
    if value is None:
        raise MissingScoreError(NO_RESPONSE if what == "response" else f"there is no {what}")
    if not isinstance(value, str):
        raise MissingScoreError(f"the {what} is a {_kind(value)}, not text")
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
        found_text = text_of(item)
        if found_text is None:
            raise MissingScoreError(f"number {rank} of the {what} is a {_kind(item)}, not a text")
        found.append(found_text)
    return found


def contexts(value: Any) -> list[str]:
    """What was retrieved. Raises `MissingScoreError` unless it is a list of texts."""
    where = (
        "the system has to return them as `contexts`, or the example to have them if the system "
        f"returns no context; contexts{SUFFIX}= names another column"
    )
    return texts(value, "retrieved contexts", where)


def references(value: Any) -> list[str]:
    """The reference contexts. Raises `MissingScoreError` when there are none."""
    where = f"the example has none; reference_contexts{SUFFIX}= says where they are"
    found = texts(value, "reference contexts", where)
    if not found:
        raise MissingScoreError("the list of reference contexts is empty: nothing to compare with")
    return found


def remarks(found: Sequence[str], references: Any) -> dict[str, str]:
    """A note for the row where what was retrieved is what should have been."""
    if not isinstance(references, list | tuple) or list(found) != list(references):
        return {}
    return {
        "note": "the retrieved contexts are the reference contexts, word for word and in their "
        "order: if they were not retrieved but copied, contexts_column points at the wrong data"
    }


def ids(value: Any, whose: str) -> list[str]:
    """Ids as text, each once, in their order. Raises `MissingScoreError` for anything else."""
    if value is None:
        raise MissingScoreError(f"there are no {whose} ids")
    if not isinstance(value, list | tuple | set | frozenset):
        raise MissingScoreError(f"the {whose} ids are a {_kind(value)}, not a list")
    for one in value:
        if not isinstance(one, str | int) or isinstance(one, bool):
            raise MissingScoreError(f"one of the {whose} ids is a {_kind(one)}")
    return list(dict.fromkeys(map(str, value)))


def _kind(value: Any) -> str:
    return type(value).__name__


# -- where it is found ---------------------------------------------------------------------------


class Field(NamedTuple):
    """A field an evaluator reads.

    Its name, whose it is, the names it is found under, and what it has to be: a function that
    returns its value as it is wanted, or raises `MissingScoreError`.
    """

    name: str
    side: Literal["original", "processed"]
    names: tuple[str, ...]
    accepts: Callable[[Any], Any]


QUESTION = Field("question", "original", ("question", "user_input"), partial(text, what="question"))
GROUND_TRUTH = Field(
    "ground_truth",
    "original",
    ("ground_truth", "reference", "answer"),
    partial(text, what="ground truth"),
)
RESPONSE = Field("response", "processed", ("response",), partial(text, what="response"))
CONTEXTS = Field("contexts", "processed", ("contexts", "retrieved_contexts"), contexts)
REFERENCE_CONTEXTS = Field("reference_contexts", "original", ("reference_contexts",), references)
CONTEXT_IDS = Field(
    "context_ids",
    "processed",
    ("context_ids", "retrieved_context_ids"),
    partial(ids, whose="retrieved"),
)
REFERENCE_IDS = Field(
    "reference_context_ids",
    "original",
    ("reference_context_ids", "reference_ids"),
    partial(ids, whose="reference"),
)

_LEGACY = {
    "user_input": QUESTION.name,
    "retrieved_contexts": CONTEXTS.name,
    "reference": GROUND_TRUTH.name,
    "retrieved_context_ids": CONTEXT_IDS.name,
}
_OPPOSITES = ((CONTEXTS, REFERENCE_CONTEXTS), (CONTEXT_IDS, REFERENCE_IDS))


def names_of(fields: Sequence[Field]) -> tuple[str, ...]:
    """What the fields may be called in parameters, the names of ragas and ValidMind included."""
    own = [field.name for field in fields]
    return (*own, *(old for old, new in _LEGACY.items() if new in own))


def with_legacy(
    columns: Mapping[str, Column | None], legacy: Mapping[str, Any], fields: Sequence[Field]
) -> dict[str, Column | None]:
    """Columns by parameter, with those given under the names ragas and ValidMind use.

    Raises ValueError for a name that is neither, or a column that is given twice.
    """
    found = dict(columns)
    for old, column in legacy.items():
        new = _LEGACY.get(old.removesuffix(SUFFIX), "") + SUFFIX
        if new not in found:
            known = [name + SUFFIX for name in names_of(fields)]
            meant = hint(old, known, f"columns: {', '.join(known)}")
            raise ValueError(f"there is no parameter {old!r}; {meant}")
        if found[new] is not None:
            raise ValueError(f"{new} and {old} are the same column: give one of them")
        found[new] = column
    return found


class Fields:
    """Reads an evaluator's fields: from the columns it was given, or where they usually are."""

    def __init__(
        self, evaluator: str, fields: tuple[Field, ...], columns: Mapping[str, Column | None]
    ) -> None:
        self._fields = {field.name: field for field in fields}
        given = {
            parameter.removesuffix(SUFFIX): column
            for parameter, column in columns.items()
            if column is not None
        }
        sides = {field.name: field.side for field in fields}
        accepts = {field.name: field.accepts for field in fields}
        self.reader = ColumnReader(evaluator, given, sides, accepts=accepts)
        for retrieved, gold in _OPPOSITES:
            column = given.get(retrieved.name)
            same = (given.get(gold.name), gold.name, f"original.{gold.name}")
            if column is not None and column in same:
                what = gold.name.replace("_", " ")
                raise ValueError(
                    f"{retrieved.name}{SUFFIX} is {column!r}: those are the {what}, "
                    "and compared with themselves they are always perfect"
                )

    def read(
        self,
        original: Mapping[str, Any],
        processed: Mapping[str, Any],
        system: str | None = None,
    ) -> dict[str, Any]:
        """The value of each field; None for one that is nowhere. Raises `ColumnError`."""
        values = self.reader.read(original, processed, system=system)
        for name, field in self._fields.items():
            if name not in values:
                data = original if field.side == "original" else processed
                values[name] = _first(data, field.names)
                if field is CONTEXTS and values[name] is None:
                    values[name] = _own_contexts(original, processed)
        return values


def _first(data: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((data[name] for name in names if data.get(name) is not None), None)


def _own_contexts(original: Mapping[str, Any], processed: Mapping[str, Any]) -> Any:
    """The contexts of the data, which hold where the system returned no other context."""
    for name in ("context", "messages"):
        returned = processed.get(name)
        if returned is not None and returned != original.get(name):
            return None
    return _first(original, CONTEXTS.names)
