"""Evaluators at a dataset, and how they are asked for the scores of one outcome."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial
from typing import Any

import attrs

from cbcore._run.cancelling import is_cancelled
from cbcore._run.parts import Part
from cbcore._run.tracebacks import Raised, noted
from cbcore._run.work import Work
from cbcore.columns import bound_to_system
from cbcore.contexts import complete_output, has_field
from cbcore.exceptions import ScoringError
from cbcore.results import Scored

# Counted up in the process that wires a run: workers know their scorers by it.
_next_key = itertools.count().__next__


@attrs.frozen(repr=False)
class Scorer:
    """An evaluator and how it came to score a dataset.

    One that was wired automatically passes over examples and outputs that lack a field it
    needs; one that was asked for has to say why it cannot score them. `key` tells this scorer
    from all others, in other processes too.
    """

    part: Part
    automatic: bool = False
    needs: tuple[str, ...] = ()
    emits: tuple[str, ...] = ()
    needs_output: tuple[str, ...] = ()
    key: int = attrs.field(factory=_next_key)

    @classmethod
    def of(cls, part: Part, *, automatic: bool = False) -> Scorer:
        evaluator = part.value
        return cls(
            part,
            automatic=automatic,
            needs=tuple(getattr(evaluator, "needs", None) or ()),
            emits=tuple(getattr(evaluator, "emits", None) or ()),
            needs_output=tuple(getattr(evaluator, "needs_output", None) or ()),
        )

    @property
    def evaluator(self) -> Any:
        return self.part.value

    def can_score(self, example: Mapping[str, Any], output: Mapping[str, Any]) -> bool:
        if not self.automatic:
            return True
        return all(has_field(example, field) for field in self.needs) and all(
            has_field(output, field) for field in self.needs_output
        )

    def for_system(self, name: str) -> Scorer:
        """This evaluator for the rows of one system; itself, unless the two have to do."""
        value = bound_to_system(self.part.value, name)
        if value is self.part.value:
            return self
        return attrs.evolve(self, part=attrs.evolve(self.part, value=value))


def is_awaited(scorer: Scorer) -> bool:
    """Whether the evaluator waits for something, and is asked on the event loop of the run."""
    return hasattr(scorer.part.value, "ascore")


@attrs.define(repr=False)
class Outcome:
    """What came of one call: an output, or the error in its place and what that took."""

    work: Work
    output: dict[str, Any] | None
    latency: float
    error: str | None = None
    # Added to by one evaluator after another, never by two at once. What stands beside a scorer
    # is what it returned or raised, as it is: `RowMaker` judges it, and `Memo` stores it.
    scores: list[tuple[Scorer, Any]] = attrs.Factory(list)
    spent: Mapping[str, Any] = attrs.Factory(dict)
    raised: Raised | None = None
    # `Memo.keep` writes these, in whatever thread has the outcome: the output as it is stored,
    # whether a secret was taken out of that, and how many of the scores are stored.
    payload: bytes = b""
    had_secret: bool = False
    n_kept: int = 0

    @property
    def known_scores(self) -> Mapping[int, Any]:
        """Scores the store already had, by the key of their scorer."""
        recalled = self.work.recalled
        return recalled.scores if recalled is not None else {}

    def scoring_spent(self) -> tuple[float, int]:
        """The cost of the scores in dollars, and the number of requests of unknown cost; without
        the scores from the store, which are paid already."""
        known = self.known_scores
        costs = [
            scored.cost
            for scorer, scored in self.scores
            if isinstance(scored, Scored | ScoringError) and scorer.key not in known
        ]
        usd = sum(float(cost.get("cost_usd") or 0.0) for cost in costs)
        return usd, sum(int(cost.get("requests_of_unknown_cost") or 0) for cost in costs)

    def has_scores_of(self, scorer: Scorer) -> bool:
        """Whether a scorer was asked already."""
        return any(asked.key == scorer.key for asked, _ in self.scores)


# Evaluators get copies: what one changes would be the gold of the next system, or the row's
# response. Of the output a shallow one will do, as a response is a text; `complete_output` makes it.
def score(outcome: Outcome, scorers: Iterable[Scorer]) -> Outcome:
    """Ask the synchronous evaluators. Runs where the system ran, so that scoring scales too."""
    output = outcome.output
    if output is not None:
        work = outcome.work
        example = work.example
        known = None if work.recalled is None else work.recalled.scores
        for scorer in scorers:
            if known is not None and scorer.key in known:
                outcome.scores.append((scorer, known[scorer.key]))
            elif not scorer.automatic or scorer.can_score(example, output):
                try:
                    scores = scorer.part.value.score(
                        work.private_example(), complete_output(example, output)
                    )
                except KeyboardInterrupt:
                    raise
                except BaseException as error:  # noqa: BLE001 - the plugin boundary
                    scores = noted(error)
                outcome.scores.append((scorer, scores))
    return outcome


async def ask_for_scores(ask: Callable[[], Awaitable[Any]]) -> Any:
    """What an awaited evaluator returns, or the exception that it raises."""
    try:
        return await ask()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the plugin boundary
        if is_cancelled(error):
            raise
        return noted(error)


async def _ascore(scorer: Scorer, outcome: Outcome) -> Any:
    """Ask one asynchronous evaluator for the scores of an output."""
    work = outcome.work
    output = complete_output(work.example, outcome.output or {})
    return await scorer.part.value.ascore(work.private_example(), output)


async def ascore(outcome: Outcome, scorers: Iterable[Scorer]) -> Outcome:
    """Ask the asynchronous evaluators, one after another for one example.

    None that has scored it is asked again, nor counts twice: an outcome comes here once more when
    the event loop that it was judged on is blocked, and that may go on at any time.
    """
    output = outcome.output
    if output is not None:
        example = outcome.work.example
        known = outcome.known_scores
        for scorer in scorers:
            if outcome.has_scores_of(scorer):
                continue
            if scorer.key in known:
                outcome.scores.append((scorer, known[scorer.key]))
            elif not scorer.automatic or scorer.can_score(example, output):
                ask = partial(_ascore, scorer, outcome)
                scores = await ask_for_scores(ask)
                if not outcome.has_scores_of(scorer):
                    outcome.scores.append((scorer, scores))
    return outcome
