"""What evaluators that ask for money may take for one output, known before they are asked.

One says so by `estimate_usd(calls, input_tokens)`. What another takes is learned from those that
are over: of one that never tells of a cost, that it is free.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from cbcore._run.scorers import Outcome, Scorer
from cbcore._run.work import Work
from cbcore.boundary import contained
from cbcore.exceptions import RunError


@attrs.define(eq=False, repr=False)
class Judges:
    """The evaluators of a lane that are awaited, and what they took so far."""

    _scorers: Sequence[Scorer]
    _under_way: int = 0
    _shown: int = 0
    _most_usd: float = 0.0

    def expected_usd(self, work: Work, n_tokens: int) -> float | None:
        """What they may take for what comes of this work; None where none has to be asked.

        That is what they estimate, or the most so far where that is more.
        """
        if not self._scorers or work.problem is not None:
            return None
        known = () if work.recalled is None else work.recalled.scores
        asked = [scorer for scorer in self._scorers if scorer.key not in known]
        if not asked:
            return None
        told = [
            estimated_usd(scorer.part.name, estimate, 1, n_tokens)
            for scorer in asked
            if callable(estimate := getattr(scorer.evaluator, "estimate_usd", None))
        ]
        return max(sum(told), self._most_usd)

    def begin(self) -> None:
        """They will be asked about one more."""
        self._under_way += 1

    @property
    def have_to_show(self) -> bool:
        """Whether what they take has to be learned first from those that are under way.

        The first is alone; while they turn out to cost something, as many again may be under way
        as have shown it.
        """
        if all(callable(getattr(s.evaluator, "estimate_usd", None)) for s in self._scorers):
            return False
        return self._under_way > (self._shown if self._most_usd or not self._shown else math.inf)

    def end(self, outcome: Outcome, reserved_usd: float) -> float:
        """What was paid in the end; calls of unknown cost count as what was set aside for all."""
        self._under_way -= 1
        if outcome.output is None:
            return 0.0
        usd, n_unknown = outcome.scoring_spent()
        self._shown += 1
        self._most_usd = max(self._most_usd, usd)
        return max(usd, reserved_usd) if n_unknown else usd


NOBODY = Judges(())
"""For what is scored by nobody who asks for money. Nothing is ever learned of them."""


def estimated_usd(
    name: str, estimate: Callable[[int, int], Any], calls: int, n_tokens: int
) -> float:
    """What somebody expects calls to cost. Raises `RunError` where that cannot be."""
    with contained() as tried:
        usd = float(estimate(calls, n_tokens))
    if tried.error is not None:
        told = f"{name!r} could not estimate its cost: {tried.reason}"
        raise RunError(told) from tried.error
    if not 0 <= usd < math.inf:
        raise RunError(f"{name!r} could not estimate its cost: it returned {usd}")
    return usd
