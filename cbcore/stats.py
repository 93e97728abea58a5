"""Numbers that know how sure they are."""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs


@attrs.frozen
class Estimate:
    """A value, its standard error where there is one, and how many examples it rests on.

    `interval` are the lower and the upper bound of a confidence interval, for whoever has a
    better one to give than value ± 1.96·stderr.
    """

    value: float
    stderr: float | None
    n: int
    interval: tuple[float, float] | None = attrs.field(default=None, kw_only=True)


def mean_of(values: Sequence[float]) -> Estimate | None:
    """The mean of independent values and its standard error; None without values.

    The standard error is s/√n, with s² = Σ(x - x̄)²/(n - 1), that of a sample; one value has
    none. Finite values of any size are summed without overflow, and without losing small ones.
    """
    n = len(values)
    if n == 0:
        return None
    try:
        mean = math.fsum(values) / n
    except OverflowError:
        mean = math.fsum(value / n for value in values)
    if n == 1:
        return Estimate(mean, None, 1)
    try:
        variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
        return Estimate(mean, math.sqrt(variance / n), n)
    except OverflowError:  # the squares do not fit into a float, their root does
        spread = math.hypot(*(value - mean for value in values))
        return Estimate(mean, spread / math.sqrt((n - 1) * n), n)
