"""The evaluator of a task with metrics of its own: filters, then what the task measures."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import metadata
from typing import Any

import attrs

from cb_suites.engine import measuring
from cb_suites.engine.filters import Filter
from cb_suites.engine.reading import read_choice
from cb_suites.engine.sending import reduced
from cb_suites.engine.task import DOCUMENT, LIKELIHOODS, MANY_TARGETS, REQUESTS, Task
from cbcore.exceptions import MissingScoreError
from cbcore.results import Scored
from cbcore.scoring import NO_RESPONSE, response_of

RESULTS = "results"
"""Where the details of a row keep what is no number of its own, as JSON, by metric."""

BY = "by"
"""Where the details of a row say how a choice was found: by `LIKELIHOOD`, or read from `TEXT`."""

LIKELIHOOD = "likelihood"
TEXT = "text"


@attrs.frozen(eq=False)
class MetricScorer:
    """Scores the outputs of one document behind one filter of its task.

    The scores of the task's first filter have plain names, those of others are `acc,strict`.
    """

    task: Task
    filter: Filter
    first: bool = True

    base_name = "task_metrics"

    def __reduce__(self) -> tuple[Any, ...]:
        return MetricScorer, (self.task, self.filter, self.first)

    @property
    def name(self) -> str:
        return self.base_name if self.first else f"{self.base_name},{self.filter.name}"

    @property
    def emits(self) -> tuple[str, ...]:
        return tuple(self._renamed(metric.name) for metric in self.task.metrics)

    @property
    def identity(self) -> dict[str, Any]:
        """All that can change a score: the task as it is written, its functions, the filter."""
        return {
            "version": metadata.version("cb-suites"),
            "task": self.task.written,
            "functions": list(self.task.functions),
            "filter": [self.filter.name, self.filter.written, *self.filter.functions],
            "first": self.first,
        }

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scored:
        return self.score_repeats(original, [processed])

    def score_repeats(
        self, original: Mapping[str, Any], outputs: Sequence[Mapping[str, Any]]
    ) -> Scored:
        """Score the outputs of one document together, as the filter takes them."""
        document = original[DOCUMENT]
        if LIKELIHOODS in outputs[0]:
            return self._of_likelihoods(original, document, outputs)
        return self._of_texts(original, document, outputs)

    def _of_likelihoods(
        self,
        original: Mapping[str, Any],
        document: Mapping[str, Any],
        outputs: Sequence[Mapping[str, Any]],
    ) -> Scored:
        n_requests = len(original[REQUESTS])
        given = [_read_likelihoods(output[LIKELIHOODS], n_requests) for output in outputs]
        by_request = zip(*given, strict=True)
        rolling = self.task.output_type == "loglikelihood_rolling"
        filtered = [
            self.filter.apply([float(r[0]) if rolling else (r[0], r[1]) for r in repeats], document)
            for repeats in by_request
        ]
        if self.task.process_results is not None:
            return self._scored(self.task.process_results(dict(document), filtered))
        found = self._measured(original, document, filtered)
        return self._scored(found, by=LIKELIHOOD)

    def _measured(
        self, original: Mapping[str, Any], document: Mapping[str, Any], filtered: list[Any]
    ) -> dict[str, Any]:
        task = self.task
        if task.output_type == "loglikelihood":
            return measuring.of_likelihood(filtered[0], task.metrics)
        if task.output_type == "loglikelihood_rolling":
            return measuring.of_rolling(filtered[0], task.values.target(document), task.metrics)
        return measuring.of_choices(
            filtered,
            task.values.choices(document),
            task.gold(document),
            task.metrics,
            many_targets=bool(original.get(MANY_TARGETS)),
        )

    def _of_texts(
        self,
        original: Mapping[str, Any],
        document: Mapping[str, Any],
        outputs: Sequence[Mapping[str, Any]],
    ) -> Scored:
        task = self.task
        said = [str(o["response"]) for o in outputs if o.get("response") is not None]
        texts = [task.ended(response, original) for response in said]
        if not texts:
            raise MissingScoreError(NO_RESPONSE)
        if task.output_type != "generate_until":
            return self._read(texts[0], document)
        left = self.filter.apply(texts, document)
        if task.process_results is not None:
            return self._scored(task.process_results(dict(document), [left]))
        found = measuring.of_response(
            task.values.target(document),
            left,
            task.metrics,
            choices=task.values.choices(document) if task.values.has_choices else None,
            many_targets=bool(original.get(MANY_TARGETS)),
        )
        return self._scored(found)

    def _read(self, response: str, document: Mapping[str, Any]) -> Scored:
        """What text can say of a task that is meant to be measured by likelihood."""
        task = self.task
        if task.output_type == "loglikelihood_rolling" or task.process_results is not None:
            raise MissingScoreError(NEEDS_LIKELIHOODS)
        if task.output_type == "loglikelihood":
            target = str(task.values.target(document)).strip()
            found: dict[str, Any] = {"acc": float(response.strip().startswith(target))}
        else:
            choices = tuple(map(str, task.shown_choices(document)))
            chosen = read_choice(response, choices)
            found = measuring.of_text_choice(chosen, task.gold(document), task.metrics)
        return self._scored(found, by=TEXT)

    def _scored(self, given: Mapping[str, Any], by: str = "") -> Scored:
        """The numbers as scores; what only all documents together make a number of, beside them."""
        found = make_scored(given, self.task.is_mean, self._renamed)
        missing = {
            self._renamed(metric.name): metric.unusable
            for metric in self.task.metrics
            if metric.unusable and metric.name not in given
        }
        if by == TEXT:
            missing |= {
                self._renamed(metric.name): NEEDS_LIKELIHOODS
                for metric in self.task.metrics
                if metric.name not in given
            }
        details = {**found.details, **({BY: by} if by else {})}
        return Scored(found.scores, missing, details)

    def _renamed(self, name: str) -> str:
        return name if self.first else f"{name},{self.filter.name}"


def make_scored(
    given: Mapping[str, Any], is_mean: Callable[[str], bool], rename: Callable[[str], str] = str
) -> Scored:
    """The numbers as scores; what only all documents make a number of as `RESULTS` beside them."""
    scores: dict[str, float] = {}
    kept: dict[str, Any] = {}
    for name, value in given.items():
        number = _number(value)
        if number is not None and is_mean(str(name)):
            scores[rename(str(name))] = number
        else:
            kept[str(name)] = _plain(value)
    if not scores and not kept:
        raise MissingScoreError("the task measured nothing of this document")
    return Scored(scores, details={RESULTS: json.dumps(kept)} if kept else {})


class ProcessResults:
    """Scores with a task's own `process_results(document, results)`.

    What it gives for a metric in `aggregated` is kept for the function that makes one number of
    all of them; what else is no number is left out.
    """

    name = "process_results"

    def __init__(self, function: Callable[..., Any], aggregated: Iterable[str] = ()) -> None:
        self.function = function
        self.aggregated = frozenset(aggregated)

    def __reduce__(self) -> tuple[Any, ...]:
        return reduced(ProcessResults, self.function, self.aggregated)

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scored:
        response = response_of(processed, text_only=True)
        given = dict(self.function(dict(original), [response]))
        wanted = {k: v for k, v in given.items() if k in self.aggregated or _number(v) is not None}
        return make_scored(wanted, lambda name: name not in self.aggregated)


class TaskMetrics:
    """All metrics of a run's tasks: what the run knows of their scorers, of which each has one."""

    name = MetricScorer.base_name

    def __init__(self) -> None:
        self._emits: dict[str, None] = {}

    @property
    def emits(self) -> tuple[str, ...]:
        return tuple(self._emits)

    def add(self, scorer: MetricScorer) -> None:
        """Take in what a scorer emits."""
        self._emits |= dict.fromkeys(scorer.emits)

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scored:
        raise MissingScoreError("every task has a scorer of its own")


def _read_likelihoods(likelihoods: Any, n_requests: int) -> list[tuple[float, bool]]:
    """The likelihoods that a system returned. Raises `MissingScoreError` for anything else."""
    if not isinstance(likelihoods, list | tuple) or len(likelihoods) != n_requests:
        found = len(likelihoods) if isinstance(likelihoods, list | tuple) else likelihoods
        raise MissingScoreError(
            f"the system returned {found!r} likelihoods for {n_requests} requests"
        )
    for one in likelihoods:
        is_pair = isinstance(one, list | tuple) and len(one) == 2
        if not is_pair or not isinstance(one[0], int | float) or not math.isfinite(one[0]):
            raise MissingScoreError(
                f"the system returned the likelihood {one!r}, not a finite number and a truth value"
            )
    return [(float(value), bool(is_greedy)) for value, is_greedy in likelihoods]


NEEDS_LIKELIHOODS = "it is measured by likelihood, which the system does not give"


def _number(value: Any) -> float | None:
    """A finite number, also of an array library."""
    if getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, bool | int | float) and math.isfinite(value):
        return float(value)
    return None


def _plain(value: Any) -> Any:
    """A result as plain data. Raises `MissingScoreError` for what cannot be kept."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    if isinstance(value, str | int | float | bool | None):
        return value
    raise MissingScoreError(f"process_results gave a {type(value).__name__}, which cannot be kept")


def kept_results(details: Any) -> dict[str, Any]:
    """What a row keeps for the aggregation of its task, by metric."""
    written = details.get(RESULTS) if isinstance(details, Mapping) else None
    found: dict[str, Any] = json.loads(written) if isinstance(written, str) else {}
    return found
