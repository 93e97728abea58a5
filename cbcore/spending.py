"""What scoring costs: calls that an evaluator pays for are told here, and stand in the row.

A client that asks for money calls `spent` after each call, whoever made it. While an awaited
evaluator scores an output, the run adds up what is told and keeps it with the scores: in the
row's `metadata` as `scoring_usd`, and in the budget. While an awaited system is asked for
likelihoods, which have no output to say it in, it is kept as what the system spends. Elsewhere
nobody listens, and nothing happens: what a system spends it says in its own output.
"""

from __future__ import annotations

import contextvars
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import attrs

__all__ = ("spent",)


@attrs.define(eq=False)
class Spent:
    """What was told: dollars, tokens, and how many calls did not say what they cost."""

    usd: float = 0.0
    tokens: int = 0
    calls: int = 0
    unknown: int = 0

    def facts(self) -> dict[str, Any]:
        """What is kept of it: dollars where all are known, and how many calls are not."""
        if not self.calls:
            return {}
        told: dict[str, Any] = {"calls": self.calls, "spent_tokens": self.tokens}
        if self.unknown < self.calls:
            told["cost_usd"] = self.usd
        if self.unknown:
            told["requests_of_unknown_cost"] = self.unknown
        return told


_LISTENING: contextvars.ContextVar[Spent | None] = contextvars.ContextVar("cb_spent", default=None)


def spent(usd: float | None, tokens: int = 0) -> None:
    """Tell of one call; `usd` is None where nobody knows what it cost."""
    meter = _LISTENING.get()
    if meter is None:
        return
    meter.calls += 1
    meter.tokens += tokens
    if usd is None:
        meter.unknown += 1
    else:
        meter.usd += usd


def added(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Both amounts as one: what either tells of tokens, dollars and requests of unknown cost."""
    names = ("spent_tokens", "cost_usd", "requests_of_unknown_cost")
    told = [name for name in names if name in one or name in other]
    return {**one, **other, **{name: one.get(name, 0) + other.get(name, 0) for name in told}}


@contextmanager
def metered() -> Iterator[Spent]:
    """Listen to what is told in here, tasks that are started here included."""
    meter = Spent()
    token = _LISTENING.set(meter)
    try:
        yield meter
    finally:
        _LISTENING.reset(token)
