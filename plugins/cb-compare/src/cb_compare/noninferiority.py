"""The claim people want to make: no worse than the baseline by more than a margin."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Literal

import attrs

from cbcore.stats import Estimate, examples_needed, t_quantile, t_two_sided


@attrs.frozen
class NonInferiority:
    """Whether a loss of more than the `margin` is ruled out.

    `lower` is the one-sided bound of the difference. `yes` if that is not below minus the margin,
    `no` if even the upper one is, else `inconclusive`; then about `needed` examples
    are needed to settle it, unless the difference is just the margin. If no example differs, and
    values can be anything, nothing is ruled out, and there is no bound. With fewer than 6
    independent units the verdict is always `inconclusive`.
    """

    margin: float
    verdict: Literal["yes", "no", "inconclusive"]
    lower: float | None
    p_value: float | None
    needed: int | None = None


def judge(
    difference: Estimate,
    steady: Estimate | None,
    df: float,
    margin: float,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
) -> NonInferiority:
    """Judge a difference with `df` degrees of freedom by the bounds that `steady` gives."""
    if steady is None or steady.stderr is None:
        return NonInferiority(margin, "inconclusive", None, None)
    half = t_quantile(1 - alpha, df) * steady.stderr
    lower = steady.value - half
    p_value = _upper_tail(steady.value + margin, steady.stderr, df)
    if difference.is_testable and lower >= -margin:
        return NonInferiority(margin, "yes", lower, p_value)
    if difference.is_testable and steady.value + half < -margin:
        return NonInferiority(margin, "no", lower, p_value)
    needed = _needed(difference, steady, margin, alpha=alpha, power=power)
    return NonInferiority(margin, "inconclusive", lower, p_value, needed)


def _needed(
    difference: Estimate, steady: Estimate, margin: float, *, alpha: float, power: float
) -> int | None:
    """About how many examples would settle it, going by those that there are."""
    if difference.stderr:
        room = difference.value + margin
        found = examples_needed(
            difference.stderr, difference.n, room, alpha=alpha, power=power, sides=1
        )
        return None if found is None else max(found, difference.n + 1)
    if difference.value or not margin:
        return None
    # None differs: what is not ruled out is so for their number, and falls with it.
    half = NormalDist().inv_cdf(1 - alpha) * (steady.stderr or 0.0)
    return max(math.ceil((difference.n + 2) * half / margin), difference.n + 1)


def _upper_tail(room: float, stderr: float, df: float) -> float:
    """The chance of so much room above minus the margin, or more, if there were none."""
    if not stderr:
        return 0.0 if room > 0 else 1.0
    both = t_two_sided(room / stderr, df)
    return both / 2 if room > 0 else 1 - both / 2
