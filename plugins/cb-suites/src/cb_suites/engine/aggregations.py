"""From what each document gave to one number, by the names that tasks use for it.

Numbers that others are compared by come from the libraries they are defined in: BLEU, chrF and
TER from sacrebleu, F1 and correlation of classes from scikit-learn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, TypeAlias

from cbcore.exceptions import MissingExtraError

Aggregation: TypeAlias = Callable[[Sequence[Any]], Any]


def _mean(items: Sequence[Any]) -> Any:
    return sum(items) / len(items)


def _nanmean(items: Sequence[float]) -> float:
    known = [item for item in items if not math.isnan(item)]
    return math.fsum(known) / len(known) if known else math.nan


def _median(items: Sequence[Any]) -> Any:
    return sorted(items)[len(items) // 2]


def _perplexity(items: Sequence[float]) -> float:
    return math.exp(-_mean(items))


def _weighted_mean(items: Sequence[tuple[float, float]]) -> float:
    values, weights = zip(*items, strict=True)
    return float(sum(values) / sum(weights))


def _weighted_perplexity(items: Sequence[tuple[float, float]]) -> float:
    return math.exp(-_weighted_mean(items))


def _bits_per_byte(items: Sequence[tuple[float, float]]) -> float:
    return -_weighted_mean(items) / math.log(2)


def _of_classes(name: str) -> Aggregation:
    def aggregate(items: Sequence[Any]) -> float:
        try:
            sklearn = import_module("sklearn.metrics")
        except ImportError as error:
            raise MissingExtraError(f"the score {name}", "sklearn", "cb-suites[metrics]") from error
        golds, predictions = zip(*items, strict=True)
        return float(getattr(sklearn, name)(golds, predictions))

    return aggregate


def _of_corpus(name: str, **options: Any) -> Aggregation:
    def aggregate(items: Sequence[Any]) -> float:
        try:
            sacrebleu = import_module("sacrebleu")
        except ImportError as error:
            raise MissingExtraError(
                f"the score {name}", "sacrebleu", "cb-suites[metrics]"
            ) from error
        references, predictions = zip(*items, strict=True)
        streams = list(zip(*([r] if isinstance(r, str) else r for r in references), strict=False))
        texts = [p if isinstance(p, str) else p[0] for p in predictions]
        return float(getattr(sacrebleu, f"corpus_{name}")(texts, streams, **options).score)

    return aggregate


def _brier(items: Sequence[tuple[int, Iterable[float]]]) -> float:
    squares = [
        math.fsum((p - (i == gold)) ** 2 for i, p in enumerate(probabilities))
        for gold, probabilities in items
    ]
    return math.fsum(squares) / len(squares)


def _nothing(_: Sequence[Any]) -> int:
    return 999


AGGREGATIONS: dict[str, Aggregation] = {
    "mean": _mean,
    "nanmean": _nanmean,
    "median": _median,
    "perplexity": _perplexity,
    "weighted_perplexity": _weighted_perplexity,
    "bits_per_byte": _bits_per_byte,
    "f1": _of_classes("f1_score"),
    "matthews_corrcoef": _of_classes("matthews_corrcoef"),
    "bleu": _of_corpus("bleu"),
    "chrf": _of_corpus("chrf"),
    "chrf++": _of_corpus("chrf", word_order=2),
    "ter": _of_corpus("ter"),
    "brier_score": _brier,
    "bypass": _nothing,
}
"""The aggregations that a `metric_list` may name."""
