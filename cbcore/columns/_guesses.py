"""Which column most likely holds a field, where it is not called as the field is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cbcore.lazy import lazy_pattern
from cbcore.names import near_matches

_WORD = lazy_pattern(r"[a-z]+")
_OFTEN_CALLED: dict[str, tuple[str, ...]] = {
    "context": (
        *("contexts", "passage", "passages", "document", "documents", "article", "body"),
        *("paragraph", "paragraphs", "source", "text", "story", "content"),
    ),
    "question": ("query", "prompt", "instruction", "ask", "input", "problem"),
    "answer": (
        *("answers", "gold", "golden", "target", "targets", "label", "reference", "truth"),
        *("expected", "solution", "output"),
    ),
    "tests": ("test", "check", "asserts"),
    "id": ("uid", "uuid", "qid", "key", "no", "index"),
}
"""Other words that people have for a field, the likeliest first."""

_PROPOSED = ("context", "question", "answer", "id")


def likely_column(field: str, columns: Iterable[Any]) -> str | None:
    """The column that most likely holds a field; None where none looks like it."""
    there = [str(column) for column in columns]
    words = {column: _WORD.findall(column.lower()) for column in there}
    for called in (field, *_OFTEN_CALLED.get(field, ())):
        for column in there:
            if called in words[column]:
                return column
    return next(iter(near_matches(field, there, limit=1)), None)


def propose_fields(example: Mapping[str, Any]) -> dict[str, str]:
    """A mapping that may fit an example whose columns have other names, each column once."""
    left = [str(column) for column, value in example.items() if value is not None]
    found: dict[str, str] = {}
    for field in _PROPOSED:
        column = likely_column(field, left)
        if column is not None:
            left.remove(column)
            if column != field:
                found[field] = column
    return found


def as_flags(fields: Mapping[str, str]) -> str:
    """A mapping as it is typed: `--field context=Passage`."""
    import shlex

    return " ".join(f"--field {shlex.quote(f'{field}={c}')}" for field, c in fields.items())
