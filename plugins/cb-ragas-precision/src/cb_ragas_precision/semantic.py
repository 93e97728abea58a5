"""Semantic similarity: how near the response is to the reference in the space of a model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import attrs

from cb_ragas_precision import fields
from cb_ragas_precision.evaluating import ColumnEvaluator, awaited
from cbcore.binding import Trusted, by_field
from cbcore.boundary import contained
from cbcore.columns import Column
from cbcore.exceptions import MissingExtraError, MissingScoreError
from cbcore.introspection import attributes_without
from cbcore.protocols import Cost
from cbcore.results import Scored

if TYPE_CHECKING:
    import asyncio

    from cb_openai import EmbeddingClient

_USUAL_RESPONSE = " word" * 512
"""What a cost takes a response to be that is not there yet."""
_MOST_REMEMBERED = 10_000


@attrs.frozen(kw_only=True, repr=False)
class Embedding:
    """How the endpoint is asked: the key's environment variable, patience, and prices.

    `price_in` is in dollars per million tokens, and goes before `prices`, a file of them.
    """

    timeout_s: float = 60.0
    max_retries: int = 5
    api_key_env: Trusted[str | None] = "OPENAI_API_KEY"
    prices: Trusted[str | None] = None
    price_in: float | None = None


class SemanticSimilarity(ColumnEvaluator):
    """How alike response and reference answer are: the cosine of their embeddings.

    - `base_url`, `model`: an OpenAI-compatible endpoint with `/embeddings`, and its model.
    - `threshold`: with one, 1.0 from that likeness on and 0.0 below; without, the cosine itself,
      which is 1 for the same direction and may be below 0.
    - `api_key_env`, `timeout_s`, `max_retries`, `prices`, `price_in`: how it is asked.

    Of several reference answers the nearest counts. Each reference is embedded once, as long as
    the evaluator lives. What that costs is kept with the row, and counts against a budget.
    """

    name = "semantic_similarity"
    emits = ("semantic_similarity",)
    uses = (fields.RESPONSE, fields.GROUND_TRUTH)
    identity = attributes_without("prices")

    @by_field
    def __init__(
        self,
        base_url: Trusted[str],
        model: str,
        *,
        threshold: float | None = None,
        embedding: Embedding = Embedding(),
        response_column: Column | None = None,
        ground_truth_column: Column | None = None,
        **legacy_columns: Any,
    ) -> None:
        if threshold is not None and (isinstance(threshold, bool) or not -1 <= threshold <= 1):
            raise ValueError(f"threshold is {threshold!r}: it lies between -1 and 1")
        columns = {"response_column": response_column, "ground_truth_column": ground_truth_column}
        self._set_columns(columns, legacy_columns)
        self.base_url = base_url
        self.model = model
        self.threshold = threshold
        self.embedding = embedding
        self._client = self._connected()  # what is wrong is reported before a run begins
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, EmbeddingClient]
        self._clients = WeakKeyDictionary()
        self._references: dict[str, list[float]] = {}

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scored:
        """As `ascore`, for callers that cannot await."""
        return awaited(self._scored_once(original, processed))

    async def ascore(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scored:
        """Ask for the vectors. Raises `MissingScoreError` where one cannot be had."""
        values = self._read(original, processed)
        said = fields.text(values["response"], "response")
        references = _references(values["ground_truth"])
        unknown = [text for text in references if text not in self._references]
        (vector, *found), cost = await self._embedded([said, *unknown])
        if len(self._references) > _MOST_REMEMBERED:
            self._references.clear()
        known = {**self._references, **dict(zip(unknown, found, strict=True))}
        self._references.update((text, known[text]) for text in unknown)
        cosine = max(_cosine(vector, known[text]) for text in references)
        score = cosine if self.threshold is None else float(cosine >= self.threshold)
        details = {} if score == cosine else {"cosine": cosine}
        return Scored({self.name: score}, details=details, cost=cost)

    def max_cost(self, example: Mapping[str, Any]) -> Cost:
        """What scoring may cost, if the response has 512 tokens."""
        reference = None
        with contained():  # columns may be functions
            reference = self._read(example, {})["ground_truth"]
        cost = self._client.max_cost([_USUAL_RESPONSE, str(reference)])
        return attrs.evolve(cost, is_bound=False)

    async def aclose(self) -> None:
        """Close the connections of this event loop."""
        import asyncio

        client = self._clients.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    async def _scored_once(
        self, original: Mapping[str, Any], processed: Mapping[str, Any]
    ) -> Scored:
        try:
            return await self.ascore(original, processed)
        finally:
            await self.aclose()

    async def _embedded(self, texts: Sequence[str]) -> tuple[list[list[float]], dict[str, Any]]:
        import asyncio

        from cb_openai import EndpointError

        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            self._clients[loop] = self._connected()
        try:
            return await self._clients[loop].embed(texts)
        except EndpointError as error:
            hint = f" ({error.hint})" if error.hint else ""
            reason = f"no embeddings: {error.message}{hint}"
            raise MissingScoreError(reason, cost=error.cost) from error

    def _connected(self) -> EmbeddingClient:
        try:
            from cb_openai import EmbeddingClient
        except ImportError as error:
            raise MissingExtraError(
                self.name, "cb-openai", "cb-ragas-precision[embeddings]"
            ) from error
        asked = attrs.asdict(self.embedding)
        if asked["price_in"] is not None:
            asked["price_out"] = 0.0
        return EmbeddingClient(self.base_url, self.model, **asked)


def _references(value: Any) -> list[str]:
    """All reference answers. Raises `MissingScoreError` where there is none."""
    several = value if isinstance(value, list | tuple) and value else [value]
    return [fields.text(one, "ground truth") for one in several]


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    if len(one) != len(other):
        raise MissingScoreError(f"the vectors have {len(one)} and {len(other)} numbers")
    lengths = math.sqrt(sum(n * n for n in one) * sum(n * n for n in other))
    if not lengths:
        raise MissingScoreError("a vector has no length, so there is no direction to compare")
    return sum(a * b for a, b in zip(one, other, strict=True)) / lengths
