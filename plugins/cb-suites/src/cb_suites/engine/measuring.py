"""What a document gives for each metric, once its responses or likelihoods are there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cb_suites.engine.metrics import Metric, count_words, names_of
from cbcore.exceptions import MissingScoreError

NOWHERE = -100
"""The gold of a document whose answer is none of its choices: no prediction equals it."""


def of_likelihood(result: tuple[float, bool], metrics: Sequence[Metric]) -> dict[str, Any]:
    """Of a `loglikelihood` task: the likelihood of the target, and whether it was the likeliest."""
    likelihood, is_greedy = result
    found = {"perplexity": likelihood, "acc": int(is_greedy)}
    return {name: found[name] for name in found if name in names_of(metrics)}


def of_rolling(likelihood: float, text: str, metrics: Sequence[Metric]) -> dict[str, Any]:
    """Of a `loglikelihood_rolling` task: the likelihood of the text by what it is divided by."""
    n_bytes = len(text.encode())
    found = {
        "word_perplexity": (likelihood, count_words(text)),
        "byte_perplexity": (likelihood, n_bytes),
        "bits_per_byte": (likelihood, n_bytes),
    }
    return {name: found[name] for name in found if name in names_of(metrics)}


def gold_of(target: Any, choices: Sequence[Any]) -> Any:
    """The number of the right choice, or the numbers of several."""
    if getattr(target, "ndim", None) == 0:  # a number of an array library
        target = target.item()
    if isinstance(target, list | tuple):
        return [i if i < len(choices) else NOWHERE for i in target]
    if isinstance(target, int):
        return int(target) if target < len(choices) else NOWHERE
    return list(choices).index(target) if target in choices else NOWHERE


def _best(values: Iterable[float]) -> int:
    """The first of the largest; one that is no number counts as the largest."""
    found = list(values)
    unknown = [i for i, value in enumerate(found) if math.isnan(value)]
    return unknown[0] if unknown else max(range(len(found)), key=found.__getitem__)


def _by_length(likelihoods: Sequence[float], lengths: Sequence[int]) -> list[float]:
    def share(value: float, n: int) -> float:
        if n:
            return value / n
        return math.nan if value == 0 else math.copysign(math.inf, value)

    return [share(value, n) for value, n in zip(likelihoods, lengths, strict=True)]


def of_choices(
    results: Sequence[tuple[float, bool]],
    choices: Sequence[str],
    gold: Any,
    metrics: Sequence[Metric],
    *,
    many_targets: bool,
) -> dict[str, Any]:
    """Of a `multiple_choice` task: which choice is the likeliest, by each way to compare them."""
    wanted = names_of(metrics)
    every = [likelihood for likelihood, _ in results]
    given, alone = every[: len(choices)], every[len(choices) :]
    is_greedy = [greedy for _, greedy in results]
    golds = gold if many_targets and isinstance(gold, list) else [gold]
    predictions = {
        "acc": _best(given),
        "acc_norm": _best(_by_length(given, [len(c) for c in choices])),
        "acc_bytes": _best(_by_length(given, [len(c.encode()) for c in choices])),
    }
    found: dict[str, Any] = {}
    for name, chosen in predictions.items():
        found[name] = 1.0 if chosen in golds else 0.0
    best = predictions["acc"]
    found["f1"] = found["mcc"] = (gold, best)
    found["exact_match"] = int(any(is_greedy[i] for i in golds if _is_place(i, is_greedy)))
    largest = max(given)
    weights = [math.exp(likelihood - largest) for likelihood in given]
    found["brier_score"] = (gold, [weight / math.fsum(weights) for weight in weights])
    found["likelihood"] = (gold, given)
    if "acc_mutual_info" in wanted:
        gains = [with_it - without for with_it, without in zip(given, alone, strict=True)]
        found["acc_mutual_info"] = 1.0 if _best(gains) == gold else 0.0
    return {name: found[name] for name in found if name in wanted}


def _is_place(index: Any, items: Sequence[Any]) -> bool:
    return isinstance(index, int) and -len(items) <= index < len(items)


def of_text_choice(chosen: int | None, gold: Any, metrics: Sequence[Metric]) -> dict[str, Any]:
    """What a choice that was read from a response can give: no likelihood is compared."""
    golds = gold if isinstance(gold, list) else [gold]
    right = 1.0 if chosen is not None and chosen in golds else 0.0
    wanted = names_of(metrics)
    found: dict[str, Any] = {"acc": right}
    if not isinstance(gold, list):
        read = -1 if chosen is None else chosen
        found |= {name: (gold, read) for name in ("f1", "mcc") if name in wanted}
    return found


def of_response(
    gold: Any,
    result: Any,
    metrics: Sequence[Metric],
    *,
    choices: Sequence[Any] | None,
    many_targets: bool,
) -> dict[str, Any]:
    """Of a `generate_until` task: what each metric makes of the right answer and the response."""
    if choices is not None:
        gold = choices[gold]
    elif many_targets:
        gold = list(gold)
    elif type(gold) is not type(result) and not isinstance(result, list):
        gold = type(result)(gold)
    found: dict[str, Any] = {}
    for metric in metrics:
        if metric.unusable:
            continue
        if many_targets:
            golds = gold if isinstance(gold, list) else [gold]
            scores = [_compared(metric, one, result) for one in golds]
            found[metric.name] = 1.0 if any(map(_is_some, scores, [metric] * len(scores))) else 0.0
            continue
        score = _compared(metric, gold, result)
        if isinstance(score, Mapping):
            found |= {str(name): value for name, value in score.items()}
        else:
            found[metric.name] = score
    return found


def _is_some(score: Any, metric: Metric) -> bool:
    if isinstance(score, Mapping):
        if metric.name not in score:
            raise MissingScoreError(f"{metric.name} gave {sorted(score)}, not {metric.name}")
        score = score[metric.name]
    return bool(score)


def _compared(metric: Metric, gold: Any, result: Any) -> Any:
    """One gold and one response; kept as they are where only all of them make a number."""
    if metric.measure is None:
        return [gold, result] if metric.name != "bypass" else None
    try:
        return metric.measure(references=[gold], predictions=[result], **metric.options)
    except TypeError:  # a function that takes both as one list
        return metric.measure([gold, result])
