"""Who was asked, and what came of it: what a row tells of its requests besides their prompts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import attrs

from cb_cost.caching import Request
from cb_cost.prompts import SentRequest, read_request

PROMPT, CACHED, REPLY = "prompt_tokens", "cached_tokens", "completion_tokens"
"""What an endpoint counts of a request."""


@attrs.frozen(repr=False, eq=False)
class Asked:
    """One request of a row, and what is known of it; see `SentRequest`.

    `prompt_tokens` and `cached_tokens` are there where the endpoint has counted both of them, or
    where nothing is known of the prompt but its size. Nobody knows `reply_tokens` that are None.
    One that was `held` stands for a turn whose reply the data gives.
    """

    request: Request | None = None
    to: Mapping[str, Any] = attrs.Factory(dict)
    stage: str | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    reply_tokens: int | None = 0
    lost: int = 0
    cost_usd: float | None = None
    told: bool = True
    held: bool = False


def described(sent: Sequence[SentRequest], count: Callable[[str], int]) -> dict[str, Any]:
    """What a row keeps of its requests: who was asked, said once, and what came of each."""
    whom: list[dict[str, Any]] = []
    asked = []
    for one in sent:
        facts: dict[str, Any] = {}
        if one.told or one.stage is not None:
            to = {**one.to, **({} if one.stage is None else {"stage": one.stage})}
            if to not in whom:
                whom.append(to)
            facts["to"] = whom.index(to)
        reported = {key: tokens_in(one.usage, key) for key in (PROMPT, CACHED)}
        if reported[PROMPT]:  # and so has a prompt
            facts |= {key: n for key, n in reported.items() if n is not None}
        reply = tokens_in(one.usage, REPLY)
        if not reply and one.reply:  # an answer has at least one token, whatever was counted
            reply = count(one.reply)
        if reply is not None:
            facts["reply"] = reply
        facts |= {"lost": one.lost} if one.lost else {}
        facts |= {} if one.cost_usd is None else {"cost_usd": one.cost_usd}
        facts |= {} if one.made else {"held": True}
        facts |= {} if one.told else {"by": "example"}
        asked.append(facts)
    return {"to": whom, "asked": asked}


def tokens_in(usage: Mapping[str, Any], name: str) -> int | None:
    """A count of an endpoint; None where it gives none that can be."""
    n = usage.get(name)
    return n if type(n) is int and n >= 0 else None


def asked_of(details: Mapping[str, Any], requests: Sequence[Request]) -> Iterator[Asked]:
    """What `described` kept, beside the prompts."""
    whom, facts = details["to"], details["asked"]
    for request, one in zip(requests, facts, strict=True):
        to = dict(whom[one["to"]]) if "to" in one else {}
        told = one.get("by") != "example"
        yield Asked(
            request=request if request.tokens else None,
            stage=to.pop("stage", None),
            to=to,
            prompt_tokens=one.get(PROMPT),
            cached_tokens=one.get(CACHED),
            reply_tokens=one.get("reply", None if told else 0),
            lost=one.get("lost", 0),
            cost_usd=one.get("cost_usd"),
            told=told,
            held=bool(one.get("held")),
        )


def asked_in_vain(metadata: Mapping[str, Any]) -> Iterator[Asked]:
    """The requests of a row that failed, as far as they are known: what was counted, or paid."""
    requests = metadata.get("requests")
    if not isinstance(requests, list):
        cost_usd = _dollars(metadata.get("cost_usd"))
        if cost_usd:
            yield Asked(cost_usd=cost_usd)
        return
    for entry in requests:
        if isinstance(entry, Mapping):
            request = read_request({**entry, "messages": ()})
            yield Asked(
                to=request.to,
                stage=None if request.stage is None else str(request.stage),
                prompt_tokens=tokens_in(request.usage, PROMPT),
                cached_tokens=tokens_in(request.usage, CACHED),
                reply_tokens=tokens_in(request.usage, REPLY),
                lost=request.lost,
                cost_usd=_dollars(entry.get("cost_usd")),
            )


def _dollars(value: Any) -> float | None:
    return float(value) if type(value) in (int, float) and 0 <= value < float("inf") else None
