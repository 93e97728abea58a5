"""What tasks written for lm-evaluation-harness say in words of their own, said in ours.

Its metrics become evaluators, its filters pipelines, its output types formats. A function it
calls with a document and the results becomes an evaluator.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from cb_suites.bounded.worker import WORKERS, FailedError
from cb_suites.engine.documents import origin_of, problem
from cb_suites.engine.filters import checked_pattern
from cb_suites.engine.model import FilterPipeline, FilterStep, Origin
from cb_suites.engine.sending import reduced
from cbcore.exceptions import MissingScoreError
from cbcore.results import Scored
from cbcore.scoring import response_of

EVALUATOR_OF_METRIC: dict[str, str | None] = {
    "exact_match": "answer_quality",
    "em": "answer_quality",
    "f1": "answer_quality",
    "acc": None,
    "acc_norm": None,
    "acc_mutual_info": None,
    "bypass": None,
}
"""The evaluator that gives a metric's score. None: the task's format gives it, as `acc`."""

_SCORE_OF_METRIC = {"em": "exact_match", "acc_norm": "acc", "acc_mutual_info": "acc"}
FORMAT_OF_OUTPUT_TYPE: dict[str, str | None] = {
    "multiple_choice": "mcqa",
    "generate_until": None,
    "loglikelihood": None,
    "loglikelihood_rolling": None,
}
"""The format that an output type means, unless the task names one."""

_UNLIKE = {
    "loglikelihood": "a system answers in text; the response is compared with the target",
    "loglikelihood_rolling": "a system answers in text, so that nothing can be measured by it",
}


def output_format(value: str, place: Origin, note: Callable[[str, str], None]) -> str | None:
    """The format for an `output_type`."""
    if value not in FORMAT_OF_OUTPUT_TYPE:
        allowed = ", ".join(FORMAT_OF_OUTPUT_TYPE)
        raise problem(place, f"output_type {value!r} is not one of {allowed}")
    if value in _UNLIKE:
        note(f"output_type: {value}", _UNLIKE[value])
    return FORMAT_OF_OUTPUT_TYPE[value]


def from_metric_list(
    value: Any, place: Origin, note: Callable[[str, str], None]
) -> tuple[tuple[Any, ...], str | None]:
    """The evaluators that a `metric_list` asks for, and the first score it names."""
    items = value if isinstance(value, list) else [value]
    evaluators: list[Any] = []
    scores: list[str] = []
    for i, item in enumerate(items):
        metric = item.get("metric") if isinstance(item, Mapping) else item
        at = origin_of(items, i, place)
        if metric is None:
            raise problem(at, "an item of metric_list names no metric", "write - metric: acc")
        if not isinstance(metric, str):
            note("metric_list: !function", "score with an evaluator, or with process_results")
            continue
        if metric not in EVALUATOR_OF_METRIC:
            note(f"metric_list: {metric}", "name an evaluator that gives it under evaluators:")
            continue
        scores.append(_SCORE_OF_METRIC.get(metric, metric))
        if metric in _SCORE_OF_METRIC:
            note(f"metric_list: {metric}", f"the score {scores[-1]} is given instead")
        evaluator: Any = EVALUATOR_OF_METRIC[metric]
        options = _exact_match_options(item, note)
        if options and scores[-1] == "exact_match":
            evaluator = _exact_match(options, at)
        if evaluator is not None and evaluator not in evaluators:
            evaluators.append(evaluator)
    return tuple(evaluators), scores[0] if scores else None


_OF_EXACT_MATCH = ("regexes_to_ignore", "ignore_case", "ignore_punctuation", "ignore_numbers")
_READ_OF_A_METRIC = ("metric", "aggregation", "higher_is_better", "hf_evaluate")


def _exact_match_options(item: Any, note: Callable[[str, str], None]) -> dict[str, Any]:
    """What is to be ignored in a comparison; any other option is noted."""
    given = item if isinstance(item, Mapping) else {}
    for key in given:
        if key not in (*_READ_OF_A_METRIC, *_OF_EXACT_MATCH):
            note(f"metric_list: {key}", "give parameters to an evaluator under evaluators:")
    return {key: given[key] for key in _OF_EXACT_MATCH if given.get(key)}


def _exact_match(options: Mapping[str, Any], place: Origin) -> ExactMatch:
    try:
        return ExactMatch(**options)
    except (TypeError, ValueError) as error:
        raise problem(place, f"regexes_to_ignore is a list of patterns: {error}") from error


class ExactMatch:
    """Whether the response equals an answer, once what is to be ignored is taken out of both.

    `exact_match` as the options of a `metric_list` describe it.
    """

    name = "exact_match"
    emits = ("exact_match",)
    needs = ("answers",)

    def __init__(
        self,
        regexes_to_ignore: Sequence[str] = (),
        ignore_case: bool = False,
        ignore_punctuation: bool = False,
        ignore_numbers: bool = False,
    ) -> None:
        one = isinstance(regexes_to_ignore, str)
        given: Any = (regexes_to_ignore,) if one else regexes_to_ignore
        self.regexes_to_ignore: tuple[str, ...] = tuple(given)
        self.ignore_case = ignore_case
        self.ignore_punctuation = ignore_punctuation
        self.ignore_numbers = ignore_numbers
        for pattern in self.regexes_to_ignore:
            checked_pattern(pattern)

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> dict[str, float]:
        response = response_of(processed)
        answers = original.get("answers")
        if not answers:
            raise MissingScoreError("the document has no answer to compare with")
        left = self._compared(response)
        return {"exact_match": float(any(left == self._compared(str(a)) for a in answers))}

    def _compared(self, text: str) -> str:
        for pattern in self.regexes_to_ignore:
            text = _without(pattern, text)
        text = text.lower() if self.ignore_case else text
        unread = string.punctuation if self.ignore_punctuation else ""
        unread += string.digits if self.ignore_numbers else ""
        return text.translate(dict.fromkeys(map(ord, unread))).strip()


def _without(pattern: str, text: str) -> str:
    try:
        return str(WORKERS.ask("replace", pattern, "", text))
    except FailedError as error:
        raise MissingScoreError(f"the pattern {pattern!r}: {error.message}") from error


def first_metric(value: Any) -> str | None:
    """The first metric that a `metric_list` names, as it is called there."""
    for item in value if isinstance(value, list) else [value]:
        metric = item.get("metric") if isinstance(item, Mapping) else None
        if isinstance(metric, str):
            return metric
    return None


def filter_pipelines(
    value: Any, place: Origin, resolve: Callable[[Any], Any], *, as_written: bool = False
) -> tuple[FilterPipeline, ...]:
    """The pipelines of a `filter_list`: each a name and the steps under `filter`.

    Steps that are code are made to take one response, unless they are wanted `as_written`.
    """
    if isinstance(value, Mapping) and "name" not in value:
        value = list(value.values())
    items = value if isinstance(value, list) else [value]
    found = tuple(
        _pipeline(item, origin_of(items, i, place), resolve, as_written)
        for i, item in enumerate(items)
    )
    twice = [pipeline.name for pipeline in found]
    for i, pipeline in enumerate(found):
        if pipeline.name in twice[:i]:
            raise problem(origin_of(items, i, place), f"two filters are called {pipeline.name!r}")
    return found


def _pipeline(
    item: Any, place: Origin, resolve: Callable[[Any], Any], as_written: bool
) -> FilterPipeline:
    if not isinstance(item, Mapping) or not isinstance(item.get("name"), str):
        raise problem(place, "an item of filter_list has a name and, under filter, its steps")
    for key in item:
        if key not in ("name", "filter"):
            raise problem(
                origin_of(item, key, place),
                f"a filter has no key {key!r}",
                "its steps stand under filter, each with a function and its parameters",
            )
    steps = item.get("filter") or []
    steps = steps if isinstance(steps, list) else [steps]
    made = tuple(
        _step(step, origin_of(steps, i, place), resolve, as_written) for i, step in enumerate(steps)
    )
    return FilterPipeline(item["name"], made)


def _step(step: Any, place: Origin, resolve: Callable[[Any], Any], as_written: bool) -> FilterStep:
    if isinstance(step, str):
        return FilterStep(step)
    if not isinstance(step, Mapping) or step.get("function") is None:
        raise problem(place, "a step of a filter names no function", "write - function: regex")
    params = {str(key): resolve(value) for key, value in step.items() if key != "function"}
    function = resolve(step["function"])
    if function == "custom" and params.get("filter_fn") is None:
        raise problem(place, "a custom filter needs filter_fn: !function module.function")
    if as_written:
        return FilterStep(function, params)
    if function == "custom":
        custom = params.pop("filter_fn")
        return FilterStep(_OverAll(custom), params)
    if isinstance(function, type):
        return FilterStep(_OverAll(function(**params).apply))
    return FilterStep(function, params)


class _OverAll:
    """A filter that takes all responses to all documents, applied to one response."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, response: str, **params: Any) -> str:
        (filtered,) = self.function([[response]], [{}], **params)
        chosen = next(iter(filtered), "") if not isinstance(filtered, str) else filtered
        return str(chosen)


def _unboxed(value: Any) -> Any:
    """Plain Python of a number that an array library made: `numpy.bool_`, a tensor of one."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


class ProcessResults:
    """Scores with a task's own `process_results(document, results)`.

    What it gives for a metric in `aggregated` is kept as it is, under `RESULTS` in the details,
    for the function that makes one number of all of them.
    """

    name = "process_results"
    RESULTS = "results"

    def __init__(self, function: Callable[..., Any], aggregated: Iterable[str] = ()) -> None:
        self.function = function
        self.aggregated = frozenset(aggregated)

    def __reduce__(self) -> tuple[Any, ...]:
        return reduced(ProcessResults, self.function, self.aggregated)

    def score(
        self, original: Mapping[str, Any], processed: Mapping[str, Any]
    ) -> Mapping[str, float]:
        """Every number the function gives, under its name there."""
        response = response_of(processed, text_only=True)
        given = {str(k): v for k, v in dict(self.function(dict(original), [response])).items()}
        given = {k: _unboxed(v) for k, v in given.items()}
        scores = {k: float(v) for k, v in given.items() if isinstance(v, bool | int | float)}
        kept = {k: v for k, v in given.items() if k in self.aggregated}
        if not scores and not kept:
            raise MissingScoreError("process_results gave no number")
        return Scored(scores, details={self.RESULTS: kept}) if kept else scores
