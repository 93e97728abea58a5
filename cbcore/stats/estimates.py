"""Means, rates and ratios with their standard errors and 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from operator import eq, mul, sub

import attrs

from cbcore.stats.distributions import t_quantile

CONFIDENCE = 0.95
"""How many of 100 intervals hold the true value, as a share."""

FEW_CLUSTERS = 30
"""With fewer clusters intervals are rough, and the report warns."""

FEWEST_UNITS = 6
"""Fewer independent units are not tested: signs of 5 units cannot give a p-value below 0.06."""

MOST_FEW = 16
"""Up to 16 pairs that differ, and at most half of all pairs, are few: their spread is unreliable."""

FEWEST_ON_A_SIDE = 6
"""With fewer gains, or fewer losses, a sample can miss that side."""

MOST_SKEWED = 1.0
"""Differences with a larger skewness, of either sign, are not close to symmetric."""


MOST_SWAYED = 10_000
"""With more differences, two more of them change no bound that is printed, skewed or not."""


@attrs.frozen
class Estimate:
    """A value, its standard error where there is one, and how many examples it rests on.

    `interval` are the lower and the upper bound of the 95 % interval, infinite where there is no
    bound, and `method` says how it was made. `clusters` is the number of clusters, or of examples
    tried several times, in the sample; None if all rows are independent.
    `best_of` is set for the best of several systems: the interval allows for choosing it.
    """

    value: float
    stderr: float | None
    n: int
    interval: tuple[float, float] | None = attrs.field(default=None, kw_only=True)
    method: str | None = attrs.field(default=None, kw_only=True)
    clusters: int | None = attrs.field(default=None, kw_only=True)
    best_of: int | None = attrs.field(default=None, kw_only=True)

    @property
    def is_testable(self) -> bool:
        """Whether there are enough independent units to test a difference of such values."""
        n_units = self.clusters
        if n_units is None:
            n_units = self.n
        return n_units >= FEWEST_UNITS

    @property
    def is_bounded(self) -> bool:
        """Whether there is an interval, with both ends."""
        return self.interval is not None and _is_finite(self.interval)

    @staticmethod
    def of_differences(
        differences: Sequence[float],
        groups: Sequence[Hashable] | None = None,
        *,
        reach: float | None = 1.0,
    ) -> Estimate | None:
        """The mean of paired differences and its standard error, as bounds are to be taken from them.

        Those of `mean_of`, unless the sample can miss rare differences (see `misses_some`). Then two
        more are counted, a gain and a loss (Agresti and Min 2005; Bonett and Price 2012). They are as
        large as any can be, which is `reach`; in groups, or without a `reach`, as the largest that was
        seen. None where nothing is known of the spread: of one value, or without a `reach`.
        """
        plain = mean_of(differences, groups)
        if plain is None or plain.stderr is None:
            return None
        sums = group_sums(differences, groups)
        n = len(differences)
        size = n / len(sums)  # an added group has as many examples as one has on average
        if not any(sums):
            if reach is None:
                return None
            extra = reach * size
        elif groups is not None or reach is None:
            extra = _two_more(sums)
        elif misses_some(sums):
            extra = max(reach, *map(abs, sums))
        else:
            extra = 0.0
        if not extra:
            return plain
        total_size = n + 2 * size
        value = math.fsum(sums) / total_size
        sizes = group_sums([1.0] * n, groups)
        apart = [s - value * k for s, k in zip(sums, sizes, strict=True)]
        stderr = math.hypot(*apart, extra - value * size, extra + value * size) / total_size
        bounds = around(value, stderr, len(sums) - 1)
        return attrs.evolve(plain, value=value, stderr=stderr, interval=bounds)


def mean_of(
    values: Sequence[float],
    groups: Sequence[Hashable] | None = None,
    *,
    n: int | None = None,
    confidence: float = CONFIDENCE,
) -> Estimate | None:
    """The mean and its standard error; None without values.

    The standard error is s/√n, with s² = Σ(x - x̄)²/(n - 1), that of a sample; one value has
    none. Finite values of any size are summed without overflow, and without losing small ones.
    With `groups`, values of one group are correlated, and it is that of the groups (CR1). The
    interval is that of Student's t. `n` is the number of examples, where values are not as many.
    """
    size = len(values)
    if size == 0:
        return None
    mean = _mean(values)
    sums = group_sums([value - mean for value in values], groups)
    count = len(sums)
    clusters = None if groups is None else count
    n_examples = size if n is None else n
    if count < 2:
        return Estimate(mean, None, n_examples, clusters=clusters)
    stderr = math.hypot(*sums) * math.sqrt(count / (count - 1)) / size
    bounds = around(mean, stderr, count - 1, confidence)
    method = "t" if groups is None else "t-clustered"
    return Estimate(mean, stderr, n_examples, interval=bounds, method=method, clusters=clusters)


def rate_of(
    values: Sequence[float],
    groups: Sequence[Hashable] | None = None,
    *,
    n: int | None = None,
    confidence: float = CONFIDENCE,
) -> Estimate | None:
    """The share of ones among zeros and ones, with Wilson's interval; None without values.

    With `groups` the interval is that of as many independent values as would be as uncertain
    (Korn and Graubard), and never of more than there are; where all values agree, of one for
    each group.
    """
    size = len(values)
    if size == 0:
        return None
    rate = math.fsum(values) / size
    if groups is None:
        naive = math.sqrt(rate * (1 - rate) / size)
        z = t_quantile((1 + confidence) / 2, math.inf)
        return Estimate(rate, naive, size, interval=wilson(rate, size, z), method="wilson")
    clustered = mean_of(values, groups, n=n)
    if clustered is None or clustered.stderr is None:
        return clustered
    bounds = wilson_of_clusters(rate, clustered, size, confidence)
    return attrs.evolve(clustered, interval=bounds, method="wilson-clustered")


def ratio_of(
    numerators: Sequence[float],
    denominators: Sequence[float],
    groups: Sequence[Hashable] | None = None,
    *,
    n: int | None = None,
    reach: float | None = None,
    confidence: float = CONFIDENCE,
) -> Estimate | None:
    """Σ numerators / Σ denominators; None where the denominators add up to nothing.

    The standard error is that of the delta method. The interval is Fieller's, which is unbounded
    if the sample does not tell the denominator from zero. If all denominators are positive, each
    end is at least as far out as that of the jackknife, which holds for skewed amounts. Amounts
    that cannot be negative end the interval at zero. If few numerators differ from their
    denominators, or from zero, two more are counted: see `Estimate.of_differences`. If none differs there
    is neither standard error nor interval. So x/y and (y - x)/y always have complementary
    intervals.
    """
    size = len(numerators)
    below = math.fsum(denominators)
    if not size or not below:
        return None
    ratio = math.fsum(numerators) / below
    x = group_sums(numerators, groups)
    y = group_sums(denominators, groups)
    count = len(x)
    n_examples = size if n is None else n
    clusters = None if groups is None else count
    if count < 2 or x == y or not any(x):
        return Estimate(ratio, None, n_examples, clusters=clusters)
    spread = math.hypot(*(a - ratio * b for a, b in zip(x, y, strict=True)))
    stderr = spread * math.sqrt(count / (count - 1)) / abs(below)
    lowest = min(*x, *y)
    mean_y = below / count
    farthest = (reach or 0.0) if groups is None else 0.0
    gap = _two_more(list(map(sub, x, y)), farthest)
    amount = _two_more(x, farthest)
    if gap:
        x += [mean_y + gap, mean_y - gap]
        y += [mean_y, mean_y]
    elif amount:
        x += [amount, -amount]
        y += [mean_y, mean_y]
    low, high = _fieller(x, y, confidence)
    varies = stderr > 1e-12 * abs(ratio)  # by more than rounding
    if varies and min(y) > 0 and _is_finite((low, high)):
        lower, higher = _jackknife(x, y, confidence)
        low = min(low, lower)
        high = max(high, higher)
    if lowest >= 0 and math.isfinite(low):
        low = max(0.0, low)
    method = "fieller" if _is_finite((low, high)) else "fieller-unbounded"
    return Estimate(
        ratio, stderr, n_examples, interval=(low, high), method=method, clusters=clusters
    )


def reach_of(*scores: Sequence[float]) -> float | None:
    """How far scores can differ: 1 where all are between 0 and 1, else unknown."""
    for some in scores:
        if min(some) < 0 or max(some) > 1:
            return None
    return 1.0


def misses_some(differences: Sequence[float]) -> bool:
    """Whether rare differences of a size that was not seen could change the result.

    That is so if few of them are not zero, if few are gains or few are losses, or if they are
    skewed.
    """
    if _two_more(differences):
        return True
    gains = sum(d > 0 for d in differences)
    losses = sum(d < 0 for d in differences)
    if min(gains, losses) < FEWEST_ON_A_SIDE:
        return True
    n = len(differences)
    if n > MOST_SWAYED:
        return False
    mean = math.fsum(differences) / n
    apart = [d - mean for d in differences]
    squares = [d * d for d in apart]
    deviation = math.sqrt(math.fsum(squares) / n)
    if not deviation:
        return False
    third_moment = _dot(squares, apart) / n
    return abs(third_moment) > MOST_SKEWED * deviation**3


def _two_more(differences: Sequence[float], reach: float = 0.0) -> float:
    """The largest difference, or the `reach`, if few are not zero; 0 if many are, or none."""
    largest = max(map(abs, differences), default=0.0)
    # Equal values may differ by their rounding errors.
    n_moved = sum(abs(difference) > 1e-12 * largest for difference in differences)
    is_few = 0 < n_moved <= min(MOST_FEW, len(differences) // 2)
    return max(largest, reach) if is_few else 0.0


def around(
    value: float, stderr: float, df: float, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """The interval of Student's t around a value."""
    half = t_quantile((1 + confidence) / 2, df) * stderr
    return value - half, value + half


def wilson(rate: float, n: float, z: float | None = None) -> tuple[float, float]:
    """Wilson's 95 % interval of a rate among n; `z` in place of the normal quantile."""
    if z is None:
        z = t_quantile((1 + CONFIDENCE) / 2, math.inf)
    scale = 1 + z * z / n
    center = (rate + z * z / (2 * n)) / scale
    variance = rate * (1 - rate) / n + z * z / (4 * n * n)
    half = z * math.sqrt(variance) / scale
    # At the ends rounding could leave the value outside of its own interval.
    low = min(center - half, rate)
    high = max(center + half, rate)
    return max(0.0, low), min(1.0, high)


def wilson_of_clusters(
    rate: float, seen: Estimate, size: int, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Wilson's interval around a rate, of zeros and ones in clusters, which are `seen`.

    It is that of as many independent ones as would be as uncertain (Korn and Graubard 1998).
    """
    n_groups = seen.clusters or 1
    naive = math.sqrt(seen.value * (1 - seen.value) / size)
    effective = float(n_groups)
    if seen.stderr and naive > 0:
        effective = min(size, size * (naive / seen.stderr) ** 2)
    return wilson(rate, effective, t_quantile((1 + confidence) / 2, n_groups - 1))


def _mean(values: Sequence[float]) -> float:
    try:
        return math.fsum(values) / len(values)
    except OverflowError:
        return math.fsum(value / len(values) for value in values)


def _dot(x: Sequence[float], y: Sequence[float]) -> float:
    """Σ x·y, without losing small products."""
    return math.fsum(map(mul, x, y))


def _is_finite(interval: tuple[float, float]) -> bool:
    low, high = interval
    return math.isfinite(low) and math.isfinite(high)


def group_sums(values: Sequence[float], groups: Sequence[Hashable] | None) -> list[float]:
    """The sum of the values of each group; without `groups`, each value is a group."""
    if groups is None:
        return list(values)
    by_group: dict[Hashable, float] = {}
    for value, group in zip(values, groups, strict=True):
        by_group[group] = by_group.get(group, 0.0) + value
    return list(by_group.values())


def _jackknife(x: Sequence[float], y: Sequence[float], confidence: float) -> tuple[float, float]:
    """Around a ratio of sums, by how far it moves without each unit; all `y` are positive."""
    n = len(x)
    above = math.fsum(x)
    below = math.fsum(y)
    without = [(above - a) / (below - b) for a, b in zip(x, y, strict=True)]
    middle = math.fsum(without) / n
    stderr = math.hypot(*(one - middle for one in without)) * math.sqrt((n - 1) / n)
    return around(above / below, stderr, n - 1, confidence)


def _fieller(x: Sequence[float], y: Sequence[float], confidence: float) -> tuple[float, float]:
    """The ratios of means that the sample does not refute (Fieller 1954)."""
    n = len(x)
    mean_x = math.fsum(x) / n
    mean_y = math.fsum(y) / n
    from_x = [a - mean_x for a in x]
    from_y = [b - mean_y for b in y]
    quantile = t_quantile((1 + confidence) / 2, n - 1)
    scale = quantile**2 / (n * (n - 1))
    square = mean_y**2 - _dot(from_y, from_y) * scale
    half = mean_x * mean_y - _dot(from_x, from_y) * scale
    rest = mean_x**2 - _dot(from_x, from_x) * scale
    if square <= 0:
        return -math.inf, math.inf
    # Rounding can take what is a double root just below zero.
    root = math.sqrt(max(0.0, half * half - square * rest))
    return (half - root) / square, (half + root) / square


def find_present(values: Sequence[float]) -> list[bool]:
    """Which rows have a value: NaN is none."""
    return list(map(eq, values, values))  # NaN alone differs from itself


def quantile_at(ordered: Sequence[float], quantile: float) -> float:
    """Between the closest ranks of ordered values, linearly: type 7 of Hyndman and Fan.

    NaN of nothing.
    """
    if not ordered:
        return math.nan
    # In thousandths, so that no rank is missed by a rounding error.
    last = len(ordered) - 1
    below, rest = divmod(last * round(quantile * 1000), 1000)
    low = ordered[below]
    high = ordered[min(below + 1, last)]
    return min(low + (high - low) * rest / 1000, high)
