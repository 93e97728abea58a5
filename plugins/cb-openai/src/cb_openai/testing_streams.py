"""How the stand-in endpoint streams its replies, and all that can go wrong while it does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any

_ERROR = {"error": {"message": "the upstream model is gone", "code": 500}}
_BREAKS: dict[str, bytes] = {
    "stream_error": json.dumps(_ERROR).encode(),
    "stream_invalid": b'{"choices": [{"delta"',
    "stream_bad_utf8": b'{"choices": [{"delta": {"content": "\xff\xfe"}}]}',
    "stream_list": b"[1, 2]",
}
"""Events that come in the middle of a reply, instead of the rest."""
_BROKEN_OFF = ("stream_cut", "stream_drop", "stream_endless", "stream_large", "stream_bad_chunk")
"""A reply breaks off: the stream ends, the connection drops, only noise follows, or what follows
is no chunk, on a connection that stays open."""
_UNUSUAL = (
    "stream_bytes",
    "stream_comments",
    "stream_crlf",
    "stream_no_done",
    "stream_open",
    "stream_whole",
)
"""Complete replies: byte by byte, with comments, with CRLF, without `[DONE]`, on a connection
that stays open, and in one piece although a stream was asked for."""

STREAM_FAULTS = (*_BREAKS, *_BROKEN_OFF, *_UNUSUAL)


def chunks(reply: Any, asked: Mapping[str, Any]) -> Iterator[Any]:
    """A reply in one piece, as the pieces that a stream has."""
    if isinstance(reply, Mapping) and "output" in reply:
        yield {"type": "response.created", "response": {"output": [], "error": None}}
        yield {"type": "response.output_text.delta", "delta": "Par"}
        incomplete = reply.get("status") == "incomplete"
        kind = "response.incomplete" if incomplete else "response.completed"
        yield {"type": kind, "response": reply}
        return
    if not isinstance(reply, Mapping) or not reply.get("choices"):
        yield reply
        return
    first = reply["choices"][0]
    shared = {"model": reply.get("model")}
    for part in _parts(first):
        yield {**shared, "choices": [{"index": 0, "finish_reason": None, **part}]}
    yield {
        **shared,
        "choices": [{"index": 0, "delta": {}, "finish_reason": first.get("finish_reason")}],
    }
    options = asked.get("stream_options")
    if "usage" in reply and isinstance(options, Mapping) and options.get("include_usage"):
        yield {**shared, "choices": [], "usage": reply["usage"]}


def _parts(choice: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if "text" in choice:
        yield from ({"text": letter} for letter in choice["text"])
        return
    message = choice.get("message") or {}
    yield {"delta": {"role": "assistant", "content": message.get("content") and ""}}
    for name in ("content", "refusal"):
        text = message.get(name)
        for piece in text or ():
            yield {"delta": {name: [piece] if isinstance(text, list) else piece}}
    for index, call in enumerate(message.get("tool_calls") or ()):
        function = call["function"]
        opening = {**call, "index": index, "function": {**function, "arguments": ""}}
        yield {"delta": {"tool_calls": [opening]}}
        for letter in function["arguments"]:
            piece = {"index": index, "function": {"arguments": letter}}
            yield {"delta": {"tool_calls": [piece]}}


async def stream(
    writer: asyncio.StreamWriter, fault: str, reply: Any, path: str, asked: Mapping[str, Any]
) -> bool:
    """Answer with a stream. False ends the connection."""
    events = [_encoded(chunk) for chunk in chunks(reply, asked)]
    if fault in _BREAKS:
        events = [*events[:2], _BREAKS[fault]]
    elif fault in _BROKEN_OFF:
        events = events[:2]
    elif fault != "stream_no_done" and not path.endswith("/responses"):
        events.append(b"[DONE]")
    pieces = [b"data: %b\n\n" % event for event in events]
    if fault == "stream_crlf":
        pieces = [piece.replace(b"\n", b"\r\n") for piece in pieces]
    elif fault == "stream_comments":
        pieces = [b": still here\n\nevent: ping\nid: 7\ndata:\n\n" + piece for piece in pieces]
    elif fault == "stream_bytes":
        pieces = [bytes([byte]) for byte in b"".join(pieces)]
    head = "content-type: text/event-stream\r\nx-request-id: req-streamed\r\n"
    writer.write(f"HTTP/1.1 200 OK\r\n{head}transfer-encoding: chunked\r\n\r\n".encode())
    for piece in pieces:
        await _write(writer, piece)
    while fault in ("stream_endless", "stream_large"):
        await _write(writer, b": still here\n\n" * (1 if fault == "stream_endless" else 10_000))
        await asyncio.sleep(0.01 if fault == "stream_endless" else 0)
    if fault == "stream_bad_chunk":
        await asyncio.sleep(0.05)  # so that it comes by itself
        writer.write(b"ZZZ\r\nno chunk\r\n")
        await writer.drain()
    if fault in ("stream_open", "stream_bad_chunk"):
        await asyncio.sleep(3600)
    if fault != "stream_drop":
        writer.write(b"0\r\n\r\n")
    await writer.drain()
    return fault != "stream_drop"


async def _write(writer: asyncio.StreamWriter, piece: bytes) -> None:
    writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
    await writer.drain()


def _encoded(chunk: Any) -> bytes:
    """As UTF-8, so that characters can be split; escaped where they cannot be encoded."""
    try:
        return json.dumps(chunk, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(chunk).encode()
