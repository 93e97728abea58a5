"""From an example to the messages a model gets."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from cbcore.contexts import context_of, history_of
from cbcore.exceptions import DataError
from cbcore.texts import context_twin

Example: TypeAlias = Mapping[str, Any]
Messages: TypeAlias = Sequence[Mapping[str, Any]]
BuildMessages: TypeAlias = Callable[[dict[str, Any]], Messages]

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{(?P<field>[A-Za-z_][A-Za-z0-9_]*)\}")
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@attrs.frozen
class Prompting:
    """How examples become messages: by a template, by the user's function, or plainly.

    Plainly, the user's message is the context, a blank line, and the question. The choices of
    a multiple-choice example follow under letters, unless they already stand in the text. A
    context that repeats the question, or the turns, is written once: as question. An example with
    `messages` is sent as that history, and the question as its last message.
    """

    system_prompt: str | None = None
    prompt: str | None = attrs.field(default=None)
    build_messages: BuildMessages | None = None

    @prompt.validator
    def _check(self, _: attrs.Attribute[Any], prompt: str | None) -> None:
        if prompt is None:
            return
        if self.build_messages is not None:
            raise ValueError("give prompt or build_messages, not both")
        check_template(prompt)

    def messages(self, example: Example) -> list[Mapping[str, Any]]:
        """The messages for an example that is asked once."""
        if self.build_messages is not None:
            return self._built(example)
        if self.prompt is None and (history := history_of(example)):
            return [*self._opening(), *history]
        return [*self._opening(), {"role": "user", "content": self.text(example)}]

    def text(self, example: Example) -> str:
        """The user's message."""
        if self.prompt is None:
            return _plain(example)
        if context_twin(example) is not None and _names_both(self.prompt):
            example = {**example, "context": ""}
        return fill_template(self.prompt, example)

    def conversation(self, example: Example) -> Generator[list[Mapping[str, Any]], str, None]:
        """The messages up to each place where the model has to reply; send in its replies.

        Turns are texts of the user, or messages with a role. Replies that the data gives are
        kept; the model is asked where one is missing. The context goes in front of the first
        message of the user. When the turns end with a reply, the question is asked after them.
        """
        turns = list(_turns(example))
        so_far: list[Mapping[str, Any]] = []
        opened = False
        for index, turn in enumerate(turns):
            message = turn
            if turn.get("role") == "user" and not opened:
                opened = True
                message = {**turn, "content": self._first_text(example, turn)}
            so_far.append(message if self.build_messages is None else turn)
            following = turns[index + 1].get("role") if index + 1 < len(turns) else "user"
            if turn.get("role") in ("user", "tool") and following in ("user", "system"):
                reply = yield self._asked(example, so_far)
                so_far.append({"role": "assistant", "content": reply})

    def _asked(self, example: Example, so_far: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        if self.build_messages is not None:
            return self._built({**example, "turns": list(so_far)})
        return [*self._opening(), *so_far]

    def _first_text(self, example: Example, turn: Mapping[str, Any]) -> Any:
        content = turn.get("content")
        if not isinstance(content, str):
            return content
        asked = {**example, "question": content}
        if context_twin(example) is not None:
            asked["context"] = content
        return self.text(asked)

    @property
    def n_opening(self) -> int | None:
        """How many messages come before the turns of a conversation; None where others decide."""
        return None if self.build_messages is not None else len(self._opening())

    def _opening(self) -> list[Mapping[str, Any]]:
        if self.system_prompt is None:
            return []
        return [{"role": "system", "content": self.system_prompt}]

    def _built(self, example: Example) -> list[Mapping[str, Any]]:
        assert self.build_messages is not None  # noqa: S101 - for type checkers
        built = self.build_messages(dict(example))
        if not isinstance(built, list | tuple) or not built:
            raise DataError(
                f"build_messages returned {type(built).__name__}, not a list of messages"
            )
        for message in built:
            if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
                raise DataError(f"build_messages returned {message!r:.80}, which is no message")
        return list(built)


def _turns(example: Example) -> Iterator[Mapping[str, Any]]:
    turns = example.get("turns")
    if not isinstance(turns, list | tuple) or not turns:
        raise DataError(f"example {example.get('id')!r}: 'turns' is not a list of messages")
    last = None
    for turn in turns:
        if isinstance(turn, str):
            last = {"role": "user", "content": turn}
        elif isinstance(turn, Mapping) and isinstance(turn.get("role"), str):
            last = dict(turn)
        else:
            raise DataError(
                f"example {example.get('id')!r}: a turn is neither a text nor a message with a role"
            )
        yield last
    question = example.get("question")
    if isinstance(question, str) and last is not None and last["role"] == "assistant":
        yield {"role": "user", "content": question}


def _names_both(template: str) -> bool:
    named = {match["field"] for match in _PLACEHOLDER.finditer(template)}
    return {"context", "question"} <= named


def _plain(example: Example) -> str:
    fields = ("context", "question") if context_twin(example) is None else ("question",)
    texts = [_text(example, field) for field in fields]
    parts = [text for text in texts if text.strip()]
    if not parts:
        raise DataError(
            f"example {example.get('id')!r} has neither a 'context' nor a 'question' with text"
        )
    choices = example.get("choices")
    if isinstance(choices, list | tuple) and 0 < len(choices) <= len(_LETTERS):
        given = [str(choice) for choice in choices]
        if not all(any(choice in part for part in parts) for choice in given):
            parts.append("\n".join(map("{}) {}".format, _LETTERS, given)))
    return "\n\n".join(parts)


def _text(example: Example, field: str) -> str:
    """The text of a field, passages of a list one after the other; "" where there is none."""
    value = example.get(field)
    text = context_of(example if field == "context" else {"context": value})
    if text is None and value is not None:
        told = f"example {example.get('id')!r}: {field!r} is neither a text nor a list of texts"
        raise DataError(told)
    return text or ""


def check_template(template: str) -> None:
    """Refuse a template without a field in it. Raises ValueError."""
    if not any(match["field"] for match in _PLACEHOLDER.finditer(template)):
        raise ValueError(
            f"prompt is {template!r:.80}: it has no field in braces, such as {{context}} "
            "and {question}"
        )


def fill_template(template: str, example: Example) -> str:
    """The template with `{field}` replaced by the example's fields; `{{` is a brace.

    Nothing else is understood: no attributes, no indices, no formats.
    """

    def replace(match: re.Match[str]) -> str:
        field = match["field"]
        if field is None:
            return match[0][0]
        value = context_of(example) if field == "context" else example.get(field)
        if value is None:
            raise DataError(
                f"example {example.get('id')!r} has no {field!r}, which the prompt asks for"
            )
        if isinstance(value, list | tuple):
            return "\n".join(map(str, value))
        return str(value)

    return _PLACEHOLDER.sub(replace, template)
