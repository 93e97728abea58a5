"""The three APIs: what a request looks like in each, and where the answer stands in a reply."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from cb_openai.errors import BadReplyError, NoAnswerError, Outcome
from cb_openai.likelihood import read_tokens

Message: TypeAlias = Mapping[str, Any]
Answer: TypeAlias = dict[str, Any]
"""A reply, by the names of the fields of `Reply`."""

_EXCERPT = 200
_STREAMING = {"stream": True, "stream_options": {"include_usage": True}}
"""Fields that ask for a stream, and for the usage in it."""


@attrs.frozen
class Dialect:
    """One API: its path, the names of its parameters, and how its replies are read."""

    path: str
    input_key: str
    parameters: Mapping[str, str]
    read: Callable[[Mapping[str, Any]], Answer]
    write_input: Callable[[Sequence[Message]], Any] = list
    write_tools: Callable[[Sequence[Mapping[str, Any]]], Any] = list
    streaming: Mapping[str, Any] = _STREAMING

    def body(
        self, model: str, messages: Sequence[Message], options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The request. Raises ValueError for an option this API does not have."""
        made = {"model": model, self.input_key: self.write_input(messages)}
        for name, value in options.items():
            if value is None:
                continue
            key = self.parameters.get(name)
            if key is None:
                raise ValueError(f"the API at /{self.path} has no {name}")
            if name == "tools":
                value = self.write_tools(value)  # noqa: PLW2901 - the same, as this API writes it
            elif key == "text":
                value = {"format": _flat_format(value)}  # noqa: PLW2901
            made[key] = value
        return made


def _read_chat(data: Mapping[str, Any]) -> Answer:
    choice = _first_choice(data)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise _unexpected("the first choice has no message")
    calls = [
        _tool_call(call.get("function"), call.get("id"))
        for call in message.get("tool_calls") or ()
        if isinstance(call, dict)
    ]
    return _checked(
        text=text_of(message.get("content")),
        refusal=message.get("refusal"),
        finish_reason=_word(choice.get("finish_reason")),
        calls=calls,
        data=data,
    )


def _read_completions(data: Mapping[str, Any]) -> Answer:
    choice = _first_choice(data)
    return _checked(
        text=text_of(choice.get("text")),
        finish_reason=_word(choice.get("finish_reason")),
        data=data,
    )


_FINISH_REASONS = {"max_output_tokens": "length", "content_filter": "content_filter"}


def _read_responses(data: Mapping[str, Any]) -> Answer:
    items = data.get("output")
    if not isinstance(items, list):
        raise _unexpected("it has no list called 'output'")
    texts: list[str] = []
    refusal: Any = None
    calls = []
    for item in items:
        if not isinstance(item, dict):
            continue
        if item.get("type") == "function_call":
            calls.append(_tool_call(item, item.get("call_id")))
        for part in item.get("content") or () if item.get("type") == "message" else ():
            if isinstance(part, dict) and part.get("type") == "refusal":
                refusal = part.get("refusal")
            elif (text := text_of([part])) is not None:
                texts.append(text)
    finish_reason = "tool_calls" if calls else "stop"
    if data.get("status") == "incomplete":
        details = data.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        finish_reason = _FINISH_REASONS.get(str(reason), str(reason))
    return _checked(
        text="".join(texts) if texts else None,
        refusal=refusal,
        finish_reason=finish_reason,
        calls=calls,
        data=data,
    )


def _checked(
    *,
    text: str | None,
    finish_reason: str | None,
    data: Mapping[str, Any],
    refusal: Any = None,
    calls: Sequence[Mapping[str, Any]] = (),
) -> Answer:
    """The answer, if there is one; else the `NoAnswerError` that says why not."""
    if finish_reason == "content_filter":
        raise NoAnswerError(Outcome.CONTENT_FILTER, "the provider's filter withheld the reply")
    if isinstance(refusal, str) and refusal.strip():
        raise NoAnswerError(Outcome.REFUSED, f"the model declined: {excerpt(refusal)}")
    if (text is None or not text.strip()) and not calls:
        if finish_reason == "length":
            raise NoAnswerError(
                Outcome.TRUNCATED,
                "the token limit was reached before the model wrote an answer",
                hint="raise max_tokens",
            )
        told = "null" if text is None else "empty"
        raise NoAnswerError(
            Outcome.EMPTY, f"the reply's text is {told} (finish_reason {finish_reason!r})"
        )
    return {
        "text": text,
        "finish_reason": finish_reason,
        "tool_calls": calls,
        "usage": usage_of(data.get("usage")),
        "model": _word(data.get("model")),
        "raw": data,
    }


def usage_of(usage: Any) -> dict[str, int]:
    """Token counts under the names of chat completions, whatever API reported them."""
    if not isinstance(usage, dict):
        return {}
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
    found = {
        "prompt_tokens": usage.get("prompt_tokens", usage.get("input_tokens")),
        "completion_tokens": usage.get("completion_tokens", usage.get("output_tokens")),
        "cached_tokens": details.get("cached_tokens") if isinstance(details, dict) else None,
    }
    return {name: n for name, n in found.items() if type(n) is int and n >= 0}


def excerpt(text: str) -> str:
    """A foreign text as it may stand in a message: one line, not long."""
    if len(text) <= _EXCERPT and text.isprintable():
        return text
    line = " ".join("".join(c if c.isprintable() else " " for c in text[:1000]).split())
    return line if len(line) <= _EXCERPT else f"{line[:_EXCERPT]}…"


def _first_choice(data: Mapping[str, Any]) -> Mapping[str, Any]:
    choices = data.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise _unexpected("it has no list of choices")
    return choices[0]


def _unexpected(reason: str) -> BadReplyError:
    return BadReplyError(Outcome.UNEXPECTED, f"the JSON is no reply of this API: {reason}")


def text_of(content: Any) -> str | None:
    """The text of a message; some endpoints send it in parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    texts = [part.get("text") if isinstance(part, dict) else part for part in content]
    known = [text for text in texts if isinstance(text, str)]
    return "".join(known) if known else None


def _tool_call(function: Any, call_id: Any) -> dict[str, Any]:
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise _unexpected("a tool call names no function")
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        try:
            parsed = json.loads(arguments)
        except (ValueError, RecursionError):
            parsed = None
        arguments = parsed if isinstance(parsed, dict) else arguments
    call = {"name": function["name"], "arguments": {} if arguments is None else arguments}
    return {**call, "id": call_id} if isinstance(call_id, str) else call


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _as_prompt(messages: Sequence[Message]) -> str:
    """Messages as one text, for the API that takes nothing else."""
    texts = [(m.get("role"), text_of(m.get("content")) or "") for m in messages]
    if all(role in ("system", "developer", "user") for role, _ in texts):
        return "\n\n".join(text for _, text in texts)
    lines = [f"{str(role).capitalize()}: {text}" for role, text in texts]
    return "\n\n".join([*lines, "Assistant:"])


def _flat_tools(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Tools of the chat API, as the responses API writes them: without the inner object."""
    return [
        {"type": "function", **tool["function"]}
        if isinstance(tool.get("function"), Mapping)
        else dict(tool)
        for tool in tools
    ]


def _flat_format(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """A `response_format` of the chat API, as the responses API writes it."""
    schema = wanted.get("json_schema")
    return {"type": "json_schema", **schema} if isinstance(schema, Mapping) else dict(wanted)


_SAMPLING = {"temperature": "temperature", "max_tokens": "max_tokens"}
DIALECTS = {
    "chat": Dialect(
        path="chat/completions",
        input_key="messages",
        parameters={
            **_SAMPLING,
            "seed": "seed",
            "stop": "stop",
            "tools": "tools",
            "response_format": "response_format",
        },
        read=_read_chat,
    ),
    "responses": Dialect(
        path="responses",
        input_key="input",
        parameters={
            "temperature": "temperature",
            "max_tokens": "max_output_tokens",
            "tools": "tools",
            "response_format": "text",
        },
        read=_read_responses,
        write_tools=_flat_tools,
        streaming={"stream": True},
    ),
    "completions": Dialect(
        path="completions",
        input_key="prompt",
        parameters={**_SAMPLING, "seed": "seed", "stop": "stop"},
        read=_read_completions,
        write_input=_as_prompt,
    ),
    "likelihood": Dialect(
        path="completions",
        input_key="prompt",
        parameters=_SAMPLING,
        read=lambda data: _checked(text=read_tokens(data), finish_reason="stop", data=data),
        write_input=lambda messages: str(messages[0]["content"]),
    ),
    "embeddings": Dialect(
        path="embeddings",
        input_key="input",
        parameters={},
        read=lambda data: _checked(text="vectors", finish_reason="stop", data=data),
        write_input=lambda messages: [str(message["content"]) for message in messages],
    ),
}
"""The APIs by the name users give them. `likelihood` asks one of them about a prompt, and of
`embeddings` the vectors are read from the reply itself."""
