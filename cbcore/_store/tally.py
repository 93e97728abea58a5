"""What rows add up to, counted while they are put away."""

from __future__ import annotations

import attrs

from cbcore.results import EvalRow


@attrs.define(eq=False, repr=False)
class Tally:
    """What rows add up to."""

    rows: int = 0
    errored: int = 0
    recalled: int = 0
    tokens: int = 0
    usd: float = 0.0
    last: EvalRow | None = None

    def add(self, row: EvalRow) -> None:
        """Count one more row."""
        self.rows += 1
        self.errored += row.error is not None
        self.recalled += row.recalled
        self.tokens += row.output_tokens + row.response_tokens
        if row.metadata:
            cost = row.metadata.get("cost_usd")
            self.usd += cost if isinstance(cost, int | float) else 0.0
        self.last = row
