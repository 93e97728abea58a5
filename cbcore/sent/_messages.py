"""Messages as a role and a text, and those that an example stands for by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from cbcore.contexts import as_json, content_of, context_of
from cbcore.texts import context_twin

Message: TypeAlias = tuple[str, str]
"""The role, and the text."""

TOOLS = "tools"


def written(messages: Sequence[Mapping[str, Any]], tools: Any) -> list[Message]:
    """What was sent, tools first."""
    said = [(str(message.get("role") or "user"), content_of(message)) for message in messages]
    return [(TOOLS, as_json(tools)), *said] if tools else said


def in_common(before: Sequence[Message], after: Sequence[Message]) -> int:
    """How many messages two requests begin with alike."""
    for n, (one, other) in enumerate(zip(before, after, strict=False)):
        if one != other:
            return n
    return min(len(before), len(after))


def plain(example: Mapping[str, Any]) -> list[list[Message]]:
    """Context and question as one message; the question alone where the context repeats it."""
    context = None if context_twin(example) else context_of(example)
    texts = [content_of({"content": text}) for text in (context, example.get("question"))]
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
