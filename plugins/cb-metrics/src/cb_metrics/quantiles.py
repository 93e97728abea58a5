"""Quantiles of a metric, with the values of the sample that bound them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import attrs

from cbcore.stats import (
    Estimate,
    Measured,
    Terms,
    quantile_at,
    wilson_of_clusters,
)

_MOST_SUMMED = 1_000


def quantile_of(values: Sequence[float], quantile: float) -> Estimate | None:
    """A quantile with the values that bound it in 95 % of samples, whatever their distribution.

    How many of n values lie below the true quantile is binomial, so that the bounds are two of
    the values themselves; above 1,000 values the normal distribution gives their ranks. A sample
    that is too small for a bound on either side has no interval.
    """
    if not values:
        return None
    ordered = sorted(values)
    low, high = _ranks(len(ordered), quantile)
    interval = None
    if low >= 1 and high <= len(ordered):
        interval = (ordered[low - 1], ordered[high - 1])
    value = quantile_at(ordered, quantile)
    method = None if interval is None else "order statistics"
    return Estimate(value, None, len(ordered), interval=interval, method=method)


def quantile_of_clusters(
    values: Sequence[float], quantile: float, groups: Sequence[Hashable], *, n: int
) -> Estimate | None:
    """The same as `quantile_of`, with correlated values in groups; `n` is the number of examples.

    The values that bound it stand at the ends of the interval of the share that lies below
    (Woodruff 1952), which is that of a rate with such groups.
    """
    if not values:
        return None
    ordered, size = sorted(values), len(values)
    value = quantile_at(ordered, quantile)
    below = [1.0 if one <= value else 0.0 for one in values]
    seen = Terms(below).estimate_grouped(groups, n)
    if seen is None or seen.stderr is None:
        return Estimate(value, None, n, clusters=seen.clusters if seen else None)
    shares = wilson_of_clusters(quantile, seen, size)
    low, high = math.floor(size * shares[0]), math.ceil(size * shares[1]) + 1
    if low < 1 or high > size:
        return Estimate(value, None, n, clusters=seen.clusters)
    bounds = ordered[low - 1], ordered[high - 1]
    return Estimate(
        *(value, None, n), interval=bounds, method="woodruff-clustered", clusters=seen.clusters
    )


def _ranks(n: int, quantile: float) -> tuple[int, int]:
    """Which values, counted from 1, bound a quantile; beyond 1 to n where none does.

    The chance that fewer than `low` values lie below it, or `high` and more, is 2.5 % at most.
    """
    tail = 0.025
    if n > _MOST_SUMMED:
        from statistics import NormalDist  # which most runs can do without

        half = NormalDist().inv_cdf(1 - tail) * math.sqrt(n * quantile * (1 - quantile))
        return math.floor(n * quantile - half), math.ceil(n * quantile + half) + 1
    below, low, high = 0.0, 0, n + 1
    for count in range(n + 1):
        if below <= tail:
            low = count
        if below >= 1 - tail:
            high = count
            break
        ways = math.lgamma(n + 1) - math.lgamma(count + 1) - math.lgamma(n - count + 1)
        below += math.exp(ways + count * math.log(quantile) + (n - count) * math.log(1 - quantile))
    return low, high


@attrs.frozen(eq=False, repr=False, slots=False)
class QuantileTerms(Terms):
    """The values of rows, of which a quantile is the value, not the mean."""

    quantile: float = attrs.field(kw_only=True)

    def value(self) -> float:
        """The quantile; NaN of no values."""
        return quantile_at(sorted(self.select(self.x)), self.quantile)

    def estimate_grouped(
        self,
        groups: Sequence[Hashable] | None,
        n: int | None = None,
        confidence: float = 0.95,
    ) -> Estimate | None:
        """The quantile with its interval, which always has 95 %."""
        x = self.select(self.x)
        if groups is None or n is None:
            return quantile_of(x, self.quantile)
        return quantile_of_clusters(x, self.quantile, groups, n=n)


def measured_quantile(values: Sequence[float], quantile: float) -> Measured:
    """A quantile of one value for each row, NaN for rows that do not count."""
    return Measured(QuantileTerms(values, quantile=quantile))
