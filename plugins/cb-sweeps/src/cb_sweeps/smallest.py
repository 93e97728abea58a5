"""The smallest budget at which quality is no worse than that of the whole context, but a margin."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from operator import sub
from typing import Any

import attrs

from cb_sweeps.curves import Curve
from cbcore.stats import lower_bound_of

N_DRAWS = 1_000
_CELLS_AT_ONCE = 4_000_000


@attrs.frozen
class Smallest:
    """The claim, and how far it could be off.

    At the `index`, and at every greater budget, a loss of more than the margin is ruled out but
    for a chance of 5 %; None where none is. `low` and `high` are where 90 % of the samples that
    might have been drawn have their smallest budget by the means alone; infinite beyond the last.
    """

    index: int | None
    low: float
    high: float


def smallest_budget(
    curve: Curve,
    full: Sequence[float],
    margin: float,
    groups: Sequence[Hashable] | None = None,
    *,
    seed: int = 0,
) -> Smallest:
    """Compare every point with the scores of the whole context, on the same examples."""
    order = sorted(range(len(curve.budgets)), key=curve.budgets.__getitem__)
    lost = [list(map(sub, curve.scores[i], full)) for i in order]
    within = all(0 <= score <= 1 for scores in (*curve.scores, full) for score in scores)
    found: int | None = None
    for i, differences in zip(reversed(order), reversed(lost), strict=True):
        bound = lower_bound_of(differences, groups, reach=1.0 if within else None)
        if bound is None or bound < -margin:
            break
        found = i
    budgets = [curve.budgets[i] for i in order]
    drawn = sorted(_drawn(lost, budgets, margin, groups, seed))
    return Smallest(found, *(drawn[round(q * (len(drawn) - 1))] for q in (0.05, 0.95)))


def _drawn(
    lost: Sequence[Sequence[float]],
    budgets: Sequence[float],
    margin: float,
    groups: Sequence[Hashable] | None,
    seed: int,
) -> list[float]:
    """The smallest budget of samples drawn anew; whole groups are drawn where there are any."""
    import numpy as np

    sums, sizes = _summed(np.asarray(lost, dtype=float).T, groups)
    random = np.random.default_rng(seed)
    n = len(sizes)
    found: list[float] = []
    while len(found) < N_DRAWS:
        batch = min(N_DRAWS - len(found), max(1, _CELLS_AT_ONCE // n))
        weights = random.multinomial(n, [1 / n] * n, size=batch).astype(float)
        means = (weights @ sums) / (weights @ sizes)[:, None]
        good = means >= -margin - 1e-12
        # From the right: a point counts only if every greater one is good too.
        good = np.flip(np.logical_and.accumulate(np.flip(good, axis=1), axis=1), axis=1)
        first = np.where(good.any(axis=1), good.argmax(axis=1), -1)
        found += [math.inf if i < 0 else budgets[i] for i in first.tolist()]
    return found


def _summed(lost: Any, groups: Sequence[Hashable] | None) -> tuple[Any, Any]:
    import numpy as np

    if groups is None:
        return lost, np.ones(len(lost))
    numbers: dict[Hashable, int] = {}
    index = [numbers.setdefault(group, len(numbers)) for group in groups]
    sums = np.zeros((len(numbers), lost.shape[1]))
    np.add.at(sums, index, lost)
    return sums, np.bincount(index).astype(float)
