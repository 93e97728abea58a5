"""Finding the smallest budget that is good enough, without running all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import attrs

from cbcore._run.parts import Part
from cbcore.exceptions import UsageError
from cbcore.results import EvalRow
from cbcore.results.families import Family, families_of
from cbcore.results.verdicts import ALPHA, ContextTotals, baseline_of
from cbcore.stats import Units
from cbcore.stats.estimates import FEWEST_UNITS
from cbcore.stats.measured import Terms
from cbcore.stats.paired import difference_of


@attrs.define
class Search:
    """Runs the points of each family that a bisection asks for, and leaves out the rest.

    Systems of no family come first; what leaves the context whole is what a point is compared
    with. A point is good enough if a loss of more than the `margin` is ruled out on the examples
    that both have a score for. Each of the points that a bisection may run could be taken by
    mistake, so their chances share the 5 %. More budget is taken to be no worse.
    """

    margin: float
    score_field: str
    remarks: list[str] = attrs.Factory(list)
    skipped: set[str] = attrs.Factory(set)

    def in_turn(
        self, systems: Sequence[Part], rows: Mapping[str, Sequence[EvalRow]]
    ) -> Iterator[Part]:
        """The systems to run, each decided on when `rows` hold those of the one before."""
        families = families_of([part.record for part in systems])
        parts = {part.name: part for part in systems}
        searched = {name for family in families for name in family.systems}
        alone = [part for part in systems if part.name not in searched]
        yield from alone
        if not families:
            return
        full = baseline_of({part.name: ContextTotals.of(rows[part.name]) for part in alone})
        if full is None:
            raise UsageError(
                "no system beside the families has a score to compare them with",
                hint='add one that keeps the context: --system "identity | …"',
            )
        for family in families:
            ran: set[str] = set()
            yield from self._bisected(family, parts, rows, full, ran)
            left = [name for name in family.systems if name not in ran]
            self.skipped.update(left)
            self._tell(family, left, len(rows[full]))

    def _bisected(
        self,
        family: Family,
        parts: Mapping[str, Part],
        rows: Mapping[str, Sequence[EvalRow]],
        full: str,
        ran: set[str],
    ) -> Iterator[Part]:
        below, enough = -1, len(family.points)
        alpha = ALPHA / family.n_looks
        while enough - below > 1:
            middle = (below + enough) // 2
            system = family.points[middle][1]
            ran.add(system)
            yield parts[system]
            if self._is_enough(rows[system], rows[full], alpha):
                enough = middle
            else:
                below = middle

    def _is_enough(self, rows: Sequence[EvalRow], full: Sequence[EvalRow], alpha: float) -> bool:
        units = Units.of(rows)
        theirs = {(row.dataset, row.example_id, row.repeat): self._score(row) for row in full}
        mine = Terms([self._score(row) for row in rows], kind="score")
        whole = Terms([theirs.get(key, math.nan) for key in units.keys], kind="score")
        found = difference_of(mine, whole, units, confidence=1 - 2 * alpha)
        if found is None or found.interval is None or found.n_units < FEWEST_UNITS:
            return False
        return found.interval[0] >= -self.margin

    def _score(self, row: EvalRow) -> float:
        return math.nan if row.error is not None else row.scores.get(self.score_field, math.nan)

    def _tell(self, family: Family, left: Sequence[str], n_examples: int) -> None:
        n_points = len(family.points)
        self.remarks.append(
            f"{family.name}: {n_points - len(left)} of {n_points} points were run, which saved "
            f"{len(left) * n_examples:,} of {n_points * n_examples:,} calls"
        )
