"""Causes counted: a section that says what became of the answers of each chain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from cbcore.results import EvalRow, Section
from cbcore.results.attribution import Attribution, attribute

COLUMNS = {
    "examples": "",
    "still_right": "right with the whole context, and here",
    "evidence_dropped": "right only with the whole context, and evidence is gone",
    "reader_missed": "right only with the whole context, although the evidence is here",
    "unknown": "right only with the whole context; the evidence may be here in other words",
    "reader_fails": "wrong with the whole context, too",
    "improved": "right only here",
}
NAMES = {
    "examples": "n",
    "still_right": "right",
    "evidence_dropped": "evidence dropped",
    "reader_missed": "reader missed it",
    "reader_fails": "reader fails anyway",
}
"""The columns of the section, and what they mean."""


@attrs.frozen
class LossAttribution:
    """Whose fault each wrong answer is, for chains beside the same reader with all context.

    Emits no number; its section counts the causes that `cbcore.results.attribution` tells apart.
    Where the reader was not run with the whole context, the section says what to run. A system of
    one piece is looked at beside the first that has the whole context.
    """

    name = "loss_attribution"
    automatic = "several-systems"

    score_field: str = "f1"
    threshold: float = 0.7

    def compute(self, rows: Iterable[EvalRow]) -> dict[str, float]:
        """Nothing: what there is to tell is told of systems side by side."""
        return {}

    def section(
        self, rows_by_system: Mapping[str, Iterable[EvalRow]], config: Mapping[str, Any]
    ) -> Section | None:
        """The counts; None if no system shortens the context of a reader, or none has a score."""
        found = attribute(
            rows_by_system, config.get("systems") or (), self.score_field, self.threshold
        )
        known = [one for one in found if not one.missing]
        if not found or (known and not any(one.causes for one in known)):
            return None
        columns = {
            key: f"{NAMES.get(key, key)}\n{told}" if told else NAMES.get(key, key)
            for key, told in COLUMNS.items()
        }
        if len({one.baseline for one in known}) > 1:
            columns["beside"] = "beside"
        title = f"Loss analysis ({self.score_field} ≥ {self.threshold:g} is right)"
        told = [f"no cause is known: {reason}" for reason in _missing(found)]
        if known:  # a sentence would not fit where the names stand
            return Section("; ".join([title, *told]), [*map(_line, known)], "system", columns)
        return Section(title, [{"name": one} for one in told], "system", {})


def _missing(found: Sequence[Attribution]) -> list[str]:
    return list(dict.fromkeys(one.missing for one in found if one.missing))


def _line(one: Attribution) -> dict[str, Any]:
    counts = {str(cause): count for cause, count in one.counts().items()}
    return {"name": one.system, "examples": len(one.causes), **counts, "beside": one.baseline}
