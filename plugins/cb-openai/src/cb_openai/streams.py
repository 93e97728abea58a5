"""Replies that come as server-sent events: taken apart as they arrive, and put together again.

What is put together has the shape of the reply that would have come in one piece, so that all
that is known of such replies (refusals, filters, truncation, secrets) holds for these.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from cb_openai.dialects import text_of
from cb_openai.errors import Outcome, TransportError
from cbcore.json_data import to_json

_DONE = b"[DONE]"
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
_PIECES = frozenset(
    {
        "response.output_text.delta",
        "response.refusal.delta",
        "response.function_call_arguments.delta",
    }
)


class EventReader:
    """Takes bytes in whatever pieces they come, and gives the data of each event that is whole.

    Comments and fields other than `data` are passed over.
    """

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The events that these bytes complete."""
        first, *others = chunk.split(b"\n")
        self._line.append(first)
        for following in others:
            line = b"".join(self._line)
            self._line = [following]
            yield from self._events(line)

    def end(self) -> Iterator[bytes]:
        """The rest when no more bytes come: some endpoints leave out the end of the last line."""
        yield from self._events(b"".join(self._line))
        yield from self._events(b"")
        self._line = []

    def _events(self, ended: bytes) -> Iterator[bytes]:
        for line in ended.removesuffix(b"\r").split(b"\r"):
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line and self._data:
                data, self._data = b"\n".join(self._data), []
                yield data


class Assembly(Protocol):
    """Puts the events of one reply together. `is_complete` when no event can add to it."""

    is_complete: bool

    def add(self, event: Mapping[str, Any]) -> bool:
        """Take an event in. Whether it held a piece of the answer."""

    def whole(self, *, done: bool) -> Mapping[str, Any] | None:
        """The reply, or None if it broke off; `done` when the endpoint said that it is over."""


class ChoiceAssembly:
    """Chunks of chat completions and of plain completions. Of several choices, the first."""

    is_complete = False  # usage may follow whatever comes

    def __init__(self) -> None:
        self._facts: dict[str, Any] = {}
        self._finish_reason: Any = None
        self._texts: dict[str, list[str]] = {}
        self._calls: dict[int, _CallAssembly] = {}
        self._has_choice = False

    def add(self, event: Mapping[str, Any]) -> bool:
        for name in ("model", "usage"):
            if event.get(name):
                self._facts[name] = event[name]
        choices = event.get("choices")
        came = False
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, Mapping) and not choice.get("index"):
                came |= self._add_choice(choice)
        return came

    def _add_choice(self, choice: Mapping[str, Any]) -> bool:
        self._has_choice = True
        self._finish_reason = choice.get("finish_reason") or self._finish_reason
        delta = choice.get("delta") or choice.get("message")
        given = delta if isinstance(delta, Mapping) else {"content": choice.get("text")}
        came = False
        for name in ("content", "refusal"):
            if (text := text_of(given.get(name))) is not None:
                self._texts.setdefault(name, []).append(text)
                came |= bool(text)
        calls = given.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, Mapping):
                self._add_call(call)
                came = True
        return came

    def _add_call(self, call: Mapping[str, Any]) -> None:
        index = call.get("index")
        if not isinstance(index, int):  # some leave it out: a call with an id is the next one
            index = max(self._calls, default=-1) + (1 if call.get("id") or not self._calls else 0)
        self._calls.setdefault(index, _CallAssembly()).add(call)

    def whole(self, *, done: bool) -> Mapping[str, Any] | None:
        if not done and self._finish_reason is None:
            return None
        joined = {name: "".join(texts) for name, texts in self._texts.items()}
        message: dict[str, Any] = {"content": None, **joined}
        if self._calls:
            message["tool_calls"] = [call.whole() for _, call in sorted(self._calls.items())]
        choice = {
            "finish_reason": self._finish_reason,
            "message": message,
            "text": message["content"],
        }
        return {**self._facts, "choices": [choice] if self._has_choice else []}


class _CallAssembly:
    """One tool call: its name comes at once, its arguments in pieces."""

    def __init__(self) -> None:
        self._id: Any = None
        self._name: Any = None
        self._arguments: list[str] = []

    def add(self, call: Mapping[str, Any]) -> None:
        function = call.get("function")
        given = function if isinstance(function, Mapping) else {}
        self._id = self._id or call.get("id")
        self._name = self._name or given.get("name")
        if isinstance(arguments := given.get("arguments"), str):
            self._arguments.append(arguments)

    def whole(self) -> dict[str, Any]:
        function = {"name": self._name, "arguments": "".join(self._arguments) or None}
        return {"id": self._id, "function": function}


class ResponseAssembly:
    """Events of the responses API, the last of which holds the whole reply."""

    def __init__(self) -> None:
        self._whole: Mapping[str, Any] | None = None
        self.is_complete = False

    def add(self, event: Mapping[str, Any]) -> bool:
        kind = event.get("type")
        response = event.get("response")
        if kind in _ENDS and isinstance(response, Mapping):
            self._whole = response
        elif kind == "error":
            self._whole = {"error": event}
        self.is_complete = self._whole is not None
        return kind in _PIECES

    def whole(self, *, done: bool) -> Mapping[str, Any] | None:
        return {} if done and self._whole is None else self._whole


ASSEMBLIES: dict[str, Callable[[], Assembly]] = {
    "chat": ChoiceAssembly,
    "responses": ResponseAssembly,
    "completions": ChoiceAssembly,
}
"""How the events of each API are put together."""


class StreamedReply:
    """One reply that is being received.

    `first_token_s` counts from when this was made until the first piece of the answer: text,
    a refusal, or a tool call. `is_over` says that nothing more has to be read.
    """

    def __init__(self, assembly: Assembly) -> None:
        self.first_token_s: float | None = None
        self.is_over = False
        self._started = time.perf_counter()
        self._assembly = assembly
        self._events = EventReader()
        self._unlike_events: list[bytes] | None = []
        self._instead: bytes | None = None

    def feed(self, chunk: bytes) -> None:
        """Take in bytes as they come."""
        if self._unlike_events is not None:
            self._unlike_events.append(chunk)
        for data in self._events.feed(chunk):
            self._take(data)

    def _take(self, data: bytes) -> None:
        self._unlike_events = None
        if self.is_over or not data.strip():
            return
        if data.strip() == _DONE:
            self.is_over = True
            return
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            event = None
        if not isinstance(event, Mapping) or event.get("error"):
            self._instead = data
            self.is_over = True
            return
        if self._assembly.add(event) and self.first_token_s is None:
            self.first_token_s = time.perf_counter() - self._started
        self.is_over = self._assembly.is_complete

    def body(self) -> bytes:
        """The reply as it would have come in one piece, once no more bytes come.

        An event that is an error, or none that can be read, stands for the whole reply; so
        does a body that is no stream. Raises `TransportError` for a stream that broke off.
        """
        for data in self._events.end():
            self._take(data)
        if self._unlike_events is not None:
            return b"".join(self._unlike_events)
        if self._instead is not None:
            return self._instead
        whole = self._assembly.whole(done=self.is_over)
        if whole is None:
            raise TransportError(Outcome.DROPPED, "the stream ended before the reply did")
        return to_json(whole)
