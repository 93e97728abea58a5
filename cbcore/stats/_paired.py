"""Two systems on the same examples: how much they differ, and whether that is more than chance."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from itertools import compress
from operator import sub

import attrs

from cbcore.stats._distributions import (
    binomial_half_cdf,
    binomial_half_pmf,
    normal_quantile,
    t_quantile,
    t_two_sided,
)
from cbcore.stats._estimates import (
    CONFIDENCE,
    MOST_FEW,
    around,
    group_sums,
    left_in,
    mean_of,
    paired_mean_of,
)
from cbcore.stats._measured import Terms
from cbcore.stats._units import Units, n_questions

_MOST_ENUMERATED = MOST_FEW
"""Signs of so many differences are tried in every combination, 32,768 of them by symmetry."""


@attrs.frozen
class Difference:
    """The first system's value minus the second's, on the examples that have both.

    `n` examples were paired; the first was better in `wins` of their rows, worse in `losses`.
    `interval` and `p_value` are None for a single example, and the interval also where none
    differs of values that can be anything.
    """

    value: float
    stderr: float | None
    n: int
    interval: tuple[float, float] | None
    p_value: float | None
    wins: int = 0
    ties: int = 0
    losses: int = 0
    clusters: int | None = None


def difference_of(
    first: Terms,
    second: Terms,
    units: Units,
    *,
    confidence: float = CONFIDENCE,
) -> Difference | None:
    """Compare terms of the same rows; rows where either has none are left out.

    None without a row, or where a ratio has nothing below its line.
    """
    raw = list(map(sub, first.x, second.x))  # NaN where either is
    positions: Sequence[int] = range(len(raw))
    mask = left_in(raw)
    if not all(mask):
        positions = list(compress(positions, mask))
        raw = list(compress(raw, mask))
        first, second = first.at(positions), second.at(positions)
    groups = None if units.groups is None else [units.groups[i] for i in positions]
    is_ratio = first.y is not None or second.y is not None
    differences, value = raw, 0.0
    if is_ratio:
        found = _linearised(first, second)
        if found is None:
            return None
        differences, value = found
    n = len(positions) if groups is None else n_questions(units, positions)
    estimate = mean_of(differences, groups, n=n)
    if estimate is None:
        return None
    value += estimate.value
    bounds = p_value = None
    if estimate.stderr is not None:
        df = (estimate.clusters or len(positions)) - 1
        reach = None if is_ratio else reach_of(first.x, second.x)
        steady = estimate if is_ratio else paired_mean_of(raw, groups, reach=reach)
        if steady is not None and steady.stderr is not None:
            low, high = around(value if is_ratio else steady.value, steady.stderr, df, confidence)
            bounds = (low, high) if reach is None else (max(low, -reach), min(high, reach))
        p_value = (
            _ratio_p_value(first, second, groups)
            if is_ratio
            else paired_p_value(differences, groups)
        )
    return Difference(
        *(value, estimate.stderr, n, bounds, p_value),
        wins=(wins := sum(d > 0 for d in raw)),
        ties=(ties := raw.count(0.0)),
        losses=len(raw) - wins - ties,
        clusters=estimate.clusters,
    )


def reach_of(*scores: Sequence[float]) -> float | None:
    """How far scores can differ: 1 where all are between 0 and 1, else nobody knows."""
    return 1.0 if all(min(some) >= 0 and max(some) <= 1 for some in scores) else None


def lower_bound_of(
    differences: Sequence[float],
    groups: Sequence[Hashable] | None = None,
    *,
    reach: float | None = 1.0,
) -> float | None:
    """What the mean of paired differences is not below, but for a chance of 5 %; one-sided.

    Where few differ, two more are counted, and where none does they are `reach` apart: see
    `paired_mean_of`. None where nothing is known of the spread.
    """
    steady = paired_mean_of(differences, groups, reach=reach)
    if steady is None or steady.stderr is None:
        return None
    df = (steady.clusters or len(differences)) - 1
    return steady.value - t_quantile(CONFIDENCE, df) * steady.stderr


def _linearised(first: Terms, second: Terms) -> tuple[list[float], float] | None:
    """What each row adds to the difference of two ratios, around that difference."""
    n = len(first.x)
    effects = []
    values = []
    for terms in (first, second):
        y = [1.0] * n if terms.y is None else terms.y
        below = math.fsum(y) / n if n else 0.0
        if not below:
            return None
        ratio = math.fsum(terms.x) / n / below
        values.append(ratio)
        effects.append([(a - ratio * b) / below for a, b in zip(terms.x, y, strict=True)])
    return [a - b for a, b in zip(*effects, strict=True)], values[0] - values[1]


def _ratio_p_value(first: Terms, second: Terms, groups: Sequence[Hashable] | None) -> float | None:
    """Whether a/b and c/d differ, by ad − bc, which has no division to make it unsteady."""
    n = len(first.x)
    sides = [(t.x, [1.0] * n if t.y is None else t.y) for t in (first, second)]
    (a, b), (c, d) = [(math.fsum(x) / n, math.fsum(y) / n) for x, y in sides]
    rows = zip(*sides[0], *sides[1], strict=True)
    effects = [d * xa + a * yb - b * xb - c * ya for xa, ya, xb, yb in rows]
    apart = mean_of(effects, groups)
    if apart is None or apart.stderr is None:
        return None
    return _t_test(a * d - b * c, apart.stderr, (apart.clusters or n) - 1)


def _t_test(value: float, stderr: float, df: float) -> float:
    if stderr == 0:
        return 1.0 if value == 0 else 0.0
    return t_two_sided(value / stderr, df)


def paired_p_value(differences: Sequence[float], groups: Sequence[Hashable] | None = None) -> float:
    """How often differences at least as large arise when signs are a matter of chance; two-sided.

    Signs are those of whole groups where there are any. Where all differences are of one size,
    as between scores of 0 and 1, it is McNemar's mid-p. With up to 16 that are not zero every
    combination of signs is tried. Above, it is the test of Student's t, which is close by then.
    """
    sums = list(differences) if groups is None else group_sums(differences, groups)
    largest = max(map(abs, sums), default=0.0)
    # What is left of equal scores after rounding is no difference.
    moved = [d for d in sums if abs(d) > 1e-12 * largest]
    if not moved:
        return 1.0
    if max(map(abs, moved)) - min(map(abs, moved)) <= 1e-9 * largest:
        gained = sum(d > 0 for d in moved)
        return mcnemar_mid_p(gained, len(moved) - gained)
    if len(moved) <= _MOST_ENUMERATED:
        return _enumerated(moved)
    estimate = mean_of(sums)
    if estimate is None or estimate.stderr is None:
        return 1.0
    return _t_test(estimate.value, estimate.stderr, len(sums) - 1)


def _enumerated(moved: Sequence[float]) -> float:
    observed = abs(math.fsum(moved)) * (1 - 1e-12)
    sums = [abs(moved[0])]  # the other sign gives the same sums with the other sign
    for size in moved[1:]:
        sums = [s + size for s in sums] + [s - size for s in sums]
    return sum(abs(s) >= observed for s in sums) / len(sums)


def mcnemar_mid_p(gained: int, lost: int) -> float:
    """McNemar's mid-p for so many examples that changed each way; two-sided, 1 without any."""
    n, fewer = gained + lost, min(gained, lost)
    if n == 0:
        return 1.0
    return min(1.0, 2 * binomial_half_cdf(fewer, n) - binomial_half_pmf(fewer, n))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values adjusted for their number (Holm 1979), in the order given."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = highest
    return adjusted


def examples_needed(
    stderr: float, n: int, effect: float, *, alpha: float = 0.05, power: float = 0.8, sides: int = 2
) -> int | None:
    """How many examples would show an effect of that size, going by a sample of n.

    None where none would: the effect is nothing, or nothing is known of the spread.
    """
    if not effect or not stderr or not math.isfinite(effect):
        return None
    reach = normal_quantile(1 - alpha / sides) + normal_quantile(power)
    return max(2, math.ceil(n * (reach * stderr / effect) ** 2 - 1e-9))


def smallest_effect(stderr: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest true difference that a sample with this standard error would mostly show."""
    return (normal_quantile(1 - alpha / 2) + normal_quantile(power)) * stderr
