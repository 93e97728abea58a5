"""From a document to what is asked: its text, its choices and its right answers.

`doc_to_text`, `doc_to_context`, `doc_to_target` and `doc_to_choice` are each a field's name, a
Jinja template, a literal or a function. Templates run in a sandbox that changes nothing and reaches no internals;
what documents hold is only ever a value in them, never part of a template.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from cb_suites.bounded.worker import WORKERS, FailedError
from cb_suites.engine.model import Origin
from cbcore.boundary import describe_exception
from cbcore.exceptions import ConfigError, DataError
from cbcore.names import hint

LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""What choices are lettered with."""

_FIELD_NAME = re.compile(r"[A-Za-z_][\w.-]*\Z")


@attrs.frozen
class Document:
    """One document as its task reads it. The first of `answers` is the one shown to others."""

    fields: Mapping[str, Any]
    text: str
    choices: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    context: Any = None


def is_template(value: Any) -> bool:
    """Whether a text is a Jinja template."""
    return isinstance(value, str) and any(mark in value for mark in ("{{", "{%", "{#"))


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


def compiled_template(key: str, template: str, origin: Origin) -> Callable[..., Any]:
    """The template as a function of a document. One that could grow is run within limits."""
    from jinja2 import TemplateError

    from cb_suites.bounded.templates import compiled

    try:
        if _is_plain(template):
            return compiled(template)
        _check_template(template)
    except (TemplateError, FailedError, RecursionError) as error:
        reason = getattr(error, "message", None) or str(error)
        raise ConfigError(
            str(origin), f"{key} is not a valid template: {reason}: {template[:200]!r}"
        ) from error
    return lambda fields: WORKERS.ask("render", template, dict(fields))


# Thousands of tasks share a few templates, by what they include.
@functools.lru_cache(maxsize=4096)
def _is_plain(template: str) -> bool:
    from cb_suites.bounded.templates import is_plain

    return is_plain(template)


@functools.lru_cache(maxsize=4096)
def _check_template(template: str) -> None:
    WORKERS.ask("check_template", template)


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


OWN_FIELDS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "doc_to_text": _own_text,
    "doc_to_target": _own_target,
    "doc_to_choice": _own_choices,
}
"""What a document offers where the task does not say how to read it."""
