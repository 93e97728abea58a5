"""What is put before a model: description, worked examples, the question, the reply's beginning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from cbcore.exceptions import DataError


@attrs.frozen
class Message:
    """One part of a prompt, with what follows it where all parts are one text."""

    role: str
    content: str
    then: str = ""


def as_text(messages: Sequence[Message]) -> str:
    """The parts in one text."""
    return "".join(message.content + message.then for message in messages)


def as_turns(messages: Sequence[Message]) -> list[dict[str, str]]:
    """The parts as turns of a conversation."""
    return [{"role": message.role, "content": message.content} for message in messages]


def joined(before: str | None, after: str | None, delimiter: str) -> str:
    """Two texts with a delimiter between them, unless there is white space already."""
    if not before or not after:
        return before or after or ""
    return before + (delimiter if _meet_bare(before, after) else "") + after


def _meet_bare(before: str, after: str) -> bool:
    return not (before[-1].isspace() or after[0].isspace())


def opening(system_instruction: str | None, description: str, delimiter: str) -> list[Message]:
    """What stands before all examples."""
    said = joined(system_instruction, description, delimiter)
    return [Message("system", said)] if said else []


def asked(question: Any, prefix: str | None, delimiter: str) -> list[Message]:
    """The question that is to be answered, and what the answer begins with."""
    text = _text(question)
    if not prefix:
        return [Message("user", text)]
    between = delimiter if text and _meet_bare(text, prefix) else ""
    return [Message("user", text, between), Message("assistant", prefix)]


@attrs.frozen
class Delimiters:
    """What stands before an answer, and after it."""

    target: str = " "
    fewshot: str = "\n\n"


def answered(
    question: Any, choices: Sequence[Any] | None, answer: Any, prefix: str | None, ends: Delimiters
) -> list[Message]:
    """A worked example: a question with its right answer."""
    if answer is None or answer == "":
        return asked(question, prefix, ends.target)
    text = _text(question)
    bare = not prefix or (bool(text) and _meet_bare(text, prefix))
    shown = joined(prefix, _shown(answer, choices), " ")
    user = Message("user", text, ends.target if bare else "")
    return [user, Message("assistant", shown, ends.fewshot)]


def _text(question: Any) -> str:
    if not isinstance(question, str):
        raise DataError(f"doc_to_text gave {question!r}, which is no text")
    return question


def _shown(answer: Any, choices: Sequence[Any] | None) -> str:
    if choices and isinstance(answer, int):
        if not -len(choices) <= answer < len(choices):
            raise DataError(f"doc_to_target gave {answer}, but there are {len(choices)} choices")
        answer = choices[answer]
    elif isinstance(answer, list):
        answer = answer[0] if answer else ""
    if not isinstance(answer, str):
        raise DataError(f"the answer of a worked example is {answer!r}, which is no text")
    return answer
