"""The rows of one system as a sample of questions: attempts at one question are one value."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Hashable, Sequence
from typing import TypeAlias

import attrs

from cbcore.results import EvalResult, EvalRow
from cbcore.stats import CLUSTER, Estimate, Terms

Key: TypeAlias = "tuple[str, str | int]"
"""Dataset and example."""


@attrs.define
class Question:
    """One question: the means of its scored attempts, or why there is none.

    `attempts` are their scores by number where there are several, else `attempt` is the number of
    the only one. `dollars` is None where no row says. `digest` identifies the example's data.
    """

    n: int = 0
    score: float = math.nan
    tokens: float = 0.0
    dollars: float | None = None
    cluster: Hashable = None
    reason: str = ""
    attempt: int = 0
    attempts: dict[int, float] | None = None
    digest: str = ""

    def add(self, score: float, row: EvalRow) -> None:
        """Count one attempt."""
        self.n += 1
        if self.n == 1:
            self.score, self.attempt = score, row.repeat
        else:
            self.attempts = {**self.by_attempt(), row.repeat: score}
            self.score = math.fsum(self.attempts.values()) / self.n
        self.tokens += (row.output_tokens - self.tokens) / self.n
        cost = row.metadata.get("cost_usd")
        if isinstance(cost, int | float) and not isinstance(cost, bool):
            before = self.dollars or 0.0
            self.dollars = before + (cost - before) / self.n

    def by_attempt(self) -> dict[int, float]:
        """The scores by the number of the attempt."""
        return {self.attempt: self.score} if self.attempts is None else self.attempts

    def only(self, numbers: Collection[int]) -> Question:
        """The question with the score of these attempts alone."""
        scores = [score for number, score in self.by_attempt().items() if number in numbers]
        return attrs.evolve(self, score=math.fsum(scores) / len(scores))


def sides_of(result: EvalResult, score: str) -> dict[str, dict[Key, Question]]:
    """The questions of every system, in their order; rows are passed once, as they may be on disk."""
    found: dict[str, dict[Key, Question]] = {system: {} for system in result.systems}
    for row in result.rows:
        questions, key = found[row.system], (row.dataset, row.example_id)
        question = questions.get(key)
        if question is None:
            question = questions[key] = Question(digest=row.example_key)
        value = row.scores.get(score)
        if row.error is not None:
            question.reason = "errored"
        elif not isinstance(value, int | float) or not math.isfinite(value):
            question.reason = f"no {score}"
        else:
            question.add(float(value), row)
        cluster = row.metadata.get(CLUSTER)
        if cluster is not None:
            question.cluster = cluster if isinstance(cluster, str | int) else repr(cluster)
    return found


@attrs.frozen(eq=False)
class Pairs:
    """The questions that two systems have a score for, and how many are left over and why.

    Those left over are counted by dataset and reason.
    """

    keys: Sequence[Key]
    first: Sequence[Question]
    second: Sequence[Question]
    left_over: dict[tuple[str, str], int]

    @classmethod
    def of(
        cls, first: dict[Key, Question], second: dict[Key, Question], names: tuple[str, str]
    ) -> Pairs:
        """Pair the questions of two systems."""
        paired: dict[Key, tuple[Question, Question]] = {}
        left_over: dict[tuple[str, str], int] = {}
        for key in {**second, **first}:
            reason = ""
            for name, side in zip(names, (first, second), strict=True):
                question = side.get(key)
                if question is None:
                    reason = f"not in {name}"
                elif not question.n:
                    reason = f"{question.reason} in {name}"
            both = None if reason else _same_attempts(first[key], second[key])
            if both is None:
                reason = reason or "no attempt in common"
                counted = key[0], reason
                left_over[counted] = left_over.get(counted, 0) + 1
            else:
                paired[key] = both
        sides = [one for one, _ in paired.values()], [other for _, other in paired.values()]
        return cls(list(paired), *sides, left_over)

    def only(self, datasets: frozenset[str]) -> Pairs:
        """Those of some datasets."""
        where = [i for i, key in enumerate(self.keys) if key[0] in datasets]
        return Pairs(
            [self.keys[i] for i in where],
            [self.first[i] for i in where],
            [self.second[i] for i in where],
            {found: count for found, count in self.left_over.items() if found[0] in datasets},
        )

    def unpaired(self) -> dict[str, int]:
        """How many questions are left over, by reason."""
        counts: dict[str, int] = {}
        for (_, reason), count in self.left_over.items():
            counts[reason] = counts.get(reason, 0) + count
        return counts

    def groups(self) -> list[Hashable] | None:
        """The clusters of the questions; None if no question has one."""
        both = zip(self.first, self.second, strict=True)
        clusters = [a.cluster if a.cluster is not None else b.cluster for a, b in both]
        return grouped(self.keys, clusters)

    def share_of_tokens(self) -> Estimate | None:
        """The tokens of the first system over those of the second."""
        mine, theirs = ([q.tokens for q in side] for side in (self.first, self.second))
        return Terms(mine, theirs).estimate_grouped(self.groups())

    def share_of_dollars(self) -> Estimate | None:
        """The dollars of the first system over those of the second, where both say."""
        paid = [
            i
            for i, (a, b) in enumerate(zip(self.first, self.second, strict=True))
            if a.dollars is not None and b.dollars is not None
        ]
        mine, theirs = (
            [side[i].dollars or 0.0 for i in paid] for side in (self.first, self.second)
        )
        groups = self.groups()
        of_paid = None if groups is None else [groups[i] for i in paid]
        return Terms(mine, theirs).estimate_grouped(of_paid)

    def within_variance(self) -> float | None:
        """How much attempts at one question differ, on average; None with one attempt each."""
        repeated = [q.attempts for q in (*self.first, *self.second) if q.attempts is not None]
        if not repeated:
            return None
        return math.fsum(statistics.variance(one.values()) for one in repeated) / len(repeated)


def _same_attempts(one: Question, other: Question) -> tuple[Question, Question] | None:
    """Both questions by the attempts that both have a score for; None if there is none."""
    if one.attempts is None and other.attempts is None and one.attempt == other.attempt:
        return one, other
    mine, theirs = one.by_attempt(), other.by_attempt()
    if mine.keys() == theirs.keys():
        return one, other
    shared = mine.keys() & theirs.keys()
    return (one.only(shared), other.only(shared)) if shared else None


def grouped(keys: Sequence[Key], clusters: Sequence[Hashable]) -> list[Hashable] | None:
    """The group of each question: its cluster within its dataset, or the question alone.

    None where no question has a cluster.
    """
    if all(cluster is None for cluster in clusters):
        return None
    return [key if c is None else (key[0], c) for key, c in zip(keys, clusters, strict=True)]
