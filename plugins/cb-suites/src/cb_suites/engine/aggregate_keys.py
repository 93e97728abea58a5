"""`aggregate_metric_list`: what a group says of its own scores, checked and read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cb_suites.engine.documents import FunctionReference, origin_of, problem
from cb_suites.engine.fields import (
    Check,
    check,
    flag,
    short,
    text,
    text_or_function,
    texts,
    unknown_key,
)
from cb_suites.engine.model import NO_FILTER, AggregateMetric, Origin
from cbcore.names import hint

AGGREGATIONS = ("mean", "median", "min", "max")
"""Ways to make one number of several that have a name; any other is a function."""

AGGREGATE_KEYS: dict[str, Check] = {
    "metric": text,
    "aggregation": text_or_function,
    "weight_by_size": flag,
    "filter_list": texts,
    "higher_is_better": flag,
    "over": text,
}
"""The keys of one aggregate, with what each may hold."""


def aggregate_metrics(
    value: Any, place: Origin, resolve: Callable[[FunctionReference], Any]
) -> tuple[AggregateMetric, ...]:
    """The aggregates of a group: a list of mappings, or one."""
    items = value if isinstance(value, list) else [value]
    return tuple(
        _aggregate(item, origin_of(items, i, place), resolve) for i, item in enumerate(items)
    )


def _aggregate(
    item: Any, place: Origin, resolve: Callable[[FunctionReference], Any]
) -> AggregateMetric:
    if not isinstance(item, Mapping):
        raise problem(
            place,
            f"aggregate_metric_list holds keys with values, not {short(item)}",
            "write - metric: acc",
        )
    given: dict[str, Any] = {}
    for key, value in item.items():
        at = origin_of(item, key, place)
        if key not in AGGREGATE_KEYS:
            raise unknown_key(str(key), AGGREGATE_KEYS, "aggregate", at)
        if value is None:
            continue
        given[key] = check(key, value, AGGREGATE_KEYS[key], at)
    if "metric" not in given:
        raise problem(place, "an aggregate names no metric", "write metric: acc, for example")
    function = given.get("aggregation", "mean")
    if isinstance(function, FunctionReference):
        function = resolve(function)
    elif isinstance(function, str) and function not in AGGREGATIONS:
        _refuse(function, "aggregation", AGGREGATIONS, origin_of(item, "aggregation", place))
    over = given.get("over", "leaves")
    if over not in ("leaves", "children"):
        _refuse(over, "over", ("leaves", "children"), origin_of(item, "over", place))
    return AggregateMetric(
        metric=given["metric"],
        aggregation=function,
        weight_by_size=given.get("weight_by_size", True),
        filters=given.get("filter_list", (NO_FILTER.name,)),
        any_filter="filter_list" not in given,
        higher_is_better=given.get("higher_is_better"),
        over=over,
        origin=origin_of(item, "metric", place),
    )


def _refuse(value: str, key: str, allowed: tuple[str, ...], place: Origin) -> None:
    raise problem(
        place,
        f"{key} {value!r} is not one of {', '.join(allowed)}"
        + (", and not a !function" if key == "aggregation" else ""),
        hint(value, allowed),
    )
