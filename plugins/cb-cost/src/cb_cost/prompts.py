"""The requests of a row with their prompts, as the output lists them or as the example says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from cbcore.contexts import content_of, context_of, pass_on
from cbcore.requests import expand_requests
from cbcore.texts import context_twin

Message: TypeAlias = tuple[str, str]
"""The role, and the text."""

TOOLS = "tools"
"""The role of tool definitions."""
_ANSWERS = ("response", "tool_calls", "loglikelihoods")
_TO = ("endpoint", "model", "price")


class SentRequest(NamedTuple):
    """One request to a model, as far as it is known.

    `to` has the `endpoint`, the `model` and, if the user gave one, the `price` in dollars per
    million tokens (`input`, `output` and perhaps `cached_input`). `usage` is what the endpoint
    counted, `reply` the text of a reply that it did not count, and `lost` the number of attempts
    without a result, which may have been billed. A request of which only the usage is known has
    no messages; `cost_usd` is what its system reports for it. A request that was not `made`
    stands for a turn with the reply in the data, and one that is not `told` for what a model
    would get.
    """

    messages: Sequence[Message] = ()
    stage: str | None = None
    to: Mapping[str, Any] = {}
    usage: Mapping[str, Any] = {}
    reply: str | None = None
    lost: int = 0
    cost_usd: float | None = None
    made: bool = True
    told: bool = True


def read_requests(example: Mapping[str, Any], output: Mapping[str, Any]) -> list[SentRequest]:
    """Every request that was made for an example, in order.

    If no model of which the requests are known has answered, the last request is what a reader
    would be sent. Raises ValueError if the requests cannot be read.
    """
    now = pass_on(example, output)
    requests = expand_requests(example, output)
    if not requests:
        return _derive_requests(now, output.get("usage"))
    found: list[SentRequest] = []
    try:
        for request in requests:
            if request.get("answered") and "messages" not in request:
                derived = _derive_requests(now, request.get("usage"))
                derived[:1] = [
                    one._replace(cost_usd=request.get("cost_usd")) for one in derived[:1]
                ]
                found += [one._replace(stage=request.get("stage")) for one in derived]
                continue
            sent = read_request(request)
            if "n_opening" in request:
                n_opening = request["n_opening"] + bool(request.get(TOOLS))
                held = _find_held(sent.messages, n_opening)
                found += [one._replace(stage=sent.stage, to=sent.to) for one in held]
            found.append(sent)
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"'requests' of the output cannot be read: {error!r}") from error
    if "stage" not in requests[0]:
        replies = iter(_find_replies(now, sum(one.made for one in found)))
        found = [
            one._replace(reply=one.reply or next(replies)) if one.made else one for one in found
        ]
    if any(output.get(field) is not None for field in _ANSWERS):
        return found
    return [*found, *_derive_requests(now, None)]


def read_request(request: Mapping[str, Any]) -> SentRequest:
    """One request of the list in an output."""
    usage, lost, reply = request.get("usage"), request.get("lost"), request.get("reply")
    return SentRequest(
        _write_messages(request.get("messages") or (), request.get(TOOLS)),
        request.get("stage"),
        {key: request[key] for key in _TO if key in request},
        usage=usage if isinstance(usage, Mapping) else {},
        reply=None if reply is None else str(reply),
        lost=lost if type(lost) is int and lost > 0 else 0,
        cost_usd=request.get("cost_usd") if "messages" not in request else None,
    )


def _write_messages(messages: Sequence[Mapping[str, Any]], tools: Any) -> list[Message]:
    """Messages as roles and texts, tools first."""
    written = [(str(message.get("role") or "user"), content_of(message)) for message in messages]
    return [(TOOLS, _as_json(tools)), *written] if tools else written


def _as_json(tools: Any) -> str:
    return json.dumps(tools, ensure_ascii=False, sort_keys=True, default=str)


def _derive_requests(now: Mapping[str, Any], usage: Any) -> list[SentRequest]:
    """The requests that context and question, or the turns, make; with the usage if it fits."""
    if not now.get("turns"):
        context = None if context_twin(now) else context_of(now)
        texts = [content_of({"content": text}) for text in (context, now.get("question"))]
        text = "\n\n".join(text for text in texts if text.strip())
        counted = usage if isinstance(usage, Mapping) else {}
        (reply,) = _find_replies({"response": now.get("response")}, 1)
        messages = [("user", text)]
        return [SentRequest(messages, usage=counted, reply=reply, told=False)] if text else []
    messages = _write_conversation(now)
    turns = [*_find_held(messages, 0), SentRequest(messages, reply=_find_replies(now, 1)[0])]
    if isinstance(usage, Mapping) and "cached_tokens" in usage:  # of all turns together
        return [SentRequest(usage=usage, told=False)]
    usages = usage if isinstance(usage, list | tuple) else [usage]
    usages = usages if len(usages) == len(turns) else [None] * len(turns)
    is_own = len(now.get("turn_responses") or ()) == len(turns)
    return [
        one._replace(
            usage=own if isinstance(own, Mapping) else {}, made=one.made or is_own, told=False
        )
        for one, own in zip(turns, usages, strict=True)
    ]


def _write_conversation(example: Mapping[str, Any]) -> list[Message]:
    """All turns, with replies of the system where the data has none."""
    turns = [turn if isinstance(turn, Mapping) else {"content": turn} for turn in example["turns"]]
    written = _write_messages(turns, None)
    replies = iter(example.get("turn_responses") or ())
    messages: list[Message] = []
    for message, (following, _) in zip(written, [*written[1:], ("", "")], strict=True):
        messages.append(message)
        if message[0] == "user" == following and (reply := next(replies, None)) is not None:
            messages.append(("assistant", str(reply)))
    return messages


def _find_replies(output: Mapping[str, Any], n_requests: int) -> list[str | None]:
    """The replies to so many requests; None for each that is not in the output."""
    turns = output.get("turn_responses")
    if isinstance(turns, list | tuple) and len(turns) == n_requests:
        return [str(reply) for reply in turns]
    response = output.get("response")
    known = None if response is None else str(response)
    return [*[None] * (n_requests - 1), known]


def _find_held(messages: Sequence[Message], n_opening: int) -> Iterator[SentRequest]:
    """A request for every message of the user to which the data has the reply."""
    for n in range(n_opening, len(messages) - 1):
        if messages[n][0] == "user":
            yield SentRequest(messages[: n + 1], reply=_find_reply(messages, n), made=False)


def _find_reply(messages: Sequence[Message], n: int) -> str:
    """The reply to a message of the user: what the assistant said before the next one."""
    replies = []
    for role, text in messages[n + 1 :]:
        if role == "user":
            break
        if role == "assistant":
            replies.append(text)
    return "\n\n".join(replies)
