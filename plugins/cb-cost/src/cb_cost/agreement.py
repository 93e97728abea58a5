"""Without gold: how far the answers are those of the system that saw everything."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

import attrs

from cbcore.results import EvalRow
from cbcore.results.verdicts import ContextTotals
from cbcore.scoring import overlap_scores
from cbcore.stats import Measured


@attrs.frozen
class AnswerAgreement:
    """The token F1 of each answer with that of the baseline to the same example, on average.

    Emits `answer_agreement`, 1 where all words are the same. `baseline` is the name of a system;
    without it, the first that leaves the context whole, or else the first.
    """

    name = "answer_agreement"

    baseline: str | None = None

    def compare(
        self, rows_by_system: Mapping[str, Iterable[EvalRow]]
    ) -> dict[str, dict[str, float]]:
        """Compare every system's answers with the baseline's."""
        if self.baseline is not None and self.baseline not in rows_by_system:
            raise ValueError(f"baseline {self.baseline!r} is none of {', '.join(rows_by_system)}")
        answers: dict[str, list[tuple[tuple[str, str | int, int], str | None]]] = {}
        totals = {system: ContextTotals() for system in rows_by_system}
        for system, rows in rows_by_system.items():
            own = answers[system] = []
            for row in rows:
                totals[system].add(row)
                good = row.error is None
                own.append(
                    ((row.dataset, row.example_id, row.repeat), row.response if good else None)
                )
        base = self.baseline or ContextTotals.find_baseline(totals)
        theirs = dict(answers[base]) if base is not None else {}
        return {
            system: {
                "answer_agreement": Measured.mean(
                    [_agreement(said, theirs.get(key)) for key, said in own], kind="score"
                )
                if own
                else math.nan
            }
            for system, own in answers.items()
        }


def _agreement(one: str | None, other: str | None) -> float:
    if one is None or other is None:
        return math.nan
    first, second = (re.findall(r"\w+", text.casefold()) for text in (one, other))
    return overlap_scores(first, second).f1 if first or second else 1.0
