"""The cost of a call: the most that its component declares, and the amount that it reports."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import attrs

from cbcore.boundary import contained
from cbcore.components import Built
from cbcore.contexts import pass_on
from cbcore.exceptions import RunError, ScoringError
from cbcore.protocols import Cost
from cbcore.results import Scored
from cbcore.tokens import TokenCounter

__all__: tuple[str, ...] = ()  # for the runs of cb


def declare_cost(component: Built, example: Mapping[str, Any]) -> Cost | None:
    """The cost that a component declares for a call. Raises `RunError` if it is not a `Cost`."""
    if (declare := component.max_cost) is None:
        return None
    with contained() as attempt:
        cost = declare(example)
        if isinstance(cost, Cost) and 0 <= (cost.usd or 0) < math.inf and cost.tokens >= 0:
            return cost
        raise TypeError(f"max_cost returned {cost!r}")
    raise RunError(f"{component.name!r} could not tell its cost: {attempt.reason}.")


@attrs.frozen
class Spent:
    """The cost that a call reports. The cost of `n_unknown` of its requests is not known.

    A call that failed need not report its cost.
    """

    cost: Cost
    n_unknown: int = 0
    is_answered: bool = True


def find_cost(
    counter: TokenCounter, example: Mapping[str, Any], output: Mapping[str, Any]
) -> Spent:
    """The cost of a call by its output. Tokens that no endpoint counted are counted here."""
    stages = output.get("stage_usage")
    usages = [usage_of(output)]
    if isinstance(stages, list | tuple):
        usages = [stage.get("usage") for stage in stages if isinstance(stage, Mapping)]
    reported = sum(count_tokens(add_turns(usage)) or 0 for usage in usages if usage)
    response = output.get("response")
    answer = counter.count(response) if isinstance(response, str) else 0
    metadata = output.get("metadata")
    spent = read_cost(metadata if isinstance(metadata, Mapping) else {})
    counted = 0 if reported else counter.visible(pass_on(example, output)) + answer
    tokens = max(reported, answer, counted)
    return attrs.evolve(spent, cost=attrs.evolve(spent.cost, tokens=tokens))


def find_scoring_cost(scores: Any) -> Spent:
    """The cost of scores, or of what was raised in their place.

    Without one, nobody was asked: the example lacks a field, or the verdict was known.
    """
    if not isinstance(scores, Scored | ScoringError) or not scores.cost:
        return Spent(Cost())
    is_answered = isinstance(scores, Scored) and len(scores) > 0
    return read_cost(scores.cost, is_answered=is_answered)


def read_cost(facts: Mapping[str, Any], *, is_answered: bool = True) -> Spent:
    """The cost that an output's metadata, a failure or an evaluator reports."""
    usd, tokens, n_unknown = (
        _read_amount(facts.get(key))
        for key in ("cost_usd", "spent_tokens", "requests_of_unknown_cost")
    )
    return Spent(Cost(usd, int(tokens or 0)), int(n_unknown or 0), is_answered)


def _read_amount(value: Any) -> float | None:
    is_amount = type(value) in (int, float) and 0 <= value < math.inf
    return float(value) if is_amount else None


# -- usage, as an endpoint counts it -----------------------------------------------------------------


def usage_of(fields: Mapping[str, Any]) -> Any:
    """The usage that an endpoint reported, in an output. In context-bench it is `api_usage`."""
    return fields.get("usage") or fields.get("api_usage")


def add_turns(usage: Any) -> Mapping[str, Any]:
    """The usage of a call. A list has the usage of every turn, which are added up."""
    if isinstance(usage, Mapping):
        return usage
    total: dict[str, Any] = {}
    for turn in usage if isinstance(usage, list | tuple) else ():
        for key, value in turn.items() if isinstance(turn, Mapping) else ():
            is_number = isinstance(value, int | float)
            total[key] = total.get(key, 0) + value if is_number else value
    return total


def count_tokens(usage: Mapping[str, Any]) -> int | None:
    """The tokens of prompt and completion; None if neither was counted."""
    counts = [usage.get(key) for key in ("prompt_tokens", "completion_tokens")]
    known = [n for n in counts if type(n) is int and n >= 0]
    return sum(known) if known else None
