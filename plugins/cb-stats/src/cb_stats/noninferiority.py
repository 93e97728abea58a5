"""The claim people want to make: no worse than the baseline by more than a margin."""

from __future__ import annotations

from typing import Literal

import attrs

from cbcore.stats import Estimate, examples_needed, t_quantile, t_two_sided


@attrs.frozen
class NonInferiority:
    """Whether a loss of more than the `margin` is ruled out.

    `lower` is the one-sided bound of the difference. `yes` if that is not below minus the margin,
    `no` if even the upper one is, else `inconclusive`; then about `needed` examples
    would settle it, unless the difference is just the margin.
    """

    margin: float
    verdict: Literal["yes", "no", "inconclusive"]
    lower: float
    p_value: float
    needed: int | None = None


def judge(
    difference: Estimate, df: float, margin: float, *, alpha: float = 0.05, power: float = 0.8
) -> NonInferiority:
    """Judge a difference whose standard error is known, with `df` degrees of freedom."""
    stderr = difference.stderr or 0.0
    half = t_quantile(1 - alpha, df) * stderr
    room = difference.value + margin
    p_value = _upper_tail(room, stderr, df)
    if difference.value - half >= -margin:
        return NonInferiority(margin, "yes", difference.value - half, p_value)
    if difference.value + half < -margin:
        return NonInferiority(margin, "no", difference.value - half, p_value)
    needed = examples_needed(stderr, difference.n, room, alpha=alpha, power=power, sides=1)
    return NonInferiority(margin, "inconclusive", difference.value - half, p_value, needed)


def _upper_tail(room: float, stderr: float, df: float) -> float:
    """The chance of so much room above minus the margin, or more, if there were none."""
    if not stderr:
        return 0.0 if room > 0 else 1.0
    both = t_two_sided(room / stderr, df)
    return both / 2 if room > 0 else 1 - both / 2
