"""Causes counted: a section that says what became of the answers of each chain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from cbcore.results import EvalRow, Section
from cbcore.results.attribution import Attribution, attribute

COLUMNS = {
    "examples": "",
    "kept": "right with the whole context, and here",
    "dropped": "no longer right, and evidence is gone",
    "misread": "no longer right, although the evidence is there",
    "lost": "no longer right, and nothing is known of the evidence",
    "unable": "not right with the whole context either",
    "gained": "right only here",
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
        """The counts; None where no system shortens the context of a reader."""
        found = attribute(
            rows_by_system, config.get("systems") or (), self.score_field, self.threshold
        )
        if not found:
            return None
        known = [one for one in found if not one.missing]
        columns = {name: f"{name}\n{told}" if told else name for name, told in COLUMNS.items()}
        if len({one.baseline for one in known}) > 1:
            columns["beside"] = "beside"
        if not any(one.counts()["lost"] for one in known):
            del columns["lost"]
        title = f"What was lost ({self.score_field} ≥ {self.threshold:g} is right)"
        told = [f"no cause is known: {reason}" for reason in _missing(found)]
        if known:  # a sentence would not fit where the names stand
            return Section("; ".join([title, *told]), [*map(_line, known)], "system", columns)
        return Section(title, [{"name": one} for one in told], "system", {})


def _missing(found: Sequence[Attribution]) -> list[str]:
    return list(dict.fromkeys(one.missing for one in found if one.missing))


def _line(one: Attribution) -> dict[str, Any]:
    counts = {str(cause): count for cause, count in one.counts().items()}
    return {"name": one.system, "examples": len(one.causes), **counts, "beside": one.baseline}
