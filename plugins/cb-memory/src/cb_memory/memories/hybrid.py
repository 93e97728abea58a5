"""Words and meaning together."""

from __future__ import annotations

from collections import defaultdict

from cb_memory.budgets import check_positive, fitting, retrieved
from cb_memory.memories.lexical import words
from cb_memory.memories.semantic import Model, Vectors, check_model, encoder
from cb_memory.nouns import QueryResult
from cb_memory.storing import Kept
from cbcore.scoring import Bm25Index

_DEPTH = 4
"""How many times `k` each ranking is looked at."""


class Hybrid(Kept):
    """The `k` items that BM25 and embeddings rank highest together, by reciprocal rank fusion.

    An item scores Σ 1 / (rrf + rank) over both rankings (Cormack, Clarke and Büttcher, 2009).
    """

    def __init__(
        self,
        k: int = 10,
        model: Model = "wordllama",
        rrf: int = 60,
        *,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.k = check_positive("k", k)
        self.rrf = check_positive("rrf", rrf)
        self.model: Model = check_model(model)
        suffix = "" if model == "wordllama" else f",model={model}"
        self.name = name or f"hybrid:k={k}{suffix}"
        self._index, self._vectors = Bm25Index(), Vectors(self.model)

    def warm_up(self) -> None:
        """Load the model."""
        encoder(self.model)

    def reset(self) -> None:
        """Forget everything."""
        super().reset()
        self._index, self._vectors = Bm25Index(), Vectors(self.model)

    def _add(self, begin: int) -> None:
        texts = [item.text for item in self.items[begin:]]
        for text in texts:
            self._index.add(words(text))
        self._vectors.add(texts)

    def query(self, question: str, budget: int | None = None) -> QueryResult:
        """The best items, the best first; of equal ones the earlier."""
        fused: dict[int, float] = defaultdict(float)
        depth = self.k * _DEPTH
        by_words = self._index.rank(words(question))[:depth]
        for ranking in (by_words, self._vectors.best(question, depth)):
            for rank, (place, _) in enumerate(ranking, start=1):
                fused[place] += 1 / (self.rrf + rank)
        best = sorted(fused.items(), key=lambda pair: (-pair[1], pair[0]))[: self.k]
        found = [retrieved(self.items[place], score) for place, score in best]
        return QueryResult(contexts=fitting(found, budget))
