"""Evaluators at a dataset, and how they are asked for the scores of one outcome."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from cbcore._run.work import Work

_NOTHING: Mapping[int, Any] = {}
_next_key = itertools.count().__next__


@attrs.frozen
class Scorer:
    """An evaluator and how it came to score a dataset.

    One that was wired automatically passes over examples and outputs that lack a field it
    needs; one that was asked for has to say why it cannot score them. `record` is what a result
    says of the evaluator. `key` tells this wiring from all others, also after it was sent to
    another process and back.
    """

    evaluator: Any
    automatic: bool = False
    needs: tuple[str, ...] = ()
    emits: tuple[str, ...] = ()
    needs_output: tuple[str, ...] = ()
    record: Mapping[str, Any] | None = None
    key: int = attrs.field(factory=_next_key)

    @classmethod
    def of(
        cls, evaluator: Any, *, automatic: bool = False, record: Mapping[str, Any] | None = None
    ) -> Scorer:
        return cls(
            evaluator,
            automatic=automatic,
            record=record,
            needs=tuple(getattr(evaluator, "needs", ())),
            emits=tuple(getattr(evaluator, "emits", ())),
            needs_output=tuple(getattr(evaluator, "needs_output", ())),
        )

    def can_score(self, example: Mapping[str, Any], output: Mapping[str, Any]) -> bool:
        if not self.automatic:
            return True
        return all(example.get(field) is not None for field in self.needs) and all(
            output.get(field) is not None for field in self.needs_output
        )

    def for_system(self, name: str) -> Scorer:
        """This evaluator for the rows of one system; itself, unless the two have to do."""
        bind = getattr(self.evaluator, "for_system", None)
        return self if bind is None else attrs.evolve(self, evaluator=bind(name))


@attrs.define
class Outcome:
    """What came of one call: an output, or the error in its place."""

    work: Work
    output: dict[str, Any] | None
    latency: float
    error: str | None = None
    scores: list[tuple[Scorer, Any]] = attrs.Factory(list)

    @property
    def known_scores(self) -> Mapping[int, Any]:
        """Scores the store already had, by the key of the evaluator's wiring."""
        recalled = self.work.recalled
        return recalled.scores if recalled is not None else _NOTHING


def score(outcome: Outcome, evaluators: Iterable[Scorer]) -> Outcome:
    """Ask the synchronous evaluators. Runs where the system ran, so that scoring scales too."""
    if outcome.output is not None:
        example = outcome.work.example
        known = outcome.known_scores
        for scorer in evaluators:
            if scorer.key in known:
                outcome.scores.append((scorer, known[scorer.key]))
            elif scorer.can_score(example, outcome.output):
                try:
                    scores = scorer.evaluator.score(example, outcome.output)
                except (Exception, SystemExit) as error:  # noqa: BLE001 - the plugin boundary
                    scores = error
                outcome.scores.append((scorer, scores))
    return outcome


async def ascore(outcome: Outcome, evaluators: Iterable[Scorer]) -> Outcome:
    """Ask the asynchronous evaluators, one after another for one example."""
    if outcome.output is not None:
        example = outcome.work.example
        known = outcome.known_scores
        for scorer in evaluators:
            if scorer.key in known:
                outcome.scores.append((scorer, known[scorer.key]))
            elif scorer.can_score(example, outcome.output):
                try:
                    scores = await scorer.evaluator.ascore(example, outcome.output)
                except (Exception, SystemExit) as error:  # noqa: BLE001 - the plugin boundary
                    scores = error
                outcome.scores.append((scorer, scores))
    return outcome
