"""The system of a run that the others are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import attrs

from cbcore.results import CHANGED

if TYPE_CHECKING:
    from cbcore.results import EvalRow

__all__ = ("ContextTotals", "baseline_of")


@attrs.define
class ContextTotals:
    """The tokens that a system got and sent, added up row by row without failed rows."""

    n_given: int = 0
    n_sent: int = 0
    n_changed: int = 0

    def add(self, row: EvalRow) -> None:
        """Count one row."""
        if row.error is None:
            self.n_given += row.input_tokens
            self.n_sent += row.output_tokens
            self.n_changed += row.output_tokens != row.input_tokens or CHANGED in row.metadata

    @property
    def is_unchanged(self) -> bool:
        """Whether the system passed on every context as it was."""
        return self.n_given > 0 and not self.n_changed

    @property
    def is_whole(self) -> bool:
        """Whether the system sent no fewer tokens than it got; the text may be another."""
        return self.n_sent >= self.n_given > 0


def baseline_of(totals: Mapping[str, ContextTotals]) -> str | None:
    """The first system that passes on all contexts unchanged; None without systems.

    If there is none, the first that sends no fewer tokens than it got, or else the first.
    """
    unchanged = [system for system, found in totals.items() if found.is_unchanged]
    whole = [system for system, found in totals.items() if found.is_whole]
    return next(iter([*unchanged, *whole, *totals]), None)
