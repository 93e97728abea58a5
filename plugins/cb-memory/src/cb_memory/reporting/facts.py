"""What rows say of memories, collected in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import attrs

from cbcore.results import EvalRow
from cbcore.stats import CLUSTER, Estimate, Measured, Units

Key: TypeAlias = tuple[str, str]
"""A question: its dataset and its id."""


@attrs.frozen
class Asked:
    """What a question is about, whoever answers it.

    A category that is the type of a question (`typed`) says nothing of whether it can be answered.
    """

    dataset: str
    example_id: str
    cluster: str
    history: str
    category: str | None = None
    typed: bool = False
    abstention: bool = False
    items: int | None = None
    distance: int | None = None

    @classmethod
    def of(cls, row: EvalRow) -> Asked:
        """What the row of a memory says of its question."""
        told = row.metadata
        category = told.get("category", told.get("question_type"))
        return cls(
            dataset=row.dataset,
            example_id=str(row.example_id),
            cluster=str(told.get(CLUSTER, row.example_id)),
            history=str(told.get("history", told.get(CLUSTER, row.example_id))),
            category=None if category is None else str(category),
            typed="category" not in told and "question_type" in told,
            abstention=bool(told.get("abstention")),
            items=_whole(told.get("history_items")),
            distance=_whole(told.get("evidence_distance")),
        )

    @property
    def key(self) -> Key:
        return self.dataset, self.example_id


@attrs.frozen
class Answered:
    """What a system made of a question."""

    asked: Asked
    scores: Mapping[str, float]
    input_tokens: int
    output_tokens: int
    latency: float
    metadata: Mapping[str, Any]


@attrs.frozen
class Findings:
    """All answers by system, and all questions once, in the order in which they were asked."""

    answers: Mapping[str, list[Answered]]
    questions: Mapping[Key, Asked]

    @classmethod
    def of(cls, rows: Mapping[str, Iterable[EvalRow]]) -> Findings:
        """Go through the rows. What only memories say of a question counts for all systems."""
        questions: dict[Key, Asked] = {}
        kept: dict[str, list[EvalRow]] = {}
        for system, of_system in rows.items():
            kept[system] = []
            for row in of_system:
                if row.error is not None:
                    continue
                kept[system].append(row)
                if "history_items" in row.metadata:
                    asked = Asked.of(row)
                    questions.setdefault(asked.key, asked)
        answers = {
            system: [
                Answered(one, r.scores, r.input_tokens, r.output_tokens, r.latency, r.metadata)
                for r in of_system
                if (one := questions.get((r.dataset, str(r.example_id)))) is not None
            ]
            for system, of_system in kept.items()
        }
        return cls(answers, questions)

    @property
    def datasets(self) -> list[str]:
        """The datasets that have questions, in order."""
        return list(dict.fromkeys(asked.dataset for asked in self.questions.values()))

    def score_names(self, dataset: str) -> list[str]:
        """The scores that any answer to a dataset has."""
        names: dict[str, None] = {}
        for of_system in self.answers.values():
            for answered in of_system:
                if answered.asked.dataset == dataset:
                    names.update(dict.fromkeys(answered.scores))
        return list(names)

    def estimate(self, system: str, score: str, keys: set[Key]) -> Estimate | None:
        """The mean of a score over these questions, as sure as the conversations allow."""
        found = [
            answered
            for answered in self.answers.get(system, ())
            if answered.asked.key in keys and score in answered.scores
        ]
        sampled = Units(
            len(found),
            keys=[(*answered.asked.key, attempt) for attempt, answered in enumerate(found)],
            groups=[answered.asked.cluster for answered in found],
            clustered=True,
        )
        mean = Measured.mean([answered.scores[score] for answered in found], kind="score")
        return mean.terms.estimate(sampled)


def _whole(value: Any) -> int | None:
    return value if type(value) is int else None
