"""The rows of one system as a sample of questions: attempts at one question are one value."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeAlias

import attrs

from cbcore.results import EvalRow
from cbcore.stats import CLUSTER

Key: TypeAlias = "tuple[str, str | int]"
"""Dataset and example."""

COSTS = {"tokens": "output_tokens", "dollars": "cost_usd"}


@attrs.define
class Question:
    """One question: the scores of its attempts, what they cost, and why there is no score."""

    scores: list[float] = attrs.Factory(list)
    tokens: list[float] = attrs.Factory(list)
    dollars: list[float] = attrs.Factory(list)
    cluster: Hashable = None
    reason: str = ""

    @property
    def score(self) -> float:
        """The mean of its attempts."""
        return math.fsum(self.scores) / len(self.scores)


def questions_of(rows: Iterable[EvalRow], score: str) -> dict[Key, Question]:
    """The questions of one system's rows, in their order."""
    found: dict[Key, Question] = {}
    for row in rows:
        key = row.dataset, row.example_id
        question = found.get(key)
        if question is None:
            question = found[key] = Question()
        value = row.scores.get(score)
        if row.error is not None:
            question.reason = "errored"
        elif value is None or not math.isfinite(value):
            question.reason = f"no {score}"
        else:
            question.scores.append(float(value))
            question.tokens.append(row.output_tokens)
            cost = row.metadata.get("cost_usd")
            if isinstance(cost, int | float) and not isinstance(cost, bool):
                question.dollars.append(float(cost))
        cluster = row.metadata.get(CLUSTER)
        if cluster is not None:
            question.cluster = cluster if isinstance(cluster, str | int) else repr(cluster)
    return found


@attrs.frozen(eq=False)
class Pairs:
    """The questions that two systems have a score for, and how many are left over and why."""

    keys: Sequence[Key]
    first: Sequence[Question]
    second: Sequence[Question]
    unpaired: dict[str, int]

    def differences(self) -> list[float]:
        """The first system's score less the second's."""
        return [a.score - b.score for a, b in zip(self.first, self.second, strict=True)]

    def groups(self) -> list[Hashable] | None:
        """What questions hang together by, where they do."""
        clusters = [a.cluster if a.cluster is not None else b.cluster for a, b in self._both()]
        if all(cluster is None for cluster in clusters):
            return None
        return [
            key if cluster is None else (key[0], cluster)
            for key, cluster in zip(self.keys, clusters, strict=True)
        ]

    def are_rates(self) -> bool:
        """Whether every score is 0 or 1."""
        return all(q.score in (0.0, 1.0) for q in (*self.first, *self.second))

    def share(self, cost: str) -> float | None:
        """What the first system spent of what the second did, where both say."""
        spent = [(getattr(a, cost), getattr(b, cost)) for a, b in self._both()]
        spent = [(a, b) for a, b in spent if a and b]
        below = math.fsum(math.fsum(b) / len(b) for _, b in spent)
        return math.fsum(math.fsum(a) / len(a) for a, _ in spent) / below if below else None

    def within_variance(self) -> float | None:
        """How much attempts at one question differ, on average; None with one attempt each."""
        repeated = [q.scores for q in (*self.first, *self.second) if len(q.scores) > 1]
        if not repeated:
            return None
        return math.fsum(map(_variance, repeated)) / len(repeated)

    def _both(self) -> Iterable[tuple[Question, Question]]:
        return zip(self.first, self.second, strict=True)


def _variance(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def paired(
    first: dict[Key, Question],
    second: dict[Key, Question],
    names: tuple[str, str],
    wanted: frozenset[str] | None = None,
) -> Pairs:
    """The questions of both; of the `wanted` datasets, or of all."""
    keys: list[Key] = []
    unpaired: dict[str, int] = {}
    for key in {**second, **first}:
        if wanted is not None and key[0] not in wanted:
            continue
        reason = ""
        for name, side in zip(names, (first, second), strict=True):
            question = side.get(key)
            if question is None:
                reason = f"not in {name}"
            elif not question.scores:
                reason = f"{question.reason} in {name}"
        if reason:
            unpaired[reason] = unpaired.get(reason, 0) + 1
        else:
            keys.append(key)
    return Pairs(keys, [first[key] for key in keys], [second[key] for key in keys], unpaired)
