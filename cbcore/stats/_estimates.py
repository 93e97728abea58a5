"""Means, rates and ratios with their standard errors and 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from operator import eq, mul, sub

import attrs

from cbcore.stats._distributions import t_quantile

CONFIDENCE = 0.95
"""How many of 100 intervals hold the true value, as a share."""

FEW_CLUSTERS = 30
"""Below so many clusters an interval is itself a guess, and that is said."""

MOST_FEW = 16
"""Up to so many pairs that differ, and half of all, are few: the spread of them tells little."""


@attrs.frozen
class Estimate:
    """A value, its standard error where there is one, and how many examples it rests on.

    `interval` are the lower and the upper bound of the 95 % interval, infinite where there is no
    bound, and `method` says how it was made. `clusters` is the number of clusters, or of examples
    tried several times, that stand for the sample; None where each row stands for itself.
    """

    value: float
    stderr: float | None
    n: int
    interval: tuple[float, float] | None = attrs.field(default=None, kw_only=True)
    method: str | None = attrs.field(default=None, kw_only=True)
    clusters: int | None = attrs.field(default=None, kw_only=True)

    @property
    def is_bounded(self) -> bool:
        """Whether there is an interval, with both ends."""
        return self.interval is not None and all(map(math.isfinite, self.interval))


def mean_of(
    values: Sequence[float], groups: Sequence[Hashable] | None = None, *, n: int | None = None
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
        return clustered_mean(mean, values, groups, size if n is None else n)
    if size == 1:
        return Estimate(mean, None, 1)
    deviations = [value - mean for value in values]
    squares = math.fsum(map(mul, deviations, deviations))
    stderr = math.sqrt(squares / (size - 1) / size)
    if math.isinf(squares):  # they do not fit into a float, their root does
        stderr = math.hypot(*deviations) / math.sqrt((size - 1) * size)
    return Estimate(mean, stderr, size, interval=around(mean, stderr, size - 1), method="t")


def rate_of(
    values: Sequence[float], groups: Sequence[Hashable] | None = None, *, n: int | None = None
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
        return Estimate(rate, naive, size, interval=wilson(rate, size), method="wilson")
    clustered = clustered_mean(rate, values, groups, size if n is None else n)
    if clustered.stderr is None:
        return clustered
    bounds = clustered_wilson(rate, clustered, size)
    return attrs.evolve(clustered, interval=bounds, method="wilson-clustered")


def ratio_of(
    numerators: Sequence[float],
    denominators: Sequence[float],
    groups: Sequence[Hashable] | None = None,
    *,
    n: int | None = None,
) -> Estimate | None:
    """Σ numerators / Σ denominators; None where the denominators add up to nothing.

    The standard error is that of the delta method; the interval is Fieller's, which is unbounded
    where the sample does not tell the denominator from zero. Of what cannot be negative it ends
    at zero. Where few numerators differ from their denominators, it is that of a sample with two
    more that do: see `paired_mean_of`. Where none does there is neither: nothing was seen to
    vary, which does not tell by how much it may.
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
    if len(x) < 2 or x == y:
        return Estimate(ratio, None, questions, clusters=clusters)
    count = len(x)
    residuals = [a - ratio * b for a, b in zip(x, y, strict=True)]
    spread = math.fsum(map(mul, residuals, residuals)) / (count - 1)
    stderr = math.sqrt(spread * count) / abs(below)
    lowest = min(*x, *y)
    if extra := _two_more(list(map(sub, x, y))):
        mean_y = below / count
        x, y = [*x, mean_y + extra, mean_y - extra], [*y, mean_y, mean_y]
    bounds = _fieller(x, y)
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

    Those of `mean_of`, unless few differ: what is rare was seen too seldom to tell how often it
    is. Then two more are counted, one that gains and one that loses as much as any that was seen
    (Agresti and Min 2005; Bonett and Price 2012), or where none differs as much as any can, which
    is `reach`. None where nothing is known of the spread: of one value, or without a `reach`.
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


def _two_more(differences: Sequence[float]) -> float:
    """The largest difference, where few are not zero; 0 where many are, or none."""
    largest = max(map(abs, differences), default=0.0)
    # What is left of equal values after rounding is no difference.
    moved = sum(abs(d) > 1e-12 * largest for d in differences)
    return largest if 2 * moved <= len(differences) and moved <= MOST_FEW else 0.0


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


def clustered_wilson(rate: float, seen: Estimate, size: int) -> tuple[float, float]:
    """Wilson's interval around a rate, of zeros and ones that are `seen` to hang together.

    It is that of as many independent ones as would be as uncertain (Korn and Graubard 1998).
    """
    n_groups = seen.clusters or 1
    naive = math.sqrt(seen.value * (1 - seen.value) / size)
    effective = float(n_groups)
    if seen.stderr and naive > 0:
        effective = min(size, size * (naive / seen.stderr) ** 2)
    return wilson(rate, effective, t_quantile((1 + CONFIDENCE) / 2, n_groups - 1))


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
    mean: float, values: Sequence[float], groups: Sequence[Hashable], n: int
) -> Estimate:
    sums = group_sums([value - mean for value in values], groups)
    count = len(sums)
    if count < 2:
        return Estimate(mean, None, n, clusters=count)
    variance = math.fsum(map(mul, sums, sums)) * count / (count - 1) / len(values) ** 2
    stderr = math.sqrt(variance)
    bounds = around(mean, stderr, count - 1)
    return Estimate(mean, stderr, n, interval=bounds, method="t-clustered", clusters=count)


def _fieller(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """The ratios of means that the sample does not refute (Fieller 1954)."""
    n = len(x)
    mean_x, mean_y = math.fsum(x) / n, math.fsum(y) / n
    from_x, from_y = [a - mean_x for a in x], [b - mean_y for b in y]
    scale = t_quantile((1 + CONFIDENCE) / 2, n - 1) ** 2 / (n * (n - 1))
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
