"""The replies of the stand-in endpoint, good and bad."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 2,
    "total_tokens": 102,
    "prompt_tokens_details": {"cached_tokens": 40},
}


def good_reply(behaviour: Mapping[str, str], path: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """A good reply of the API that was asked."""
    text = behaviour["text"]
    if text == "echo":
        text = _last_text(asked)
    model = asked.get("model")
    if path.endswith("/responses"):
        content = [{"type": "output_text", "text": text}]
        usage = {"input_tokens": 100, "output_tokens": 2, "total_tokens": 102}
        usage["input_tokens_details"] = {"cached_tokens": 40}  # type: ignore[assignment]
        output = [{"type": "reasoning"}, {"type": "message", "content": content}]
        return {"model": model, "status": "completed", "output": output, "usage": usage}
    choice: dict[str, Any] = {"index": 0, "finish_reason": "stop"}
    if path.endswith("/chat/completions"):
        choice["message"] = {"role": "assistant", "content": text}
    else:
        choice["text"] = text
    return {"model": model, "choices": [choice], "usage": USAGE}


def _last_text(asked: Mapping[str, Any]) -> str:
    given = asked.get("messages") or asked.get("input") or asked.get("prompt")
    return str(given[-1]["content"]) if isinstance(given, list) else str(given)


def _message(**message: Any) -> dict[str, Any]:
    """A chat reply whose first choice differs from the usual; `finish_reason` may be given."""
    finish_reason = message.pop("finish_reason", "stop")
    choice = {"finish_reason": finish_reason, "message": {"role": "assistant", **message}}
    return {"model": "stand-in", "choices": [choice], "usage": USAGE}


_CALL = {"name": "weather", "arguments": '{"city": "Paris"}'}
REPLIES: dict[str, Any] = {
    "null": _message(content=None),
    "blank": _message(content=" \n"),
    "parts": _message(content=[{"type": "text", "text": "Par"}, {"type": "text", "text": "is"}]),
    "refusal": _message(content=None, refusal="I cannot help with that."),
    "content_filter": _message(content="Par", finish_reason="content_filter"),
    "truncated": _message(content="Paris is the", finish_reason="length"),
    "truncated_empty": _message(content="", finish_reason="length"),
    "tool_calls": _message(
        content=None,
        finish_reason="tool_calls",
        tool_calls=[{"id": "call-1", "type": "function", "function": _CALL}],
    ),
    "broken_tool_call": _message(
        content=None, tool_calls=[{"function": {"name": "weather", "arguments": '{"city": '}}]
    ),
    "no_choices": {"choices": []},
    "no_message": {"choices": [{"index": 0}]},
    "not_an_object": [1, 2],
    "error_object": {"error": {"message": "the upstream model is gone", "code": 500}},
    "no_usage": {"choices": [{"message": {"content": "Paris"}, "finish_reason": "stop"}]},
    "zero_usage": {
        **_message(content="Paris"),
        "usage": {"prompt_tokens": 0, "completion_tokens": 0},
    },
    "odd_usage": {**_message(content="Paris"), "usage": {"prompt_tokens": "many", "x": -1}},
    "responses_truncated": {
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "Par"}]}],
    },
    "responses_refusal": {
        "output": [{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]
    },
    "responses_calls": {"output": [{"type": "function_call", "call_id": "c1", **_CALL}]},
}
"""Replies with status 200 that are not the usual one."""

BODIES: dict[str, tuple[int, str, bytes]] = {
    "html": (200, "text/html", b"<!DOCTYPE html><title>Welcome &amp; hello</title><p>Hi"),
    "html_502": (502, "text/html", b"<html><head><title>502 Bad Gateway</title></head></html>"),
    "invalid_json": (200, "application/json", b'{"choices": [{"message"'),
    "bad_utf8": (200, "application/json", b'{"choices": [{"message": {"content": "\xff\xfe"}}]}'),
    "no_body": (200, "application/json", b""),
    "deep": (200, "application/json", b"[" * 200_000),
    "events": (200, "text/event-stream", b'data: {"choices": []}\n\ndata: [DONE]\n\n'),
    "too_long": (
        400,
        "application/json",
        b'{"error": {"message": "It does not fit", "code": "context_length_exceeded"}}',
    ),
    "filtered_prompt": (
        400,
        "application/json",
        b'{"error": {"message": "The prompt was filtered", "code": "content_filter"}}',
    ),
    "redirect": (307, "text/plain", b""),
    "plain_500": (500, "text/plain", b"out of memory\x1b[31m"),
    "detail_422": (422, "application/json", b'{"detail": "no such field"}'),
}
"""Bodies that are sent as they are, with their status and type."""
