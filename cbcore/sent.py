"""What a system sent to a model, told in its output without saying any text twice.

A prompt cache is replayed on what an endpoint really got: a system prompt, a template and tools
included. A system that puts more into a prompt than context and question tells of its requests
in its output, under `SENT`, by what `told` makes of them. Texts of the example are referred to
by where they stand, and messages that were sent before by how many they are, so that what is
kept grows with what the system added, not with the context. `requests_sent` reads it back; of a
system that tells nothing it gives what context and question, or the turns, say.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from cbcore.texts import context_twin

__all__ = ("SENT", "requests_sent", "told")

SENT = "sent_requests"
"""The field of an output that tells of the requests."""

Message: TypeAlias = tuple[str, str]
"""The role, and the text."""

_SHORTEST = 24
"""Characters from which on referring to a text is shorter than saying it."""
_TOOLS = "tools"
_TEXTS = ("context", "question", "turns", "turn_responses", _TOOLS)


def told(
    requests: Sequence[Sequence[Mapping[str, Any]]],
    example: Mapping[str, Any],
    *,
    tools: Any = None,
    replies: Sequence[str] = (),
    n_opening: int | None = None,
) -> dict[str, Any]:
    """What to add to an output that came of these requests, each a list of messages.

    `replies` are what the output gives as `turn_responses`. `tools` were sent with every request
    and stand before its messages. Of a conversation `n_opening` says how many messages come
    before its turns: where the data gives a reply, it was asked for when the conversation was
    held, which `requests_sent` counts as a request. Nothing where the example says as much itself.
    """
    written = [_written(messages, tools) for messages in requests]
    if SENT not in example and written == _plain(example):
        return {}
    known = sorted(_known({**example, "turn_responses": replies}), key=lambda one: -len(one[1]))
    kept: list[dict[str, Any]] = []
    before: list[Message] = []
    for messages in written:
        same = _in_common(before, messages)
        new = [[role, _pieces(text, known)] for role, text in messages[same:]]
        kept.append({"same": same, "messages": new})
        before = messages
    if n_opening is not None:
        kept[0]["n_opening"] = n_opening + bool(tools)
    return {SENT: kept}


def requests_sent(
    example: Mapping[str, Any], output: Mapping[str, Any]
) -> tuple[list[list[Message]], bool]:
    """The messages of each request, and whether the system told of them itself.

    `example` is what the system was given, with what the output changed of it. Raises
    ValueError where the output refers to what is not there.
    """
    kept = output.get(SENT)
    if not kept:
        return (_conversation(example) if example.get("turns") else _plain(example)), False
    requests: list[list[Message]] = []
    try:
        for request in kept:
            same = requests[-1][: request["same"]] if requests else []
            new = [(str(role), _said(said, example)) for role, said in request["messages"]]
            requests.append([*same, *new])
        n_opening = kept[0].get("n_opening")
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise ValueError(f"what the output says in {SENT!r} cannot be read: {error}") from error
    return (requests if n_opening is None else _as_held(requests, n_opening)), True


def _as_held(requests: Sequence[list[Message]], n_opening: int) -> list[list[Message]]:
    """A request for every message of the user, also where the data gave the reply."""
    held = []
    for messages in requests:
        asked = range(n_opening, len(messages) - 1)
        held += [messages[: n + 1] for n in asked if messages[n][0] == "user"]
        held.append(messages)
        n_opening = len(messages)
    return held


def _written(messages: Sequence[Mapping[str, Any]], tools: Any) -> list[Message]:
    written = [(str(message.get("role") or "user"), _content(message)) for message in messages]
    return [(_TOOLS, _as_json(tools)), *written] if tools else written


def _content(message: Mapping[str, Any]) -> str:
    """The text of a message; parts that are none, and calls of tools, as JSON."""
    content = message.get("content")
    parts = content if isinstance(content, list | tuple) else [] if content is None else [content]
    texts = []
    for part in parts:
        text = part.get("text") if isinstance(part, Mapping) else part
        texts.append(text if isinstance(text, str) else _as_json(part))
    if calls := message.get("tool_calls"):
        texts.append(_as_json(calls))
    return "\n\n".join(texts)


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _in_common(before: Sequence[Message], after: Sequence[Message]) -> int:
    """How many messages two requests begin with alike."""
    for n, (one, other) in enumerate(zip(before, after, strict=False)):
        if one != other:
            return n
    return min(len(before), len(after))


# -- references: a piece is a text, or a list that says where in the example a text stands ---------


def _known(example: Mapping[str, Any]) -> Iterator[tuple[list[Any], str]]:
    """Every text worth referring to, and where it stands."""
    for field in _TEXTS:
        value = example.get(field)
        if isinstance(value, list | tuple):
            places = [([field, n], _text(field, one)) for n, one in enumerate(value)]
        else:
            places = [([field], _text(field, value))]
        yield from ((place, text) for place, text in places if len(text) >= _SHORTEST)


def _text(field: str, value: Any) -> str:
    if field == _TOOLS and isinstance(value, Mapping):
        return _as_json(value)  # as it also stands inside what an API wraps around a tool
    value = value.get("content") if isinstance(value, Mapping) else value
    return value if isinstance(value, str) else ""


def _pieces(text: str, known: Sequence[tuple[list[Any], str]]) -> Any:
    """A text, or its pieces, some of which only say where they stand."""
    pieces = list(_split(text, known))
    return text if all(isinstance(piece, str) for piece in pieces) else pieces


def _split(text: str, known: Sequence[tuple[list[Any], str]]) -> Iterator[Any]:
    for n, (place, one) in enumerate(known):
        before, found, after = text.partition(one)
        if found:
            yield from _split(before, known[n + 1 :])
            yield place
            yield from _split(after, known[n + 1 :])
            return
    if text:
        yield text


def _said(said: Any, example: Mapping[str, Any]) -> str:
    if isinstance(said, str):
        return said
    return "".join(piece if isinstance(piece, str) else _at(piece, example) for piece in said)


def _at(place: Sequence[Any], example: Mapping[str, Any]) -> str:
    value: Any = example[place[0]]
    return _text(place[0], value if len(place) == 1 else value[place[1]])


# -- what an example says by itself -----------------------------------------------------------------


def _plain(example: Mapping[str, Any]) -> list[list[Message]]:
    """Context and question as one message; the question alone where the context repeats it."""
    fields = ("question",) if context_twin(example) else ("context", "question")
    texts = [_content({"content": example.get(field)}) for field in fields]
    said = "\n\n".join(text for text in texts if text.strip())
    return [[("user", said)]] if said else []


def _conversation(example: Mapping[str, Any]) -> list[list[Message]]:
    """All turns, replies put where they were missing, up to each message of the user."""
    turns = [turn if isinstance(turn, Mapping) else {"content": turn} for turn in example["turns"]]
    written = _written(turns, None)
    replies = iter(example.get("turn_responses") or ())
    said: list[Message] = []
    for message, (following, _) in zip(written, [*written[1:], ("", "")], strict=True):
        said.append(message)
        if message[0] == "user" == following and (reply := next(replies, None)) is not None:
            said.append(("assistant", str(reply)))
    return _as_held([said], 0)
