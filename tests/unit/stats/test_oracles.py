"""The statistics beside scipy and statsmodels, which only development needs."""

from __future__ import annotations

import math
from unittest.mock import patch

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cbcore.stats import compare_pairs, holm, t_quantile, t_two_sided
from cbcore.stats.estimates import mean_of, rate_of
from cbcore.stats.paired import mcnemar_mid_p

scipy_stats = pytest.importorskip("scipy.stats")
statsmodels = pytest.importorskip("statsmodels.api")
proportion = pytest.importorskip("statsmodels.stats.proportion")
multitest = pytest.importorskip("statsmodels.stats.multitest")

scores = st.floats(-3, 3).map(lambda value: round(value, 3))
close = pytest.approx


@given(st.floats(1e-9, 1 - 1e-9))
def test_normal_quantiles(p):
    """As `scipy.stats.norm.ppf`."""
    assert t_quantile(p, math.inf) == close(scipy_stats.norm.ppf(p), rel=1e-12, abs=1e-12)


@given(st.floats(0.0005, 0.9995), st.integers(1, 5000))
def test_t_quantiles(p, df):
    """As `scipy.stats.t.ppf`."""
    assert t_quantile(p, df) == close(scipy_stats.t.ppf(p, df), rel=1e-8, abs=1e-8)


@given(st.floats(-40, 40), st.integers(1, 5000))
def test_t_tails(t, df):
    """As twice `scipy.stats.t.sf`."""
    assert t_two_sided(t, df) == close(2 * scipy_stats.t.sf(abs(t), df), rel=1e-6, abs=1e-12)


@given(st.lists(scores, min_size=2, max_size=60))
def test_means_have_the_t_interval(values):
    """As `scipy.stats.t.interval` around the mean."""
    found = mean_of(values)
    stderr = scipy_stats.sem(values)
    assert found.stderr == close(stderr, rel=1e-9, abs=1e-12)
    if stderr > 1e-9:
        wanted = scipy_stats.t.interval(0.95, len(values) - 1, sum(values) / len(values), stderr)
        assert found.interval == close(wanted, rel=1e-8, abs=1e-9)


@given(st.integers(1, 400), st.data())
def test_rates_have_the_wilson_interval(n, data):
    """As `proportion_confint(method="wilson")` of statsmodels."""
    k = data.draw(st.integers(0, n))
    found = rate_of([1.0] * k + [0.0] * (n - k))
    wanted = proportion.proportion_confint(k, n, method="wilson")
    assert found.interval == close(wanted, abs=1e-12)


@given(st.lists(st.tuples(scores, st.integers(0, 9)), min_size=6, max_size=80))
def test_clustered_means_have_the_error_of_statsmodels(pairs):
    """As `OLS(...).fit(cov_type="cluster")`, which has the CR1 factor (n-1)/(n-k) = 1 here."""
    values, groups = [value for value, _ in pairs], [group for _, group in pairs]
    assume(len(set(groups)) > 2)
    fitted = statsmodels.OLS(values, [1.0] * len(values)).fit(
        cov_type="cluster", cov_kwds={"groups": groups}
    )
    found = mean_of(values, groups)
    assert found.stderr == close(float(fitted.bse[0]), rel=1e-7, abs=1e-9)


@settings(max_examples=30)
@given(st.lists(scores.filter(bool), min_size=2, max_size=11))
def test_the_permutation_test_is_exact(differences):
    """As `scipy.stats.permutation_test` over all signs; of binary scores McNemar's is taken."""
    assume(len({abs(difference) for difference in differences}) > 1)
    found = scipy_stats.permutation_test(
        (differences,),
        lambda x, axis: x.mean(axis=axis),
        permutation_type="samples",
        n_resamples=math.inf,
        vectorized=True,
    )
    assert compare_pairs(differences)[0] == close(found.pvalue, abs=1e-9)


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_has_the_mid_p_value(gained, lost):
    """The exact binomial test less the probability of what was seen."""
    n = gained + lost
    if n == 0 or gained == lost:
        assert mcnemar_mid_p(gained, lost) == close(1.0)
        return
    exact = scipy_stats.binomtest(min(gained, lost), n, 0.5).pvalue
    seen = scipy_stats.binom.pmf(min(gained, lost), n, 0.5)
    assert mcnemar_mid_p(gained, lost) == close(exact - seen, rel=1e-9)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_holm_is_that_of_statsmodels(p_values):
    """As `multipletests(method="holm")`."""
    with patch("gc.collect"):  # it collects garbage in each call, which takes seconds in all
        _, wanted, *_ = multitest.multipletests(p_values, method="holm")
    assert holm(p_values) == close(list(wanted), abs=1e-12)
