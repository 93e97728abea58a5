"""Messages as a role and a text, and those that an example stands for by itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from cbcore.texts import context_twin

Message: TypeAlias = tuple[str, str]
"""The role, and the text."""

TOOLS = "tools"


def written(messages: Sequence[Mapping[str, Any]], tools: Any) -> list[Message]:
    """What was sent, tools first."""
    said = [(str(message.get("role") or "user"), content_of(message)) for message in messages]
    return [(TOOLS, as_json(tools)), *said] if tools else said


def content_of(message: Mapping[str, Any]) -> str:
    """The text of a message; parts that are none, and calls of tools, as JSON."""
    content = message.get("content")
    parts = content if isinstance(content, list | tuple) else [] if content is None else [content]
    texts = []
    for part in parts:
        text = part.get("text") if isinstance(part, Mapping) else part
        texts.append(text if isinstance(text, str) else as_json(part))
    if calls := message.get("tool_calls"):
        texts.append(as_json(calls))
    return "\n\n".join(texts)


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def in_common(before: Sequence[Message], after: Sequence[Message]) -> int:
    """How many messages two requests begin with alike."""
    for n, (one, other) in enumerate(zip(before, after, strict=False)):
        if one != other:
            return n
    return min(len(before), len(after))


def plain(example: Mapping[str, Any]) -> list[list[Message]]:
    """Context and question as one message; the question alone where the context repeats it."""
    fields = ("question",) if context_twin(example) else ("context", "question")
    texts = [content_of({"content": example.get(field)}) for field in fields]
    said = "\n\n".join(text for text in texts if text.strip())
    return [[("user", said)]] if said else []


def conversation(example: Mapping[str, Any]) -> list[Message]:
    """All turns, replies of the system put where the data gives none."""
    turns = [turn if isinstance(turn, Mapping) else {"content": turn} for turn in example["turns"]]
    said: list[Message] = []
    own = written(turns, None)
    replies = iter(example.get("turn_responses") or ())
    for message, (following, _) in zip(own, [*own[1:], ("", "")], strict=True):
        said.append(message)
        if message[0] == "user" == following and (reply := next(replies, None)) is not None:
            said.append(("assistant", str(reply)))
    return said
