"""Texts as vectors, by an endpoint's embeddings API."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from cb_openai.client import ChatClient
from cb_openai.counting import count_tokens
from cb_openai.errors import BadReplyError, EndpointError, Outcome
from cb_openai.prices import max_cost, request_cost
from cb_openai.settings import Connection
from cbcore.binding import by_field
from cbcore.protocols import Cost


class EmbeddingClient:
    """A model behind `/embeddings`: retries, limits and keys are those of `ChatClient`.

    The fields of `connection` can be given in its place. Close it where it was used, with
    `aclose`.
    """

    @by_field
    def __init__(self, base_url: str, model: str, *, connection: Connection = Connection()) -> None:
        self._client = ChatClient(
            base_url,
            model,
            access=connection.access,
            retry=connection.retry,
            limits=connection.limits,
            api="embeddings",
        )
        self.base_url = self._client.base_url
        self.model = model
        self.price = connection.pricing.of(model)

    def __repr__(self) -> str:
        return f"EmbeddingClient({self.base_url!r}, {self.model!r})"

    async def embed(self, texts: Sequence[str]) -> tuple[list[list[float]], dict[str, Any]]:
        """A vector for each text, from one request, and what the request cost, as in `Scored`.

        Raises `EndpointError`, which has the cost as well.
        """
        try:
            reply = await self._client.chat([{"role": "user", "content": text} for text in texts])
            found = vectors_of(reply.raw)
            if len(found) != len(texts):
                raise BadReplyError(
                    Outcome.UNEXPECTED, f"{len(found)} vectors came for {len(texts)} texts"
                )
        except EndpointError as error:
            used = _whole(error.usage)
            error.cost = request_cost(
                self.price, used, error.lost_attempts, billed=error.may_be_billed
            )
            raise
        return found, request_cost(self.price, _whole(reply.usage), reply.lost_attempts)

    def max_cost(self, texts: Sequence[str]) -> Cost:
        """The most that a request for these texts may cost."""
        return max_cost(self.price, sum(map(count_tokens, texts)), 0)

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        await self._client.aclose()


def _whole(usage: Mapping[str, int]) -> Mapping[str, int]:
    """A usage of this API has no completion, which does not make it incomplete."""
    return {"completion_tokens": 0, **usage} if usage else usage


def vectors_of(data: Mapping[str, Any]) -> list[list[float]]:
    """The vectors of a reply, in the order of the texts. Raises `BadReplyError`."""
    items = data.get("data")
    if not isinstance(items, list) or not items:
        raise _unexpected("it has no list called 'data'")
    found: list[tuple[int, list[float]]] = []
    for position, item in enumerate(items):
        vector = item.get("embedding") if isinstance(item, Mapping) else None
        if not isinstance(vector, list) or not vector or not all(map(_is_number, vector)):
            raise _unexpected(f"embedding {position} is no list of numbers")
        index = item.get("index", position)
        found.append((index if type(index) is int else position, [float(n) for n in vector]))
    if len({len(vector) for _, vector in found}) > 1:
        raise _unexpected("the vectors have different lengths")
    return [vector for _, vector in sorted(found, key=lambda one: one[0])]


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _unexpected(reason: str) -> BadReplyError:
    return BadReplyError(Outcome.UNEXPECTED, f"the JSON is no reply of this API: {reason}")
