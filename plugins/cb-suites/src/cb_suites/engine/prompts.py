"""From a document to what is asked: its text, its choices and its right answers.

`doc_to_text`, `doc_to_context`, `doc_to_target` and `doc_to_choice` are each a field's name, a
Jinja template, a literal or a function. Templates run in a sandbox that changes nothing and reaches no internals;
what documents hold is only ever a value in them, never part of a template.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import attrs

from cb_suites.bounded.worker import WORKERS, FailedError
from cb_suites.engine.model import Origin, TaskConfig
from cbcore.boundary import describe_exception
from cbcore.exceptions import ConfigError, DataError
from cbcore.names import hint

LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""What choices are lettered with."""

_FIELD_NAME = re.compile(r"[A-Za-z_][\w.-]*\Z")
_Reader: TypeAlias = Callable[[Mapping[str, Any]], Any]


@attrs.frozen
class Document:
    """One document as its task reads it. The first of `answers` is the one shown to others."""

    fields: Mapping[str, Any]
    text: str
    choices: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    context: Any = None


class DocumentReader:
    """Reads documents as a task says. What cannot be read is a `DataError` of that document."""

    def __init__(self, config: TaskConfig) -> None:
        origins = config.origins

        def reader(key: str, value: Any, default: Callable[..., Any], native: bool) -> _Reader:
            if value is None:
                return default
            return _reader(key, value, origins.get(key, config.origin), native=native)

        self._text = reader("doc_to_text", config.doc_to_text, _own_text, native=False)
        self._context = reader("doc_to_context", config.doc_to_context, _no_context, native=False)
        self._target = reader("doc_to_target", config.doc_to_target, _own_target, native=True)
        self._choices = reader("doc_to_choice", config.doc_to_choice, _own_choices, native=True)
        self._target_is_template = is_template(config.doc_to_target)
        self._description = reader("description", config.description or None, _nothing, False)

    def read(self, fields: Mapping[str, Any]) -> Document:
        """The document, with its answers resolved against its choices."""
        choices = _choices_from(self._choices(fields))
        target = self._target(fields)
        targets = list(target) if isinstance(target, list | tuple) else [target]
        answers = tuple(
            _answer(item, choices, digits_are_an_index=self._target_is_template)
            for item in targets
            if item is not None
        )
        text, context = str(self._text(fields)), self._context(fields)
        return Document(fields, text, choices, answers, context)

    def description(self, fields: Mapping[str, Any]) -> str:
        """What stands before everything else."""
        return str(self._description(fields))


def is_template(value: Any) -> bool:
    """Whether a text is a Jinja template."""
    return isinstance(value, str) and any(mark in value for mark in ("{{", "{%", "{#"))


def _reader(key: str, value: Any, origin: Origin, *, native: bool) -> _Reader:
    """How to get a value out of a document; with `native`, an expression keeps its type."""
    if callable(value):
        return functools.partial(called, key, value)
    if is_template(value):
        return functools.partial(called, key, compiled_template(key, value, origin, native=native))
    if isinstance(value, str):
        return functools.partial(field_or_literal, key, value)
    return lambda fields: value


def called(key: str, function: Callable[..., Any], fields: Mapping[str, Any]) -> Any:
    """What a function makes of a document. Whatever it does wrong is told of that document."""
    try:
        return function(fields)
    except DataError:
        raise
    except FailedError as error:
        raise DataError(f"{key} failed: {error}") from error
    except Exception as error:  # plain, as it is called for every document
        raise DataError(f"{key} failed: {describe_exception(error)}") from error


def field_or_literal(key: str, value: str, fields: Mapping[str, Any]) -> Any:
    """A field of the document, or text that cannot be the name of one."""
    if value in fields:
        return fields[value]
    if not _FIELD_NAME.match(value):
        return value
    known = list(map(str, fields))
    raise DataError(
        f"{key} is {value!r}, but the document has no such field",
        hint=hint(value, known, f"it has {', '.join(known)}"),
    )


def compiled_template(
    key: str, template: str, origin: Origin, *, native: bool
) -> Callable[..., Any]:
    """The template as a function of a document. One that could grow is run within limits."""
    from jinja2 import TemplateError

    from cb_suites.bounded.templates import compiled

    try:
        if _is_plain(template):
            return compiled(template, native=native)
        _check_template(template, native=native)
    except (TemplateError, FailedError, RecursionError) as error:
        reason = getattr(error, "message", None) or str(error)
        raise ConfigError(
            str(origin), f"{key} is not a valid template: {reason}: {template[:200]!r}"
        ) from error
    return lambda fields: WORKERS.ask("render", template, dict(fields), native=native)


# Thousands of tasks share a few templates, by what they include.
@functools.lru_cache(maxsize=4096)
def _is_plain(template: str) -> bool:
    from cb_suites.bounded.templates import is_plain

    return is_plain(template)


@functools.lru_cache(maxsize=4096)
def _check_template(template: str, *, native: bool) -> None:
    WORKERS.ask("check_template", template, native=native)


# -- what documents offer by themselves --------------------------------------------------------


def _own_text(fields: Mapping[str, Any]) -> str:
    return str(fields.get("question") or "")


def _own_target(fields: Mapping[str, Any]) -> Any:
    for name in ("answers", "answer"):
        if fields.get(name) is not None:
            return fields[name]
    return None


def _own_choices(fields: Mapping[str, Any]) -> Any:
    found = fields.get("choices")
    if isinstance(found, Mapping):  # as ARC and others lay them out: label and text side by side
        found = found.get("text")
    return found if isinstance(found, list | tuple) else ()


def _no_context(fields: Mapping[str, Any]) -> None:
    """A task that says nothing of it leaves the document's own as it is."""


def _nothing(fields: Mapping[str, Any]) -> str:
    return ""


# -- choices and answers -----------------------------------------------------------------------


def _choices_from(value: Any) -> tuple[str, ...]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if not isinstance(value, list | tuple):
        raise DataError(f"doc_to_choice gave {value!r}, not a list of choices")
    if len(value) > len(LABELS):
        raise DataError(f"doc_to_choice gave {len(value)} choices; at most {len(LABELS)} work")
    return tuple(map(str, value))


def _answer(target: Any, choices: tuple[str, ...], *, digits_are_an_index: bool) -> str:
    """The right answer as text. Where there are choices, it must be one of them."""
    if not choices:
        return str(target)
    if isinstance(target, int):
        return _at(int(target), choices)
    text = str(target).strip()
    stripped = [choice.strip() for choice in choices]
    if digits_are_an_index and text.isdecimal():
        return _at(int(text), choices)
    if text in stripped:
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
