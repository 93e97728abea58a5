"""The smallest budget at which quality is no worse than that of the whole context, but a margin."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from operator import sub

import attrs

from cb_sweeps.curves import Curve
from cbcore.stats import Estimate, t_quantile

ALPHA = 0.05
"""How often chance alone may call a budget good enough."""

N_DRAWS = 1_000


@attrs.frozen
class Smallest:
    """The claim, and how far it could be off.

    At the `index`, and at every greater budget, a loss of more than the margin is ruled out, with
    an error rate of 5 %; None if it is ruled out nowhere. `low` and `high` are where 90 % of the samples that
    might have been drawn have their smallest budget by the means alone; infinite beyond the last.
    """

    index: int | None
    low: float
    high: float


def lower_bound_of(
    differences: Sequence[float],
    groups: Sequence[Hashable] | None = None,
    *,
    reach: float | None = 1.0,
    alpha: float = ALPHA,
) -> float | None:
    """The one-sided lower bound of the mean of paired differences, at the level `alpha`.

    It allows for rare differences that the sample can miss: see `Estimate.of_differences`. None if nothing
    is known of the spread, and with fewer than 6 independent units.
    """
    steady = Estimate.of_differences(differences, groups, reach=reach)
    if steady is None or steady.stderr is None or not steady.is_testable:
        return None
    n_units = steady.clusters or len(differences)
    return steady.value - t_quantile(1 - alpha, n_units - 1) * steady.stderr


def smallest_budget(
    curve: Curve,
    full: Sequence[float],
    margin: float,
    groups: Sequence[Hashable] | None = None,
    *,
    alpha: float = ALPHA,
    seed: int = 0,
) -> Smallest:
    """Compare every point with the scores of the whole context, on the same examples.

    Points are tested from the greatest budget down to the first that fails, each at the level
    `alpha`: then all of them together have that error rate. A search, which chooses the points by
    their results, needs a smaller level: 5 % over the number of its points.
    """
    order = sorted(range(len(curve.budgets)), key=curve.budgets.__getitem__)
    lost = [list(map(sub, curve.scores[i], full)) for i in order]
    within = all(0 <= score <= 1 for scores in (*curve.scores, full) for score in scores)
    found: int | None = None
    for i, differences in zip(reversed(order), reversed(lost), strict=True):
        bound = lower_bound_of(differences, groups, reach=1.0 if within else None, alpha=alpha)
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
    from random import Random

    sums, sizes = _summed(lost, groups)
    descending = list(zip(reversed(budgets), reversed(sums), strict=True))
    random = Random(seed)  # noqa: S311 - statistics, not secrets
    units = range(len(sizes))
    found: list[float] = []
    for _ in range(N_DRAWS):
        sample = random.choices(units, k=len(sizes))
        least = (-margin - 1e-12) * sum(map(sizes.__getitem__, sample))
        smallest = math.inf
        # A point counts only if every greater one is good too.
        for budget, column in descending:
            if sum(map(column.__getitem__, sample)) < least:
                break
            smallest = budget
        found.append(smallest)
    return found


def _summed(
    lost: Sequence[Sequence[float]], groups: Sequence[Hashable] | None
) -> tuple[Sequence[Sequence[float]], Sequence[int]]:
    """The differences of each point, summed over each unit that is drawn, and the sizes of units."""
    if groups is None:
        return lost, [1] * len(lost[0])
    sizes = Counter(groups)
    sums = []
    for differences in lost:
        by_group = dict.fromkeys(sizes, 0.0)
        for group, difference in zip(groups, differences, strict=True):
            by_group[group] += difference
        sums.append(list(by_group.values()))
    return sums, list(sizes.values())
