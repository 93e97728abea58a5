"""Quantiles and tails, against closed forms and published tables."""

from __future__ import annotations

import math
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbcore.stats.distributions import (
    binomial_half_cdf,
    incomplete_beta,
    t_quantile,
    t_two_sided,
)


@pytest.mark.parametrize(
    ("p", "z"),
    [
        (0.5, 0.0),
        (0.8, 0.8416212335729143),
        (0.95, 1.6448536269514722),
        (0.975, 1.959963984540054),
        (0.995, 2.5758293035489004),
        (1e-10, -6.361340902404056),
    ],
)
def test_normal_quantiles(p, z):
    """As Wichura's AS 241 (1988) gives them, which R and others use."""
    assert t_quantile(p, math.inf) == pytest.approx(z, abs=1e-12)


@given(st.floats(1e-12, 1 - 1e-12))
def test_a_normal_quantile_is_where_the_chance_is_reached(p):
    """Quantile and distribution are each other's inverse."""
    assert math.erfc(-t_quantile(p, math.inf) / math.sqrt(2)) / 2 == pytest.approx(p, rel=1e-9)


@given(st.floats(0.001, 0.999))
def test_quantiles_of_t_with_one_and_two_degrees_have_closed_forms(p):
    """Those of Cauchy's distribution, and the algebraic one."""
    assert t_quantile(p, 1) == pytest.approx(math.tan(math.pi * (p - 0.5)), rel=1e-9, abs=1e-9)
    two = (2 * p - 1) * math.sqrt(2 / (1 - (2 * p - 1) ** 2))
    assert t_quantile(p, 2) == pytest.approx(two, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("df", "t"), [(4, 2.776), (9, 2.262), (14, 2.145), (30, 2.042), (120, 1.980), (math.inf, 1.960)]
)
def test_quantiles_of_t_are_those_of_the_tables(df, t):
    """Two-sided 95 %, as printed in Student's tables since Fisher 1925."""
    assert t_quantile(0.975, df) == pytest.approx(t, abs=5e-4)


@given(st.floats(0.001, 0.999), st.floats(1, 1e6))
def test_a_quantile_of_t_is_where_its_tail_is_reached(p, df):
    """Both for few and for very many degrees of freedom."""
    t = t_quantile(p, df)
    assert t_two_sided(t, df) == pytest.approx(2 * min(p, 1 - p), rel=1e-8)


def test_the_tail_of_t_for_the_maize_experiment():
    """Fisher 1935: t = 2.148 with 14 degrees of freedom, just below 5 %."""
    assert t_two_sided(2.1479874613, 14) == pytest.approx(0.0497029440, abs=1e-9)


@given(st.integers(1, 60), st.data())
def test_the_binomial_tail_is_the_sum_of_its_terms(n, data):
    """As added up in whole numbers."""
    k = data.draw(st.integers(0, n))
    exact = sum(comb(n, i) for i in range(k + 1)) / 2**n
    assert binomial_half_cdf(k, n) == pytest.approx(exact, rel=1e-11)


@given(st.floats(0.1, 500), st.floats(0.1, 500), st.floats(0.001, 0.999))
def test_the_incomplete_beta_function_and_its_mirror_add_up(a, b, x):
    """I_x(a, b) = 1 - I_(1-x)(b, a), and it stays between 0 and 1."""
    value = incomplete_beta(a, b, x)
    assert 0 <= value <= 1 + 1e-12
    assert value + incomplete_beta(b, a, 1 - x) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(
    "call", [lambda: t_quantile(0, math.inf), lambda: t_quantile(1, 5), lambda: t_quantile(0.5, 0)]
)
def test_what_has_no_quantile_is_refused(call):
    """Instead of an endless search."""
    with pytest.raises(ValueError, match="quantile"):
        call()
