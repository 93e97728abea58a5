"""What a system sent to models, told in its output without saying any text twice.

A prompt cache is replayed on what endpoints really got: a system prompt, a template and tools
included, and every request that was made for an example. A system that asks a model tells of its
requests in its output, under `SENT`, by what `told` makes of them: to whom they went, and what
came of them. Texts of the example are referred to by where they stand, and messages that were
sent before by how many they are, so that what is kept grows with what the system added, not with
the context. A chain puts together what its stages told. `requests_sent` reads it back; of a
system that tells nothing it gives what context and question, or the turns, say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cbcore.contexts import pass_on
from cbcore.sent import _messages, _places
from cbcore.sent._messages import Message

__all__ = ("SENT", "SentRequest", "requests_sent", "told")

SENT = "sent_requests"
"""The field of an output that tells of the requests, and the key of what a failure tells."""


_ANSWERS = ("response", "tool_calls", "loglikelihoods")


class SentRequest(NamedTuple):
    """One request to a model, as far as it is known.

    `to` says who was asked: the `endpoint`, the `model` and, where the system was given one, the
    `price` in dollars per million tokens (`input`, `output` and perhaps `cached_input`). `usage`
    is what the endpoint counted, `reply` the text that came back where nothing was counted, and
    `lost` the number of attempts at it that brought nothing and may have been billed. Of a
    request of which only the usage is known there are no messages; then `cost_usd` is what its
    system says it cost. One that was not `made` stands for a turn whose reply the data gives,
    and one that is not `told` for what a model would be sent.
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


def told(
    requests: Sequence[Sequence[Mapping[str, Any]]],
    example: Mapping[str, Any],
    *,
    tools: Any = None,
    replies: Sequence[str] = (),
    n_opening: int | None = None,
    to: Mapping[str, Any] | None = None,
    came: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """What to add to an output that came of these requests, each a list of messages.

    `example` is what the system was given. `to` says who was asked, and `came` what came of each
    request: its `usage`, and how many attempts were `lost`; see `SentRequest`. `replies` are what
    the output gives as `turn_responses`. `tools` were sent with every request
    and stand before its messages. Of a conversation `n_opening` says how many messages come
    before its turns: where the data gives a reply, it was asked for when the conversation was
    held, which `requests_sent` counts as a request. Nothing where the example says as much itself,
    and nothing is known of who was asked.
    """
    written = [_messages.written(messages, tools) for messages in requests]
    is_plain = not to and not came and SENT not in example
    if is_plain and written == _messages.plain(example):
        return {}
    known = _places.known_texts(example, replies)
    kept: list[dict[str, Any]] = []
    before: list[Message] = []
    for n, messages in enumerate(written):
        same = _messages.in_common(before, messages)
        new = [[role, _places.pieces(text, known)] for role, text in messages[same:]]
        facts = came[n] if n < len(came) else {}
        kept.append({"same": same, "messages": new, **{k: v for k, v in facts.items() if v}})
        before = messages
    if kept and to:
        kept[0]["to"] = dict(to)
    if kept and n_opening is not None:
        kept[0]["n_opening"] = n_opening + bool(tools)
    return {SENT: kept}


def requests_sent(example: Mapping[str, Any], output: Mapping[str, Any]) -> list[SentRequest]:
    """Every request that was made for an example, in order; `example` is as the system got it.

    Where no model that tells of itself has answered, the last one is what a reader would be sent.
    Raises ValueError where the output refers to what is not there.
    """
    now = pass_on(example, output)
    kept = output.get(SENT)
    if not kept:
        return _untold(now, output.get("usage"))
    try:
        found = [one for stage in _by_stage(kept) for one in _stage_requests(stage, example, now)]
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise ValueError(f"what the output says in {SENT!r} cannot be read: {error}") from error
    if any(output.get(field) is not None for field in _ANSWERS):
        return found
    return [*found, *_untold(now, None)]


def _by_stage(kept: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """The requests of each stage of a chain; all together where no stage is named."""
    stage: list[Mapping[str, Any]] = []
    for entry in kept:
        if "stage" in entry and stage:
            yield stage
            stage = []
        stage.append(entry)
    yield stage


def _stage_requests(
    entries: Sequence[Mapping[str, Any]], given: Mapping[str, Any], now: Mapping[str, Any]
) -> list[SentRequest]:
    first = entries[0]
    stage, to = first.get("stage"), first.get("to") or {}
    if first.get("plain"):
        found = [one._replace(stage=stage) for one in _untold(now, first.get("usage"))]
        return [one._replace(cost_usd=first.get("cost_usd")) for one in found[:1]] + found[1:]
    if "messages" not in first and {"usage", "cost_usd"} & first.keys():
        facts = _facts(first)
        return [SentRequest((), stage, to, cost_usd=first.get("cost_usd"), **facts)]
    replies = _replies(entries, given, now)
    n_opening = first.get("n_opening")
    messages: list[Message] = []
    found = []
    for entry, reply in zip(entries, replies, strict=True):
        new = [(str(role), _places.said(text, given, now)) for role, text in entry["messages"]]
        messages = [*messages[: entry["same"]], *new]
        if n_opening is not None:
            found += [one._replace(stage=stage, to=to) for one in _held(messages, n_opening)]
            n_opening = len(messages)
        found.append(SentRequest(messages, stage, to, reply=reply, **_facts(entry)))
    return found


def _facts(entry: Mapping[str, Any]) -> dict[str, Any]:
    usage, lost = entry.get("usage"), entry.get("lost")
    return {
        "usage": usage if isinstance(usage, Mapping) else {},
        "lost": lost if type(lost) is int and lost > 0 else 0,
    }


def _replies(
    entries: Sequence[Mapping[str, Any]], given: Mapping[str, Any], now: Mapping[str, Any]
) -> list[str | None]:
    """What came back to each request: as it is told, or as the output says it."""
    if any("reply" in entry for entry in entries):
        kept = [entry.get("reply") for entry in entries]
        return [None if one is None else _places.said(one, given, now) for one in kept]
    if "stage" in entries[0]:
        return [None] * len(entries)
    return replies_of(now, len(entries))


def replies_of(output: Mapping[str, Any], n_requests: int) -> list[str | None]:
    """The replies that an output gives to so many requests; None where it does not tell."""
    turns = output.get("turn_responses")
    if isinstance(turns, list | tuple) and len(turns) == n_requests:
        return [str(reply) for reply in turns]
    response = output.get("response")
    known = None if response is None else str(response)
    return [*[None] * (n_requests - 1), known]


def _held(messages: Sequence[Message], n_opening: int) -> Iterator[SentRequest]:
    """A request for every message of the user to which the data gave the reply."""
    for n in range(n_opening, len(messages) - 1):
        if messages[n][0] == "user":
            yield SentRequest(messages[: n + 1], reply=_reply_after(messages, n), made=False)


def _reply_after(messages: Sequence[Message], n: int) -> str:
    """What was said to a message of the user before the next."""
    said = []
    for role, text in messages[n + 1 :]:
        if role == "user":
            break
        if role == "assistant":
            said.append(text)
    return "\n\n".join(said)


def _untold(now: Mapping[str, Any], usage: Any) -> list[SentRequest]:
    """What context and question, or the turns, say; with the usage where it can be theirs."""
    if not now.get("turns"):
        requests = _messages.plain(now)
        (reply,) = replies_of({"response": now.get("response")}, 1)
        counted = usage if isinstance(usage, Mapping) else {}
        return [SentRequest(one, usage=counted, reply=reply, told=False) for one in requests]
    messages = _messages.conversation(now)
    turns = [*_held(messages, 0), SentRequest(messages, reply=replies_of(now, 1)[0])]
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
