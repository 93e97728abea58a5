"""What tasks written for lm-evaluation-harness say in words of their own, said in ours.

Its metrics become evaluators, its filters pipelines, its output types formats. A function it
calls with a document and the results becomes an evaluator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cb_suites.engine.documents import origin_of, problem
from cb_suites.engine.metrics import EXACT_MATCH_OPTIONS, exact_match
from cb_suites.engine.model import FilterPipeline, FilterStep, Origin

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
            evaluator = exact_match(options, at)
        if evaluator is not None and evaluator not in evaluators:
            evaluators.append(evaluator)
    return tuple(evaluators), scores[0] if scores else None


_READ_OF_A_METRIC = ("metric", "aggregation", "higher_is_better", "hf_evaluate")


def _exact_match_options(item: Any, note: Callable[[str, str], None]) -> dict[str, Any]:
    """What is to be ignored in a comparison; any other option is noted."""
    given = item if isinstance(item, Mapping) else {}
    for key in given:
        if key not in (*_READ_OF_A_METRIC, *EXACT_MATCH_OPTIONS):
            note(f"metric_list: {key}", "give parameters to an evaluator under evaluators:")
    return {key: given[key] for key in EXACT_MATCH_OPTIONS if given.get(key)}


def first_metric(value: Any) -> str | None:
    """The first metric that a `metric_list` names, as it is called there."""
    for item in value if isinstance(value, list) else [value]:
        metric = item.get("metric") if isinstance(item, Mapping) else None
        if isinstance(metric, str):
            return metric
    return None


def filter_pipelines(
    value: Any, place: Origin, resolve: Callable[[Any], Any]
) -> tuple[FilterPipeline, ...]:
    """The pipelines of a `filter_list`: each a name and the steps under `filter`."""
    if isinstance(value, Mapping) and "name" not in value:
        value = list(value.values())
    items = value if isinstance(value, list) else [value]
    found: dict[str, FilterPipeline] = {}
    for i, item in enumerate(items):
        at = origin_of(items, i, place)
        pipeline = _pipeline(item, at, resolve)
        if pipeline.name in found:
            raise problem(at, f"two filters are called {pipeline.name!r}")
        found[pipeline.name] = pipeline
    return tuple(found.values())


def _pipeline(item: Any, place: Origin, resolve: Callable[[Any], Any]) -> FilterPipeline:
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
    made = tuple(_step(step, origin_of(steps, i, place), resolve) for i, step in enumerate(steps))
    return FilterPipeline(item["name"], made)


def _step(step: Any, place: Origin, resolve: Callable[[Any], Any]) -> FilterStep:
    if isinstance(step, str):
        return FilterStep(step)
    if not isinstance(step, Mapping) or step.get("function") is None:
        raise problem(place, "a step of a filter names no function", "write - function: regex")
    params = {str(key): resolve(value) for key, value in step.items() if key != "function"}
    function = resolve(step["function"])
    if function == "custom" and params.get("filter_fn") is None:
        raise problem(place, "a custom filter needs filter_fn: !function module.function")
    return FilterStep(function, params)
