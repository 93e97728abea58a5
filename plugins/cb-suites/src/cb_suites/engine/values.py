"""What a task reads out of a document: its text, its target, its choices, its prefix.

Each is written as a field's name, a template, a literal or a function. A template gives text;
text that spells a number or a list is one where the harness takes it for one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from cb_suites.engine.model import Origin
from cb_suites.engine.prompts import (
    LABELS,
    OWN_FIELDS,
    Document,
    called,
    compiled_template,
    field_or_literal,
    is_template,
)
from cbcore.exceptions import DataError

Fields = Mapping[str, Any]


class Values:
    """Reads documents as `doc_to_text`, `doc_to_target`, `doc_to_choice` and `gen_prefix` say.

    `given` holds those keys as they were written, functions looked up; `place` says where. With
    `by_field`, a document's own fields stand for what is not given.
    """

    def __init__(
        self, given: Fields, place: Callable[[str], Origin], *, by_field: bool = False
    ) -> None:
        self._place = place
        self._by_field = by_field
        self.has_choices = given.get("doc_to_choice") is not None
        self._text = self._reader("doc_to_text", given)
        self._target = self._reader("doc_to_target", given)
        self._choices = self._reader("doc_to_choice", given)
        self._context = self._reader("doc_to_context", given)
        self._prefix = self._reader("gen_prefix", given, literal=True)
        self._description = self._reader("description", given, literal=True)

    def text(self, document: Fields) -> Any:
        """The question; a number means that the choices are the questions, and which is right."""
        return self._numbered(self._text(document))

    def target(self, document: Fields) -> Any:
        """The right answer: text, the number of a choice, or a list of either."""
        value = self._numbered(self._target(document))
        if isinstance(value, _Rendered) and value[:1] == "[" and value[-1:] == "]":
            return _literal(value, value)
        return str(value) if isinstance(value, _Rendered) else value

    def choices(self, document: Fields) -> list[Any]:
        """The answers to choose from."""
        value = self._choices(document)
        if isinstance(value, _Rendered):
            value = _literal(value, None)
        if isinstance(value, Mapping):
            value = list(value.values())
        if not isinstance(value, list | tuple):
            raise DataError(
                f"doc_to_choice gave {self._choices(document)!r}, not a list of choices"
            )
        return list(value)

    def prefix(self, document: Fields) -> str | None:
        """What the reply begins with."""
        value = self._prefix(document)
        return None if value is None else str(value)

    def description(self, document: Fields) -> str:
        """What stands before everything else."""
        return str(self._description(document) or "")

    def read(self, document: Fields) -> Document:
        """The document with its answers as text, resolved against its choices."""
        choices = tuple(map(str, self.choices(document)))
        if len(choices) > len(LABELS):
            raise DataError(
                f"doc_to_choice gave {len(choices)} choices; at most {len(LABELS)} work"
            )
        is_template_of_index = isinstance(self._target(document), _Rendered)
        target = self.target(document)
        targets = target if isinstance(target, list | tuple) else [target]
        answers = tuple(
            _answer(item, choices, digits_are_an_index=is_template_of_index)
            for item in targets
            if item is not None
        )
        context = self._context(document)
        context = str(context) if isinstance(context, _Rendered) else context
        return Document(document, str(self.text(document)), choices, answers, context)

    def _numbered(self, value: Any) -> Any:
        if isinstance(value, _Rendered) and self.has_choices and value.isdecimal():
            return int(value)
        return value

    def _reader(self, key: str, given: Fields, *, literal: bool = False) -> Callable[[Fields], Any]:
        value = given.get(key)
        if value is None and self._by_field and key in OWN_FIELDS:
            return OWN_FIELDS[key]
        if value is None or isinstance(value, int | list | tuple | Mapping):
            return lambda document: value
        if callable(value):
            return lambda document: called(key, value, document)
        if is_template(value):
            render = compiled_template(key, value, self._place(key))
            return lambda document: _Rendered(called(key, render, document))

        def read(document: Fields) -> Any:
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


def _answer(target: Any, choices: tuple[str, ...], *, digits_are_an_index: bool) -> str:
    """The right answer as text. Where there are choices, it must be one of them."""
    if not choices:
        return str(target)
    if isinstance(target, int):
        return _at(int(target), choices)
    text = str(target).strip()
    stripped = [choice.strip() for choice in choices]
    if text in stripped and not (digits_are_an_index and text.isdecimal()):
        return choices[stripped.index(text)]
    if len(text) == 1 and text.upper() in LABELS[: len(choices)]:
        return choices[LABELS.index(text.upper())]
    if text.isdecimal():
        return _at(int(text), choices)
    raise DataError(f"doc_to_target gave {target!r}, which is none of the choices {choices!r}")


def _at(index: int, choices: tuple[str, ...]) -> str:
    if 0 <= index < len(choices):
        return choices[index]
    raise DataError(f"doc_to_target gave {index}, but there are {len(choices)} choices")
