"""A retriever: the top-k passages of a context, ranked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from cb_baselines.examples import text_field
from cb_baselines.naming import spec_name
from cb_baselines.ranking import rank_by_bm25, terms
from cbcore.contexts import text_of
from cbcore.introspection import attributes_without
from cbcore.scoring import Bm25Index

_BLANK_LINES = re.compile(r"\n\s*\n")


class Retriever:
    """Returns the `k` passages that BM25 ranks highest for the question as `contexts`, best first.

    Passages are the example's own `contexts`, whose ids and titles are kept, or else the
    paragraphs of its context.
    """

    example = "retriever:k=2 | extractive"
    identity = attributes_without("name")

    def __init__(
        self, k: int = 3, k1: float = 1.5, b: float = 0.75, *, name: str | None = None
    ) -> None:
        if k < 1:
            raise ValueError(f"k is {k!r}: it must be 1 or more")
        Bm25Index(k1, b)  # refuses values out of range
        self.k = k
        self.k1 = k1
        self.b = b
        self.name = name or spec_name("retriever", {"k": k}, {"k1": (k1, 1.5), "b": (b, 0.75)})

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """The example with the ranked passages as `contexts`."""
        question = terms(text_field(example, "question", system=self.name))
        passages: Sequence[Any] = example.get("contexts") or ()
        texts = [text for item in passages if (text := text_of(item)) is not None]
        # A context that an earlier stage returned is the one item of `contexts`.
        if not texts or len(texts) < len(passages) or passages == [example.get("context")]:
            context = text_field(example, "context", system=self.name)
            passages = texts = [text for text in _BLANK_LINES.split(context) if text.strip()]
        ranked = rank_by_bm25(question, list(map(terms, texts)), k1=self.k1, b=self.b)
        return {**example, "contexts": [passages[index] for index in ranked[: self.k]]}
