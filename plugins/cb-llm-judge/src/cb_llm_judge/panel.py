"""Several votes on one question: collected at once, combined, and how far they agree."""

from __future__ import annotations

import asyncio
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Literal, Protocol, TypeAlias

import attrs

from cb_llm_judge.verdicts import Form, JudgeError, Verdict
from cb_openai.prices import add_costs

Combine: TypeAlias = Literal["majority", "mean", "median"]


class Asker(Protocol):
    """Whoever can be asked for a verdict."""

    @property
    def model(self) -> str: ...

    async def ask(self, prompt: str, form: Form, *, seed: int | None = None) -> Verdict:
        """One verdict, or `JudgeError`."""


@attrs.frozen
class Vote:
    """A verdict and whose it is."""

    model: str
    verdict: Verdict


@attrs.frozen
class Poll:
    """All votes on one question, the reasons why some were not given, and what all cost."""

    votes: tuple[Vote, ...]
    failures: tuple[str, ...] = ()
    cost: Mapping[str, Any] = attrs.field(factory=dict, eq=False)

    @property
    def values(self) -> list[int | str]:
        return [vote.verdict.value for vote in self.votes]

    def check_quorum(self) -> None:
        """Raise unless more than half of the votes could be used."""
        n_asked = len(self.votes) + len(self.failures)
        if n_asked == 1 and self.failures:
            raise JudgeError(self.failures[0], cost=self.cost)
        if 2 * len(self.votes) <= n_asked:
            raise JudgeError(
                f"{len(self.failures)} of {n_asked} votes failed; the first: {self.failures[0]}",
                cost=self.cost,
            )

    def majority(self) -> int | str:
        """What more than half of the votes say. Raises where no value has that many."""
        value, count = Counter(self.values).most_common(1)[0]
        if 2 * count <= len(self.votes):
            values = ", ".join(map(str, self.values))
            raise JudgeError(f"no verdict has a majority: {values}", cost=self.cost)
        return value

    def number(self, combine: Combine) -> float:
        """The votes as one number."""
        if combine == "majority":
            return float(self.majority())
        numbers = [float(value) for value in self.values]
        return statistics.fmean(numbers) if combine == "mean" else statistics.median(numbers)

    def agreement(self) -> float:
        """The share of pairs of votes that are equal; 1.0 for a single vote."""
        pairs = list(combinations(self.values, 2))
        return sum(one == other for one, other in pairs) / len(pairs) if pairs else 1.0

    def reason_nearest(self, number: float) -> str:
        """The reason of the first vote that is nearest to a combined number."""
        nearest = min(self.votes, key=lambda vote: abs(float(vote.verdict.value) - number))
        return nearest.verdict.reason


async def poll(askers: Sequence[Asker], prompt: str, form: Form, votes: int) -> Poll:
    """Ask everyone `votes` times, all at once.

    With several votes each gets its number as seed: they differ, and are the same next time.
    """
    asked = [
        (asker, asker.ask(prompt, form, seed=number if votes > 1 else None))
        for asker in askers
        for number in range(votes)
    ]
    outcomes = await asyncio.gather(*(call for _, call in asked), return_exceptions=True)
    given: list[Vote] = []
    failures: list[str] = []
    costs: list[Mapping[str, Any]] = []
    for (asker, _), outcome in zip(asked, outcomes, strict=True):
        if isinstance(outcome, JudgeError):
            failures.append(outcome.message)
        elif isinstance(outcome, BaseException):
            raise outcome
        else:
            given.append(Vote(asker.model, outcome))
        costs.append(outcome.cost)
    return Poll(tuple(given), tuple(failures), add_costs(*costs))
