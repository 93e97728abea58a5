"""Keeping the sentences that matter, within a token budget."""

from __future__ import annotations

import hashlib
import random
from bisect import insort
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from cb_baselines import tokenizers
from cb_baselines.examples import text_field
from cb_baselines.naming import spec_name
from cb_baselines.ranking import rank_by_bm25, terms, tfidf_scores
from cb_baselines.sentences import Sentence, render, split_context
from cbcore.introspection import attributes_without
from cbcore.scoring import Bm25Index
from cbcore.tokens import DEFAULT_ENCODING


class Bm25:
    """Keeps the sentences that BM25 ranks highest for the question, in their original order."""

    example = "bm25:max_tokens=200 | extractive"
    identity = attributes_without("name")

    def __init__(
        self,
        max_tokens: int = 200,
        k1: float = 1.5,
        b: float = 0.75,
        tokenizer: str = DEFAULT_ENCODING,
        *,
        name: str | None = None,
    ) -> None:
        tokenizers.check_budget(max_tokens, tokenizer)
        Bm25Index(k1, b)  # refuses values out of range
        self.max_tokens = max_tokens
        self.k1 = float(k1)
        self.b = float(b)
        self.tokenizer = tokenizer
        self.name = name or spec_name(
            "bm25",
            {"max_tokens": max_tokens},
            {
                "k1": (self.k1, 1.5),
                "b": (self.b, 0.75),
                "tokenizer": (tokenizer, DEFAULT_ENCODING),
            },
        )

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """The example with a context of at most `max_tokens`."""
        question = terms(text_field(example, "question", system=self.name))

        def order(sentences: Sequence[Sentence]) -> Iterable[int]:
            return rank_by_bm25(question, _indexed_terms(sentences), k1=self.k1, b=self.b)

        return _with_selection(example, self, order)


class TfIdf:
    """Keeps the sentences closest to the question by TF-IDF cosine, in their original order."""

    example = "tf-idf:max_tokens=200 | extractive"
    identity = attributes_without("name")

    def __init__(
        self,
        max_tokens: int = 200,
        tokenizer: str = DEFAULT_ENCODING,
        *,
        name: str | None = None,
    ) -> None:
        tokenizers.check_budget(max_tokens, tokenizer)
        self.max_tokens = max_tokens
        self.tokenizer = tokenizer
        self.name = name or spec_name(
            "tf-idf",
            {"max_tokens": max_tokens},
            {"tokenizer": (tokenizer, DEFAULT_ENCODING)},
        )

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """The example with a context of at most `max_tokens`."""
        question = terms(text_field(example, "question", system=self.name))
        return _with_selection(
            example,
            self,
            lambda sentences: _best_first(tfidf_scores(question, _indexed_terms(sentences))),
        )


class RandomSelection:
    """Keeps sentences drawn at random, in their original order: what chance achieves.

    The draw depends on the seed and the example's id only, so that it is the same in every
    run, whatever the order or the thread.
    """

    example = "random:max_tokens=200 | extractive"
    identity = attributes_without("name")

    def __init__(
        self,
        max_tokens: int = 200,
        seed: int = 0,
        tokenizer: str = DEFAULT_ENCODING,
        *,
        name: str | None = None,
    ) -> None:
        tokenizers.check_budget(max_tokens, tokenizer)
        self.max_tokens = max_tokens
        self.seed = seed
        self.tokenizer = tokenizer
        self.name = name or spec_name(
            "random",
            {"max_tokens": max_tokens},
            {"seed": (seed, 0), "tokenizer": (tokenizer, DEFAULT_ENCODING)},
        )

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """The example with a context of at most `max_tokens`."""
        digest = hashlib.sha256(f"{self.seed}:{example.get('id')}".encode("utf-8", "replace"))
        draw = random.Random(digest.digest())  # noqa: S311 - nothing secret is drawn

        def order(sentences: Sequence[Sentence]) -> Iterable[int]:
            return draw.sample(range(len(sentences)), len(sentences))

        return _with_selection(example, self, order)


def _with_selection(
    example: dict[str, Any],
    system: Bm25 | TfIdf | RandomSelection,
    order: Callable[[Sequence[Sentence]], Iterable[int]],
) -> dict[str, Any]:
    """The example with only those sentences of its context that fit, taken in `order`.

    A context that fits is kept as it is. A sentence that does not fit is passed over and the
    next one tried, until the budget is used up or no sentence is left.
    """
    context = text_field(example, "context", system=system.name)
    count = tokenizers.load(system.tokenizer).count
    if count(context) <= system.max_tokens:
        return dict(example)
    sentences = split_context(context)
    chosen: list[int] = []
    kept, n_tokens = "", 0
    for index in order(sentences):
        # Counting one sentence is cheap; the whole is counted only when there may be room.
        if count(sentences[index].text) > system.max_tokens - n_tokens:
            continue
        tried = chosen.copy()
        insort(tried, index)
        text = render([sentences[i] for i in tried])
        if (size := count(text)) <= system.max_tokens:
            chosen, kept, n_tokens = tried, text, size
    return {**example, "context": kept}


def _indexed_terms(sentences: Sequence[Sentence]) -> list[list[str]]:
    """What a sentence is found by: its title too, for that is kept with it."""
    return [terms(f"{sentence.title} {sentence.text}") for sentence in sentences]


def _best_first(scores: Sequence[float]) -> list[int]:
    """Indices by falling score; of equal scores the earlier comes first."""
    return sorted(range(len(scores)), key=lambda index: -scores[index])
