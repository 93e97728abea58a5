"""Likelihoods of texts: what an example asks for, and what a system that can give them returns.

An example may hold `loglikelihood_requests`, a list of `[context, continuation]`. A system with
the method `loglikelihood` is asked for them in the place of `process`; its output then has
`loglikelihoods`, one `[logarithm, is_greedy]` for each request in order. All other systems see
the question of the example, as always. What an awaited system pays for it is told by
`cbcore.spending.spent`.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from inspect import isawaitable
from typing import Any, TypeAlias

from cbcore.exceptions import ProcessError
from cbcore.sent import SENT
from cbcore.spending import added, metered

__all__ = ("LIKELIHOODS", "REQUESTS")

REQUESTS = "loglikelihood_requests"
"""The field of an example that asks for likelihoods."""

LIKELIHOODS = "loglikelihoods"
"""The field of an output that has them."""

Request: TypeAlias = tuple[str, str]
"""A context and what may continue it. An empty context means: from the beginning of a text."""

Likelihood: TypeAlias = tuple[float, bool]
"""The natural logarithm of the probability of a continuation, and whether it is the likeliest."""


def gives_likelihoods(system: Any) -> bool:
    """Whether a system can be asked for likelihoods."""
    return callable(getattr(system, "loglikelihood", None))


def likelihood_call(system: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """What answers the requests of an example by asking a system for likelihoods."""

    def call(example: dict[str, Any]) -> dict[str, Any]:
        requests = _requests(example)
        return _output(system, requests, system.loglikelihood(requests))

    return call


def awaited_likelihood_call(system: Any) -> Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]:
    """The same for a system that is awaited; its `loglikelihood` may be awaited too."""

    async def call(example: dict[str, Any]) -> dict[str, Any]:
        requests = _requests(example)
        with metered() as meter:
            try:
                given = system.loglikelihood(requests)
                given = await given if isawaitable(given) else given
            except ProcessError as error:
                error.spent = added(meter.facts(), error.spent)
                raise
        return {**_output(system, requests, given), **_told(meter.facts())}

    return call


def _told(spent: Mapping[str, Any]) -> dict[str, Any]:
    """What was paid, as outputs tell it: of the requests only how long they were is known."""
    if not spent:
        return {}
    request: dict[str, Any] = {"usage": {"prompt_tokens": spent["spent_tokens"]}}
    if "cost_usd" in spent:
        request["cost_usd"] = spent["cost_usd"]
    return {"metadata": dict(spent), SENT: [request]}


def _requests(example: dict[str, Any]) -> list[Request]:
    return [(str(context), str(continuation)) for context, continuation in example[REQUESTS]]


def _output(system: Any, requests: Sequence[Request], given: Any) -> dict[str, Any]:
    """The likelihoods as an output, checked."""
    found = [] if given is None else [list(one) for one in given]
    if len(found) != len(requests):
        raise ProcessError(
            f"{system.name}: loglikelihood returned {len(found)} results to {len(requests)} requests"
        )
    checked = []
    for one in found:
        if len(one) != 2 or not isinstance(one[0], int | float) or not math.isfinite(one[0]):
            raise ProcessError(
                f"{system.name}: loglikelihood returned {one!r}, not a finite number and a truth value"
            )
        checked.append([float(one[0]), bool(one[1])])
    return {LIKELIHOODS: checked}
