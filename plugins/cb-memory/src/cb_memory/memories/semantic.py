"""Search by meaning: vectors of what was said, and the nearest to the question."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from cb_memory.budgets import check_positive, fitting, retrieved
from cb_memory.nouns import QueryResult
from cb_memory.storing import Kept
from cbcore.exceptions import MissingExtraError

if TYPE_CHECKING:
    import numpy

Model = Literal["wordllama", "minilm"]
Encoder: TypeAlias = Callable[[Sequence[str]], Any]
"""From texts to one vector of length 1 for each."""


class Vectors:
    """Vectors of texts, searched exactly: histories are small, and a guess would be one more."""

    def __init__(self, model: Model) -> None:
        self._model: Model = model
        self._rows: list[Any] = []
        self._matrix: numpy.ndarray[Any, Any] | None = None

    def add(self, texts: Sequence[str]) -> None:
        """Make more texts known; they are numbered from 0."""
        if texts:
            self._rows.append(encoder(self._model)(texts))
            self._matrix = None

    def best(self, question: str, k: int) -> list[tuple[int, float]]:
        """The `k` nearest texts with their cosines, the nearest first."""
        if not self._rows:
            return []
        import numpy

        if self._matrix is None:
            self._matrix = numpy.concatenate(self._rows)
            self._rows = [self._matrix]
        cosines = self._matrix @ encoder(self._model)([question])[0]
        order = numpy.argsort(-cosines, kind="stable")[:k]
        return [(int(place), float(cosines[place])) for place in order]


class Embedding(Kept):
    """The `k` items nearest to the question by the cosine of their embeddings.

    `model` is `wordllama`, whose 16 MB come with its package, or `minilm` (all-MiniLM-L6-v2),
    which is slower and knows more. Neither downloads anything.
    """

    def __init__(self, k: int = 10, model: Model = "wordllama", *, name: str | None = None) -> None:
        super().__init__()
        self.k = check_positive("k", k)
        self.model: Model = check_model(model)
        suffix = "" if model == "wordllama" else f",model={model}"
        self.name = name or f"embedding:k={k}{suffix}"
        self._vectors = Vectors(self.model)

    def warm_up(self) -> None:
        """Load the model."""
        encoder(self.model)

    def reset(self) -> None:
        """Forget everything."""
        super().reset()
        self._vectors = Vectors(self.model)

    def _add(self, begin: int) -> None:
        self._vectors.add([item.text for item in self.items[begin:]])

    def query(self, question: str, budget: int | None = None) -> QueryResult:
        """The nearest items, the nearest first."""
        best = self._vectors.best(question, self.k)
        found = [retrieved(self.items[place], score) for place, score in best]
        return QueryResult(contexts=fitting(found, budget))


def check_model(model: str) -> Any:
    """A model that there is. Raises `ValueError`."""
    if model not in get_args(Model):
        raise ValueError(f"model is {model!r}: it must be wordllama or minilm")
    return model


@functools.lru_cache(maxsize=2)
def encoder(model: Model) -> Encoder:
    """What makes vectors, loaded once. Raises `MissingExtraError` without its package."""
    return _minilm() if model == "minilm" else _wordllama()


def _wordllama() -> Encoder:
    # Its tokenizer would warn of threads in every process that was forked.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        import wordllama
    except ImportError as error:
        raise MissingExtraError(
            "the memory `embedding`", "wordllama", "cb-memory[embedding]"
        ) from error
    folder = Path(str(wordllama.__file__)).parent  # where its wheel keeps the weights
    loaded = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    return lambda texts: loaded.embed(list(texts), norm=True)


def _minilm() -> Encoder:
    from cb_memory.memories.minilm import MiniLM

    return MiniLM.load().encode
