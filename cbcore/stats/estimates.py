"""Means, rates and ratios with their standard errors and 95 % intervals."""

from __future__ import annotations

import itertools
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
    tried several times, that stand for the sample; None where each row stands for itself.
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
        return (self.n if self.clusters is None else self.clusters) >= FEWEST_UNITS

    @property
    def is_bounded(self) -> bool:
        """Whether there is an interval, with both ends."""
        return self.interval is not None and all(map(math.isfinite, self.interval))


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
    With `groups`, values of one group hang together, and it is that of the groups (CR1). The
    interval is that of Student's t. `n` is the number of examples, where values are not as many.
    """
    size = len(values)
    if size == 0:
        return None
    mean = _mean(values)
    if groups is not None:
        return clustered_mean(mean, values, groups, size if n is None else n, confidence)
    if size == 1:
        return Estimate(mean, None, 1)
    deviations = [value - mean for value in values]
    squares = math.fsum(map(mul, deviations, deviations))
    stderr = math.sqrt(squares / (size - 1) / size)
    if math.isinf(squares):  # they do not fit into a float, their root does
        stderr = math.hypot(*deviations) / math.sqrt((size - 1) * size)
    bounds = around(mean, stderr, size - 1, confidence)
    return Estimate(mean, stderr, size, interval=bounds, method="t")


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
    clustered = clustered_mean(rate, values, groups, size if n is None else n)
    if clustered.stderr is None:
        return clustered
    bounds = clustered_wilson(rate, clustered, size, confidence)
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
    denominators, or from zero, two more are counted: see `paired_mean_of`. If none differs there
    is neither standard error nor interval. So x/y and (y - x)/y always have complementary
    intervals.
    """
    size = len(numerators)
    below = math.fsum(denominators)
    if not size or not below:
        return None
    ratio = math.fsum(numerators) / below
    x, y = list(numerators), list(denominators)
    if groups is not None:
        x, y = group_sums(x, groups), group_sums(y, groups)
    questions = size if n is None else n
    clusters = None if groups is None else len(x)
    if len(x) < 2 or x == y or not any(x):
        return Estimate(ratio, None, questions, clusters=clusters)
    count = len(x)
    residuals = [a - ratio * b for a, b in zip(x, y, strict=True)]
    spread = math.fsum(map(mul, residuals, residuals)) / (count - 1)
    stderr = math.sqrt(spread * count) / abs(below)
    lowest = min(*x, *y)
    mean_y = below / count
    farthest = 0.0 if groups is not None or reach is None else reach
    if extra := _two_more(list(map(sub, x, y)), farthest):
        x, y = [*x, mean_y + extra, mean_y - extra], [*y, mean_y, mean_y]
    elif extra := _two_more(x, farthest):
        x, y = [*x, extra, -extra], [*y, mean_y, mean_y]
    bounds = _fieller(x, y, confidence)
    varies = stderr > 1e-12 * abs(ratio)  # by more than rounding
    if varies and min(y) > 0 and all(map(math.isfinite, bounds)):
        wide = _jackknife(x, y, confidence)
        bounds = min(bounds[0], wide[0]), max(bounds[1], wide[1])
    if math.isfinite(bounds[0]) and lowest >= 0:
        bounds = max(0.0, bounds[0]), bounds[1]
    method = "fieller" if all(map(math.isfinite, bounds)) else "fieller-unbounded"
    return Estimate(ratio, stderr, questions, interval=bounds, method=method, clusters=clusters)


def paired_mean_of(
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
    sums = list(differences) if groups is None else group_sums(differences, groups)
    n, count = len(differences), len(sums)
    size = n / count  # of a pair of groups that is added: as many examples as one has on average
    if not any(sums):
        if reach is None:
            return None
        extra = reach * size
    elif groups is None and reach is not None:
        extra = max(reach, *map(abs, sums)) if misses_some(sums) else 0.0
    else:
        extra = _two_more(sums)
    if not extra:
        return plain
    value = math.fsum(sums) / (n + 2 * size)
    sizes = [1.0] * count if groups is None else group_sums([1.0] * n, groups)
    apart = [s - value * k for s, k in zip(sums, sizes, strict=True)]
    apart += [extra - value * size, -extra - value * size]
    stderr = math.sqrt(math.fsum(map(mul, apart, apart))) / (n + 2 * size)
    return attrs.evolve(
        plain, value=value, stderr=stderr, interval=around(value, stderr, count - 1)
    )


def misses_some(differences: Sequence[float]) -> bool:
    """Whether rare differences of a size that was not seen could change the result.

    That is so if few of them are not zero, if few are gains or few are losses, or if they are
    skewed.
    """
    if _two_more(differences):
        return True
    gains, losses = (sum(map(side, differences)) for side in ((0.0).__lt__, (0.0).__gt__))
    if min(gains, losses) < FEWEST_ON_A_SIDE:
        return True
    n = len(differences)
    if n > MOST_SWAYED:
        return False
    mean = math.fsum(differences) / n
    apart = [d - mean for d in differences]
    squares = list(map(mul, apart, apart))
    deviation = math.sqrt(math.fsum(squares) / n)
    if not deviation:
        return False
    return abs(math.fsum(map(mul, squares, apart)) / n) > MOST_SKEWED * deviation**3


def _two_more(differences: Sequence[float], reach: float = 0.0) -> float:
    """The largest difference, or the `reach`, if few are not zero; 0 if many are, or none."""
    largest = max(map(abs, differences), default=0.0)
    # What is left of equal values after rounding is no difference.
    moved = itertools.islice((1 for d in differences if abs(d) > 1e-12 * largest), MOST_FEW + 1)
    n_moved = sum(moved)  # of many, only that they are more than few
    is_few = n_moved and 2 * n_moved <= len(differences) and n_moved <= MOST_FEW
    return max(largest, reach) if is_few else 0.0


def around(
    value: float, stderr: float, df: float, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """The interval of Student's t around a value."""
    half = t_quantile((1 + confidence) / 2, df) * stderr
    return value - half, value + half


def wilson(rate: float, n: float, z: float | None = None) -> tuple[float, float]:
    """Wilson's 95 % interval of a rate among n; `z` in place of the normal quantile."""
    z = t_quantile((1 + CONFIDENCE) / 2, math.inf) if z is None else z
    scale = 1 + z * z / n
    centre = (rate + z * z / (2 * n)) / scale
    half = z * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / scale
    # At the ends rounding could leave the value outside of its own interval.
    return max(0.0, min(centre - half, rate)), min(1.0, max(centre + half, rate))


def clustered_wilson(
    rate: float, seen: Estimate, size: int, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Wilson's interval around a rate, of zeros and ones that are `seen` to hang together.

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


def group_sums(values: Sequence[float], groups: Sequence[Hashable]) -> list[float]:
    by_group: dict[Hashable, float] = {}
    for value, group in zip(values, groups, strict=True):
        by_group[group] = by_group.get(group, 0.0) + value
    return list(by_group.values())


def clustered_mean(
    mean: float,
    values: Sequence[float],
    groups: Sequence[Hashable],
    n: int,
    confidence: float = CONFIDENCE,
) -> Estimate:
    sums = group_sums([value - mean for value in values], groups)
    count = len(sums)
    if count < 2:
        return Estimate(mean, None, n, clusters=count)
    variance = math.fsum(map(mul, sums, sums)) * count / (count - 1) / len(values) ** 2
    stderr = math.sqrt(variance)
    bounds = around(mean, stderr, count - 1, confidence)
    return Estimate(mean, stderr, n, interval=bounds, method="t-clustered", clusters=count)


def _jackknife(x: Sequence[float], y: Sequence[float], confidence: float) -> tuple[float, float]:
    """Around a ratio of sums, by how far it moves without each unit; all `y` are positive."""
    n, above, below = len(x), math.fsum(x), math.fsum(y)
    without = [(above - a) / (below - b) for a, b in zip(x, y, strict=True)]
    middle = math.fsum(without) / n
    apart = [one - middle for one in without]
    stderr = math.sqrt(math.fsum(map(mul, apart, apart)) * (n - 1) / n)
    return around(above / below, stderr, n - 1, confidence)


def _fieller(
    x: Sequence[float], y: Sequence[float], confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """The ratios of means that the sample does not refute (Fieller 1954)."""
    n = len(x)
    mean_x, mean_y = math.fsum(x) / n, math.fsum(y) / n
    from_x, from_y = [a - mean_x for a in x], [b - mean_y for b in y]
    scale = t_quantile((1 + confidence) / 2, n - 1) ** 2 / (n * (n - 1))
    xx = math.fsum(map(mul, from_x, from_x)) * scale
    yy = math.fsum(map(mul, from_y, from_y)) * scale
    xy = math.fsum(map(mul, from_x, from_y)) * scale
    square, half, rest = mean_y**2 - yy, mean_x * mean_y - xy, mean_x**2 - xx
    if square <= 0:
        return -math.inf, math.inf
    # Rounding can take what is a double root just below zero.
    root = math.sqrt(max(0.0, half * half - square * rest))
    return (half - root) / square, (half + root) / square


def left_in(values: Sequence[float]) -> list[bool]:
    """Which rows have a value: NaN stands for none."""
    return list(map(eq, values, values))  # NaN alone differs from itself


def quantile_at(ordered: Sequence[float], quantile: float) -> float:
    """Between the closest ranks of ordered values, linearly: type 7 of Hyndman and Fan.

    NaN of nothing.
    """
    if not ordered:
        return math.nan
    # In thousandths, so that no rank is missed by a rounding error.
    below, rest = divmod((len(ordered) - 1) * round(quantile * 1000), 1000)
    low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
    return min(low + (high - low) * rest / 1000, high)
