"""From an example to chat messages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import ascii_uppercase
from typing import Any

from cbcore.contexts import context_of
from cbcore.exceptions import DataError
from cbcore.texts import context_twin

_FIELD = re.compile(r"\{\{|\}\}|\{(?P<field>\w+)\}")


def template_fields(template: str) -> list[str]:
    """The fields a template names: `{context}`, `{question}`, …; `{{` is a brace."""
    return [match["field"] for match in _FIELD.finditer(template) if match["field"]]


def user_message(example: Mapping[str, Any], template: str | None, *, system: str) -> str:
    """The prompt for an example: the template filled in, or what the example has to ask.

    A value is put in as it is: braces inside it mean nothing. Without a template these are
    context, question and lettered choices; what the example lacks, or is empty, is left out.
    A context that only repeats the question, or the turns, is written once: as question.
    """
    if (context := context_of(example)) is not None:
        example = {**example, "context": context}
    if context_twin(example) is not None and "question" in template_fields(
        template or "{question}"
    ):
        example = {**example, "context": ""}
    if template is not None:
        return _FIELD.sub(
            lambda match: (
                _text(example, match["field"], system=system) if match["field"] else match[0][0]
            ),
            template,
        )
    given = [f for f in ("context", "question") if example.get(f) not in (None, "")]
    if not given:
        raise DataError(
            f"{system}: example {example.get('id')!r} has neither a context nor a question",
            hint="give the example one of them, or name its fields: prompt='{text}'",
        )
    texts = {field: _text(example, field, system=system) for field in given}
    choices = _lettered(example)
    if len(texts) == 1:
        return "\n".join([*texts.values(), *choices])
    asked = "\n".join([f"Question: {texts['question']}", *choices])
    return f"Context:\n{texts['context']}\n\n{asked}\nAnswer:"


def _lettered(example: Mapping[str, Any]) -> list[str]:
    """The choices of a multiple-choice example, unless they stand in its question already."""
    choices = example.get("choices")
    if not isinstance(choices, list | tuple) or len(choices) > len(ascii_uppercase):
        return []
    if all(str(choice) in str(example.get("question")) for choice in choices):
        return []
    return [f"{letter}) {choice}" for letter, choice in zip(ascii_uppercase, choices, strict=False)]


def turn_messages(
    example: Mapping[str, Any], template: str | None, *, system: str
) -> list[dict[str, str]]:
    """The turns of an example as messages; a text alone is the user's.

    The user's first turn is asked like a question, about the context if there is one. Where
    the turns end with a reply, the example's question follows them.
    """
    turns = example.get("turns")
    if not isinstance(turns, list | tuple):
        turns = [turns]
    messages = [_turn_message(example, turn, system=system) for turn in turns]
    if messages and messages[-1]["role"] == "assistant" and example.get("question"):
        content = _text(example, "question", system=system)
        messages.append({"role": "user", "content": content})
    first = next((message for message in messages if message["role"] == "user"), None)
    if first is not None:
        asked = {**example, "question": first["content"]}
        if context_twin(example) is not None:
            asked["context"] = asked["question"]
        first["content"] = user_message(asked, template, system=system)
    return messages


def _turn_message(example: Mapping[str, Any], turn: Any, *, system: str) -> dict[str, str]:
    if isinstance(turn, str):
        turn = {"role": "user", "content": turn}
    if not isinstance(turn, Mapping):
        raise DataError(
            f"{system}: example {example.get('id')!r}: a turn is a {type(turn).__name__}",
            hint="write a turn as {'role': 'user', 'content': '…'}",
        )
    where = {"id": example.get("id"), **turn}
    return {field: _text(where, field, system=system) for field in ("role", "content")}


def _text(example: Mapping[str, Any], field: str, *, system: str) -> str:
    """The text of a field, if it is text that can be encoded."""
    value = example.get(field)
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            found = f"has half a character (a lone surrogate) at position {error.start}"
        else:
            return value
    else:
        found = "is missing" if value is None else f"is a {type(value).__name__}, not text"
    raise DataError(
        f"{system}: example {example.get('id')!r}: the field {field!r} {found}",
        hint=f"give the example a {field!r} that is text",
    )
