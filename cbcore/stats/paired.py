"""Two systems on the same examples: how much they differ, and whether that is more than chance."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from itertools import compress
from operator import sub

import attrs

from cbcore.stats.distributions import binomial_half_cdf, t_quantile, t_two_sided
from cbcore.stats.estimates import (
    CONFIDENCE,
    MOST_FEW,
    Estimate,
    around,
    find_present,
    group_sums,
    mean_of,
    misses_some,
    reach_of,
)
from cbcore.stats.measured import Terms, Units, n_questions


@attrs.frozen
class Difference:
    """The first system's value minus the second's, on the examples that have both.

    `n` examples were paired; the first was better in `wins` of them, worse in `losses`. Several
    attempts at one example count as their mean. `p_value` is None with fewer than 6 independent
    units, `interval` for a single example, and where none differs of values that can be anything.
    `test` names the test. `unseen` is the share of examples in which a difference may occur that
    the sample did not show (95 %); None if the sample shows gains and losses alike.
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
    test: str | None = None
    unseen: float | None = None

    @property
    def n_units(self) -> int:
        """How many independent units were paired: clusters, or else examples."""
        return self.n if self.clusters is None else self.clusters

    @property
    def n_differ(self) -> int:
        """The number of examples with another value."""
        return self.wins + self.losses


def difference_of(
    first: Terms,
    second: Terms,
    units: Units,
    *,
    confidence: float = CONFIDENCE,
) -> Difference | None:
    """Compare terms of the same rows; rows where either has none are left out.

    None without a row, or if a denominator is zero.
    """
    raw = list(map(sub, first.x, second.x))  # NaN where either is
    positions: Sequence[int] = range(len(raw))
    mask = find_present(raw)
    if not all(mask):
        positions = list(compress(positions, mask))
        raw = list(compress(raw, mask))
        first = first.at(positions)
        second = second.at(positions)
    n = len(positions)
    groups: Sequence[Hashable] | None = None
    if units.groups is not None:
        groups = [units.groups[i] for i in positions]
        n = n_questions(units, positions)
    if first.y is not None or second.y is not None:
        return _compare_ratios(first, second, groups, n)
    if groups is not None and n < len(positions):
        keys = [units.keys[i][:2] for i in positions]
        first, second, groups = _mean_by_question(first, second, keys, groups)
        raw = list(map(sub, first.x, second.x))
    if not units.clustered:
        groups = None
    estimate = mean_of(raw, groups, n=n)
    if estimate is None:
        return None
    bounds = None
    reach = reach_of(first.x, second.x)
    steady = Estimate.of_differences(raw, groups, reach=reach)
    if steady is not None and steady.stderr is not None:
        df = (estimate.clusters or len(raw)) - 1
        low, high = around(steady.value, steady.stderr, df, confidence)
        if reach is not None:
            low = max(low, -reach)
            high = min(high, reach)
        bounds = low, high
    p_value = test = unseen = None
    if estimate.is_testable:
        p_value, test = compare_pairs(raw, groups, reach=reach)
    if misses_some(group_sums(raw, groups)):
        n_units = estimate.clusters or n
        # A larger share would show up in 95 of 100 samples: about 3/n.
        unseen = 1 - 0.05 ** (1 / n_units)
    wins = sum(d > 0 for d in raw)
    ties = raw.count(0.0)
    return Difference(
        estimate.value,
        estimate.stderr,
        n,
        bounds,
        p_value,
        wins=wins,
        ties=ties,
        losses=len(raw) - wins - ties,
        clusters=estimate.clusters,
        test=test,
        unseen=unseen,
    )


def _compare_ratios(
    first: Terms, second: Terms, groups: Sequence[Hashable] | None, n: int
) -> Difference | None:
    """Whether a/b and c/d differ, by ad − bc, which has no division to make it unsteady.

    There is no interval. None if a denominator is zero.
    """
    size = len(first.x)
    if not size:
        return None
    ones = [1.0] * size
    first_y = ones if first.y is None else first.y
    second_y = ones if second.y is None else second.y
    a = math.fsum(first.x) / size
    b = math.fsum(first_y) / size
    c = math.fsum(second.x) / size
    d = math.fsum(second_y) / size
    if not b or not d:
        return None
    terms = []
    for xa, ya, xb, yb in zip(first.x, first_y, second.x, second_y, strict=True):
        terms.append(d * xa + a * yb - b * xb - c * ya)
    apart = mean_of(terms, groups, n=n)
    if apart is None:
        return None
    p_value = None
    if apart.is_testable and apart.stderr is not None:
        df = (apart.clusters or size) - 1
        p_value = _t_test(a * d - b * c, apart.stderr, df)
    value = a / b - c / d
    return Difference(value, apart.stderr, n, None, p_value, clusters=apart.clusters, test="t")


def _mean_by_question(
    first: Terms,
    second: Terms,
    keys: Sequence[Hashable],
    groups: Sequence[Hashable],
) -> tuple[Terms, Terms, list[Hashable]]:
    """One value for each question, the mean of its attempts, and the group of each question."""
    group_of = dict(zip(keys, groups, strict=True))
    counts = group_sums([1.0] * len(keys), keys)

    def mean(side: Terms) -> Terms:
        sums = group_sums(side.x, keys)
        return Terms([s / k for s, k in zip(sums, counts, strict=True)], kind=side.kind)

    return mean(first), mean(second), list(group_of.values())


def _t_test(value: float, stderr: float, df: float) -> float:
    if stderr == 0:
        return 1.0 if value == 0 else 0.0
    return t_two_sided(value / stderr, df)


def compare_pairs(
    differences: Sequence[float],
    groups: Sequence[Hashable] | None = None,
    *,
    reach: float | None = None,
) -> tuple[float, str]:
    """How often chance alone gives a mean difference at least as large, and the name of the test.

    The p-value is two-sided. Signs of the differences are flipped, of whole groups where there
    are any. If all differences have one size, as between scores of 0 and 1, it is McNemar's mid-p.
    With up to 16 that are not zero every combination of signs is tried; above, it is the test of
    Student's t. If differences cannot exceed the `reach`, and the sample can miss large ones (see
    `misses_some`), the p-value is not below that of a sample with one such gain and one such loss
    more.
    """
    sums = group_sums(differences, groups)
    largest = max(map(abs, sums), default=0.0)
    # Equal scores may differ by their rounding errors.
    moved = [d for d in sums if abs(d) > 1e-12 * largest]
    if not moved:
        return 1.0, "mcnemar-mid-p"
    if largest - min(map(abs, moved)) <= 1e-9 * largest:
        test = "mcnemar-mid-p"
        gained = sum(d > 0 for d in moved)
        p_value = mcnemar_mid_p(gained, len(moved) - gained)
        if groups is None and reach is not None and largest >= reach * (1 - 1e-9):
            return p_value, test
    elif len(moved) <= MOST_FEW:
        test = "sign-flips"
        p_value = _try_all_signs(moved)
    else:
        test = "t"
        mean = mean_of(sums)
        assert mean is not None  # noqa: S101 - there are more than 16 sums
        p_value = _t_test(mean.value, mean.stderr or 0.0, len(sums) - 1)
    if groups is None and reach is not None and misses_some(sums):
        steady = Estimate.of_differences(sums, reach=reach)
        if steady is not None and steady.stderr:
            allowing = _t_test(steady.value, steady.stderr, len(sums) - 1)
            if allowing > p_value:
                return allowing, "t-two-more"
    return p_value, test


def _try_all_signs(moved: Sequence[float]) -> float:
    observed = abs(math.fsum(moved)) * (1 - 1e-12)
    sums = [abs(moved[0])]  # by symmetry, its other sign gives the same sums
    for size in moved[1:]:
        sums = [s + size for s in sums] + [s - size for s in sums]
    return sum(abs(s) >= observed for s in sums) / len(sums)


def mcnemar_mid_p(gained: int, lost: int) -> float:
    """McNemar's mid-p for so many examples that changed each way; two-sided, 1 without any."""
    n, fewer = gained + lost, min(gained, lost)
    # Half of the chance of exactly this outcome counts, on both sides.
    return min(1.0, binomial_half_cdf(fewer, n) + binomial_half_cdf(fewer - 1, n))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values adjusted for their number (Holm 1979), in the order given."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, i in enumerate(order):
        p_value = (len(p_values) - rank) * p_values[i]
        highest = max(highest, min(1.0, p_value))
        adjusted[i] = highest
    return adjusted


def examples_needed(
    stderr: float, n: int, effect: float, *, alpha: float = 0.05, power: float = 0.8, sides: int = 2
) -> int | None:
    """How many examples show an effect of that size, going by a sample of n.

    `alpha` is the level of the test; for one of m comparisons, divide it by m. None if no number
    does: the effect is zero, or nothing is known of the spread.
    """
    if not effect or not stderr or not math.isfinite(effect):
        return None
    reach = t_quantile(1 - alpha / sides, math.inf) + t_quantile(power, math.inf)
    n_needed = n * (reach * stderr / effect) ** 2
    return max(2, math.ceil(n_needed - 1e-9))
