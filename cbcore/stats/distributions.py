"""Quantiles and tails of Student's t and binomial distributions."""

from __future__ import annotations

import functools
import math

_TINY = 1e-300


def t_two_sided(t: float, df: float) -> float:
    """The chance that a value of Student's t with `df` degrees is at least as far from 0 as t.

    With infinitely many degrees it is that of the normal distribution.
    """
    if math.isinf(t):
        return 0.0
    if math.isinf(df):
        return math.erfc(abs(t) / math.sqrt(2))
    if t * t <= df:  # near 1 the complement keeps the digits
        return 1 - incomplete_beta(0.5, df / 2, t * t / (df + t * t))
    return incomplete_beta(df / 2, 0.5, df / (df + t * t))


@functools.lru_cache(maxsize=256)
def t_quantile(p: float, df: float) -> float:
    """The value that one of Student's t with `df` degrees stays below with chance p.

    For 0 < p < 1 and df ≥ 1; an infinite df gives the normal distribution's.
    """
    if not 0 < p < 1 or not df >= 1:
        raise ValueError(f"no quantile of t for the chance {p!r} and {df!r} degrees of freedom")
    if p == 0.5:
        return 0.0
    if p > 0.5:
        return -t_quantile(1 - p, df)
    # Of the two-sided tail, which falls as t grows; the root is bracketed, then halved.
    low, high = 0.0, 1.0
    while t_two_sided(high, df) > 2 * p:
        low, high = high, high * 2
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if t_two_sided(middle, df) > 2 * p else (low, middle)
    return -middle


def binomial_half_cdf(k: int, n: int) -> float:
    """The chance of at most k heads in n throws of a fair coin."""
    if not 0 <= k < n:
        return float(k >= n)
    # I_½(n - k, k + 1): the sum of the terms, without adding up thousands of them.
    return incomplete_beta(n - k, k + 1, 0.5)


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b)."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    log_gammas = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(log_gammas + a * math.log(x) + b * math.log1p(-x))
    # The fraction converges fast on this side of the mean; the other side is its mirror.
    if x < (a + 1) / (a + b + 2):
        return front * _evaluate_fraction(a, b, x) / a
    return 1 - front * _evaluate_fraction(b, a, 1 - x) / b


def _evaluate_fraction(a: float, b: float, x: float) -> float:
    """That of the incomplete beta function, by Lentz's method (Press et al. 2007, 6.4)."""
    c = 1.0
    d = 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 100_000):
        at = a + 2 * m
        even = m * (b - m) * x / ((at - 1) * at)
        odd = -(a + m) * (a + b + m) * x / (at * (at + 1))
        for step in (even, odd):
            d = 1 / _away_from_zero(1 + step * d)
            c = _away_from_zero(1 + step / c)
            value *= d * c
        if abs(d * c - 1) < 1e-16:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
