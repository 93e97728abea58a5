"""Lines of request logs, in the layouts that common proxies write, as requests with replies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from cb_cost.times import read_time

Message = Mapping[str, Any]

_WRAPPERS = ("body", "request", "kwargs", "input", "payload", "requestBody", "request_body")
_REPLIES = ("response", "output", "completion", "reply", "responseBody", "response_body")
_OPENINGS = ("system", "instructions")
"""Where APIs that have no message of the system put what it says."""
_SESSIONS = ("session_id", "conversation_id", "thread_id", "sessionId", "conversationId")
_TIMES = ("timestamp", "created_at", "startTime", "start_time", "time", "created", "request_time")


@attrs.frozen
class Logged:
    """One request of a log: its messages, the reply, its session, and when it was sent.

    `timestamp` is what the log has, `at_s` the same in seconds, None if it cannot be read.
    """

    messages: Sequence[Message]
    reply: str | None = None
    session: str | None = None
    timestamp: Any = None
    model: str | None = None

    @property
    def at_s(self) -> float | None:
        time = read_time(self.timestamp)
        return None if time is None else time.at_s


_TOOL_KEYS = ("tools", "functions", "tool_calls", "tool_call_id", "function_call")
_TOOL_ROLES = ("tool", "function")
_TOOL_TYPES = ("tool_use", "tool_result", "_call", "_call_output")
"""How the types of calls and results end: `web_search_tool_result` is one too."""
_OTHER_PARTS = ("image", "input_image", "audio", "input_audio", "file", "input_file", "document")


def holds_more_than_text(entry: Any) -> bool:
    """Whether a line of a log has tools, calls, results, images or files, at any depth."""
    if isinstance(entry, list):
        return any(map(holds_more_than_text, entry))
    if not isinstance(entry, Mapping):
        return False
    kind = str(entry.get("type") or "")
    return (
        any(entry.get(key) for key in _TOOL_KEYS)
        or entry.get("role") in _TOOL_ROLES
        or kind.endswith(_TOOL_TYPES)
        or kind.removesuffix("_url") in _OTHER_PARTS
        or any(map(holds_more_than_text, entry.values()))
    )


def read_line(entry: Any) -> Logged:
    """What a line of a log says. Raises ValueError where it holds no messages."""
    request = _request(entry, depth=3) if isinstance(entry, Mapping) else None
    if request is None:
        raise ValueError("it has no messages, neither itself nor in body, request or input")
    messages = [_message(message) for message in (*_opening(request), *_messages(request))]
    if not any(message["role"] == "user" for message in messages):
        raise ValueError("none of its messages is of the user")
    reply = next((text for key in _REPLIES if (text := _reply(entry.get(key)))), None)
    if reply is None and messages[-1]["role"] == "assistant":
        # A whole conversation was logged: what was said last is the reply.
        reply = messages.pop()["content"]
    while messages and messages[-1]["role"] not in ("user", "tool"):
        messages.pop()
    model = request.get("model") or entry.get("model")
    return Logged(
        messages,
        reply,
        _first(entry, request, _SESSIONS),
        _timestamp(entry, request),
        model if isinstance(model, str) else None,
    )


def _request(entry: Any, depth: int) -> Mapping[str, Any] | None:
    """The object that holds the messages, here or in what wraps it."""
    if isinstance(entry, list) and entry and all(isinstance(m, Mapping) for m in entry):
        return {"messages": entry} if "role" in entry[0] else None
    if not isinstance(entry, Mapping):
        return None
    if _messages(entry):
        return entry
    if depth:
        for key in _WRAPPERS:
            if (found := _request(entry.get(key), depth - 1)) is not None:
                # A list is only the messages: what belongs to them stands beside it.
                return {**entry, **found} if isinstance(entry[key], list) else found
    return None


def _messages(request: Mapping[str, Any]) -> list[Message]:
    given = request.get("messages")
    if isinstance(given, list) and given and all(isinstance(m, Mapping) for m in given):
        return given
    prompt = request.get("prompt", request.get("input"))
    return [{"role": "user", "content": prompt}] if isinstance(prompt, str) and prompt else []


def _opening(request: Mapping[str, Any]) -> Iterator[Message]:
    for key in _OPENINGS:
        if _content(request.get(key)):
            yield {"role": "system", "content": request[key]}


def _message(message: Message) -> dict[str, Any]:
    return {"role": str(message.get("role") or "user"), "content": _content(message.get("content"))}


def _content(content: Any) -> str:
    """The text of a message; parts that are no text are left out."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(_parts(parts))


def _parts(parts: Sequence[Any]) -> Iterator[str]:
    for part in parts:
        text = part.get("text") if isinstance(part, Mapping) else part
        if isinstance(text, str):
            yield text


def _reply(value: Any) -> str | None:
    """The text of a reply, in whichever form it was logged."""
    if isinstance(value, str):
        return value or None
    if isinstance(value, list):  # of messages, calls and thoughts, one after the other
        texts = [_content(one.get("content")) for one in value if isinstance(one, Mapping)]
        return "\n".join(text for text in texts if text) or None
    if not isinstance(value, Mapping):
        return None
    choices = value.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        message = choices[0].get("message")
        held = message.get("content") if isinstance(message, Mapping) else choices[0].get("text")
        return _content(held) or None
    for key in ("output_text", "output", "content", "text", "body", "message"):
        if key in value:
            inner = value[key]
            return _content(inner) or _reply(inner) if not isinstance(inner, str) else inner or None
    return None


def _first(entry: Mapping[str, Any], request: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    for place in (entry, entry.get("metadata"), request, request.get("metadata")):
        for key in keys:
            value = place.get(key) if isinstance(place, Mapping) else None
            if isinstance(value, str | int) and not isinstance(value, bool):
                return str(value)
    return None


def _timestamp(entry: Mapping[str, Any], request: Mapping[str, Any]) -> Any:
    """The first time that can be read, or else the first that is there."""
    places = [place for place in (entry, entry.get("metadata"), request) if place]
    found = [
        place[key]
        for place in places
        if isinstance(place, Mapping)
        for key in _TIMES
        if place.get(key) is not None
    ]
    return next((one for one in found if read_time(one) is not None), found[0] if found else None)
