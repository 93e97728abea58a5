"""What a task reads out of a document: its text, its target, its choices, its prefix.

Each is written as a field's name, a template, a literal or a function. A template gives text;
text that spells a number or a list is one where the harness takes it for one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from cb_suites.engine.model import Origin
from cb_suites.engine.prompts import called, compiled_template, field_or_literal, is_template
from cbcore.exceptions import DataError

Document: TypeAlias = Mapping[str, Any]


class Values:
    """Reads documents as `doc_to_text`, `doc_to_target`, `doc_to_choice` and `gen_prefix` say.

    `given` holds those keys as they were written, functions looked up; `place` says where.
    """

    def __init__(self, given: Mapping[str, Any], place: Callable[[str], Origin]) -> None:
        self._place = place
        self.has_choices = given.get("doc_to_choice") is not None
        self._text = self._reader("doc_to_text", given.get("doc_to_text"))
        self._target = self._reader("doc_to_target", given.get("doc_to_target"))
        self._choices = self._reader("doc_to_choice", given.get("doc_to_choice"))
        self._prefix = self._reader("gen_prefix", given.get("gen_prefix"), literal=True)
        self._description = self._reader(
            "description", given.get("description") or None, literal=True
        )

    def text(self, document: Document) -> Any:
        """The question; a number means that the choices are the questions, and which is right."""
        return self._numbered(self._text(document))

    def target(self, document: Document) -> Any:
        """The right answer: text, the number of a choice, or a list of either."""
        value = self._numbered(self._target(document))
        if isinstance(value, _Rendered) and value[:1] == "[" and value[-1:] == "]":
            return _literal(value, value)
        return str(value) if isinstance(value, _Rendered) else value

    def choices(self, document: Document) -> list[Any]:
        """The answers to choose from."""
        value = self._choices(document)
        if isinstance(value, _Rendered):
            value = _literal(value, None)
        if isinstance(value, Mapping):
            value = list(value.values())
        if not isinstance(value, list | tuple):
            raise DataError(f"doc_to_choice gave {self._choices(document)!r}, not a list")
        return list(value)

    def prefix(self, document: Document) -> str | None:
        """What the reply begins with."""
        value = self._prefix(document)
        return None if value is None else str(value)

    def description(self, document: Document) -> str:
        """What stands before everything else."""
        return str(self._description(document) or "")

    def _numbered(self, value: Any) -> Any:
        if isinstance(value, _Rendered) and self.has_choices and value.isdecimal():
            return int(value)
        return value

    def _reader(self, key: str, value: Any, *, literal: bool = False) -> Callable[[Document], Any]:
        if value is None or isinstance(value, int | list | tuple | Mapping):
            return lambda document: value
        if callable(value):
            return lambda document: called(key, value, document)
        if is_template(value):
            render = compiled_template(key, value, self._place(key), native=False)
            return lambda document: _Rendered(called(key, render, document))

        def read(document: Document) -> Any:
            if value in document:
                return document[value]
            return _Rendered(value if literal else field_or_literal(key, value, document))

        return read


class _Rendered(str):
    """Text that a template made, or that stands in the file: it may spell something else."""

    __slots__ = ()


def _literal(text: str, default: Any) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return default if default is None else str(default)
