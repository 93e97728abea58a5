"""The metrics of a `metric_list`: how each is measured on a document, and summed up over all."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import attrs

from cb_suites.bounded.worker import WORKERS, FailedError
from cb_suites.engine.aggregations import AGGREGATIONS, Aggregation
from cb_suites.engine.documents import origin_of, problem
from cb_suites.engine.filters import checked_pattern
from cb_suites.engine.model import Origin
from cbcore.exceptions import MissingScoreError
from cbcore.names import hint
from cbcore.scoring import response_of

BY_DEFAULT: Mapping[str, tuple[str, ...]] = {
    "loglikelihood": ("perplexity", "acc"),
    "loglikelihood_rolling": ("word_perplexity", "byte_perplexity", "bits_per_byte"),
    "multiple_choice": ("acc", "acc_norm"),
    "generate_until": ("exact_match",),
}
"""The metrics of a task that names none, by its output type."""

_KNOWN: Mapping[str, tuple[str, bool]] = {
    "acc": ("mean", True),
    "acc_norm": ("mean", True),
    "acc_bytes": ("mean", True),
    "acc_mutual_info": ("mean", True),
    "exact_match": ("mean", True),
    "likelihood": ("mean", True),
    "brier_score": ("brier_score", False),
    "perplexity": ("perplexity", False),
    "word_perplexity": ("weighted_perplexity", False),
    "byte_perplexity": ("weighted_perplexity", False),
    "bits_per_byte": ("bits_per_byte", False),
    "f1": ("f1", True),
    "mcc": ("matthews_corrcoef", True),
    "bleu": ("bleu", True),
    "chrf": ("chrf", True),
    "chrf++": ("chrf++", True),
    "ter": ("ter", False),
    "acc_all": ("mean", True),
    "bypass": ("bypass", True),
}
"""The metrics that have a name: the aggregation of each, and whether more is better."""


@attrs.frozen(eq=False)
class Metric:
    """One metric. `measure` compares a reference and a prediction; None where that is known.

    `unusable` says why there can be no number of it, where that is known beforehand.
    """

    name: str
    measure: Callable[..., Any] | None = None
    options: Mapping[str, Any] = attrs.Factory(dict)
    aggregation: str | Aggregation = "mean"
    higher_is_better: bool | None = None
    unusable: str = ""

    @property
    def is_mean(self) -> bool:
        """Whether it is the mean of what documents gave."""
        return self.aggregation == "mean"

    def aggregate(self, items: Sequence[Any]) -> Any:
        """One number of what all documents gave."""
        chosen = self.aggregation
        return (AGGREGATIONS[chosen] if isinstance(chosen, str) else chosen)(items)


_NOT_OPTIONS = ("metric", "aggregation", "higher_is_better", "hf_evaluate")


def metrics_of(written: Any, output_type: str, *, own_results: bool, place: Origin) -> list[Metric]:
    """The metrics of a `metric_list`, as written with its functions looked up.

    With `own_results`, `process_results` measures them, whatever they are called.
    """
    if written is None:
        return [_named(name, {}, own_results, place) for name in BY_DEFAULT[output_type]]
    items = written if isinstance(written, list) else [written]
    return [_metric(item, own_results, origin_of(items, i, place)) for i, item in enumerate(items)]


def _metric(item: Any, own_results: bool, place: Origin) -> Metric:
    given = item if isinstance(item, Mapping) else {"metric": item}
    named = given.get("metric")
    if named is None:
        raise problem(place, "an item of metric_list names no metric", "write - metric: acc")
    if callable(named):
        function, name = named, str(getattr(named, "__name__", "metric"))
        options = {k: v for k, v in given.items() if k not in _NOT_OPTIONS}
        found = Metric(name, None if own_results else function, options)
    elif isinstance(named, str):
        found = _named(named, given, own_results, place)
    else:
        raise problem(place, f"metric must be a name or a !function, not {named!r}")
    better = given.get("higher_is_better")
    if isinstance(better, bool):
        found = attrs.evolve(found, higher_is_better=better)
    return _aggregated(found, given.get("aggregation"), place)


def _named(name: str, given: Mapping[str, Any], own_results: bool, place: Origin) -> Metric:
    aggregation, better = _KNOWN.get(name, ("mean", None))
    made = Metric(name, aggregation=aggregation, higher_is_better=better)
    if own_results:
        return made
    if name == "exact_match":
        options = {k: v for k, v in given.items() if k not in _NOT_OPTIONS}
        return attrs.evolve(made, measure=exact_match(options, place))
    if name not in _KNOWN or (given.get("hf_evaluate") is True):
        return attrs.evolve(
            made,
            unusable=f"the metric {name!r} is code that the package evaluate would download; "
            "write it as a !function beside the task",
        )
    return made


def _aggregated(metric: Metric, named: Any, place: Origin) -> Metric:
    if named is None:
        return metric
    if isinstance(named, str) and named not in AGGREGATIONS:
        raise problem(
            place,
            f"there is no aggregation {named!r}",
            hint(named, AGGREGATIONS, f"one of {', '.join(AGGREGATIONS)}, or a !function"),
        )
    if not isinstance(named, str) and not callable(named):
        raise problem(place, f"aggregation must be a name or a !function, not {named!r}")
    return attrs.evolve(metric, aggregation=named)


# -- exact match -------------------------------------------------------------------------------


EXACT_MATCH_OPTIONS = (
    *("regexes_to_ignore", "ignore_case", "ignore_punctuation", "ignore_numbers"),
)


def exact_match(options: Mapping[str, Any], place: Origin) -> ExactMatch:
    """The metric with the options of a file. What is wrong with them is a `ConfigError`."""
    for key in options:
        if key not in EXACT_MATCH_OPTIONS:
            known = f"options: {', '.join(EXACT_MATCH_OPTIONS)}"
            reason = f"exact_match has no option {key!r}"
            raise problem(place, reason, hint(key, EXACT_MATCH_OPTIONS, known))
    try:
        return ExactMatch(**options)
    except (TypeError, ValueError) as error:
        raise problem(place, f"regexes_to_ignore is a list of patterns: {error}") from error


class ExactMatch:
    """Whether the response equals an answer, once what is to be ignored is taken out of both.

    A metric that compares references and predictions, and an evaluator of its own.
    """

    name = "exact_match"
    emits = ("exact_match",)
    needs = ("answers",)

    def __init__(
        self,
        regexes_to_ignore: str | Sequence[str] | None = None,
        ignore_case: bool = False,
        ignore_punctuation: bool = False,
        ignore_numbers: bool = False,
    ) -> None:
        patterns = regexes_to_ignore or ()
        patterns = [patterns] if isinstance(patterns, str) else patterns
        self.regexes_to_ignore = tuple(map(checked_pattern, patterns))
        self.ignore_case = ignore_case
        self.ignore_punctuation = ignore_punctuation
        self.ignore_numbers = ignore_numbers

    def __call__(self, references: Sequence[Any], predictions: Sequence[Any]) -> dict[str, float]:
        pairs = zip(references, predictions, strict=True)
        equal = [_share_equal(self._compared(gold), self._compared(said)) for gold, said in pairs]
        return {"exact_match": sum(equal) / len(equal)}

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        answers = original.get("answers")
        if not answers:
            raise MissingScoreError("the document has no answer to compare with")
        said = self._compared(response_of(processed)).strip()
        return {"exact_match": float(any(said == self._compared(str(a)).strip() for a in answers))}

    def _compared(self, value: Any) -> Any:
        if not isinstance(value, str):
            return [self._compared(item) for item in value] if isinstance(value, list) else value
        for pattern in self.regexes_to_ignore:
            value = _without(pattern, value)
        value = value.lower() if self.ignore_case else value
        unread = string.punctuation if self.ignore_punctuation else ""
        unread += string.digits if self.ignore_numbers else ""
        # Arrays of text, which the harness compares, have no zeros at their ends.
        return value.translate(dict.fromkeys(map(ord, unread))).rstrip("\0")


def _share_equal(gold: Any, said: Any) -> float:
    """How much of a list of responses is right, where no filter took one of them."""
    if isinstance(said, list) and not isinstance(gold, list):
        return sum(one == gold for one in said) / len(said) if said else 0.0
    return float(gold == said)


def _without(pattern: str, text: str) -> str:
    try:
        return str(WORKERS.ask("replace", pattern, "", text))
    except FailedError as error:
        raise MissingScoreError(f"the pattern {pattern!r}: {error.message}") from error


def count_words(text: str) -> int:
    """Words as perplexities count them."""
    return len(re.split(r"\s+", text))


def names_of(metrics: Iterable[Metric]) -> list[str]:
    """The names of metrics, each once."""
    return list(dict.fromkeys(metric.name for metric in metrics))
