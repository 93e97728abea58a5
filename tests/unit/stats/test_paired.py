"""Differences on the same examples: published tests, and what must hold of any."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cb_compare.comparing import smallest_effect
from cbcore.stats import Units, compare_pairs, examples_needed, holm
from cbcore.stats.measured import Terms
from cbcore.stats.paired import difference_of, mcnemar_mid_p

MAIZE = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]


def test_darwins_maize():
    """Fisher 1935, The Design of Experiments: 1,726 of 32,768 arrangements of the signs."""
    assert compare_pairs(MAIZE)[0] == 1726 / 32768


def test_the_difference_of_darwins_maize():
    """Mean, standard error and interval of Student's t, as textbooks have them."""
    found = difference_of(Terms(MAIZE), Terms([0.0] * 15), Units(15))
    assert found.value == pytest.approx(20.9333333)
    assert found.stderr == pytest.approx(9.7456, abs=1e-4)
    assert found.interval == pytest.approx((0.0311933, 41.8354733), abs=1e-6)
    assert (found.wins, found.ties, found.losses) == (13, 0, 2)


@pytest.mark.parametrize(
    ("gained", "lost", "p"),
    [(1, 7, 0.0390625), (6, 16, 0.0346896648), (150, 86, 2.8933895e-05)],
    ids=["AHR", "CHCC", "prime minister"],
)
def test_mcnemars_mid_p(gained, lost, p):
    """Fagerland, Lydersen and Laake 2013, BMC Medical Research Methodology 13:91; Agresti."""
    assert mcnemar_mid_p(gained, lost) == pytest.approx(p, rel=1e-7)
    scores = [1] * gained + [-1] * lost + [0] * 20
    assert compare_pairs(scores)[0] == pytest.approx(p, rel=1e-7)


def test_holms_adjustment():
    """A worked example of Holm 1979 as R's p.adjust gives it."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


def test_examples_needed_are_those_of_the_paper():
    """Miller 2024, arXiv 2411.00640: 969 questions to see 3 points with a variance of 1/9."""
    assert examples_needed(math.sqrt(1 / 9), 1, 0.03) == 969
    assert examples_needed(math.sqrt(1 / 9 + 2 / 60), 1, 0.03) == 1260
    assert smallest_effect(math.sqrt((1 / 9 + 1 / 3) / 100)) == pytest.approx(0.186772, abs=1e-6)
    assert examples_needed(0.1, 10, 0.0) is None


def test_where_nothing_was_seen_to_vary_nobody_knows_how_many_are_needed():
    """Nine equal scores do not say that two examples would show a difference of 0.05."""
    assert examples_needed(0.0, 9, 0.05) is None


def test_nothing_that_differs_is_no_difference():
    """However many rows there are."""
    assert compare_pairs([0.0] * 50)[0] == 1.0
    found = difference_of(Terms([0.5] * 9), Terms([0.5] * 9), Units(9))
    assert (found.value, found.p_value, found.ties) == (0.0, 1.0, 9)


def test_one_example_tells_nothing():
    """There is a difference, but no error, no interval, no p-value."""
    found = difference_of(Terms([1.0]), Terms([0.0]), Units(1))
    assert (found.value, found.stderr, found.interval, found.p_value) == (1.0, None, None, None)


def test_rows_that_lack_a_side_are_left_out():
    """A missing score is never a zero."""
    found = difference_of(Terms([1.0, math.nan, 1.0]), Terms([0.0, 0.0, math.nan]), Units(3))
    assert (found.n, found.value) == (1, 1.0)


def test_signs_flip_by_whole_groups():
    """Eight examples of two clusters are two observations: nothing can be shown."""
    differences = [1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5]
    assert compare_pairs(differences)[0] < 0.05
    assert compare_pairs(differences, [0] * 4 + [1] * 4)[0] == 0.5


def test_ratios_are_compared_by_what_does_not_divide():
    """One has a cost per pass three times that of the other, with few passes."""
    tokens = Terms([100.0 + i % 7 for i in range(40)], [1.0] * 6 + [0.0] * 34)
    cheap = Terms([100.0 + i % 5 for i in range(40)], [1.0] * 24 + [0.0] * 16)
    found = difference_of(tokens, cheap, Units(40))
    assert found.value > 300
    assert found.p_value < 0.001
    assert difference_of(tokens, tokens, Units(40)).p_value == 1.0


DIFFERENCES = st.lists(st.integers(-8, 8).map(lambda n: n / 8), min_size=2, max_size=40)


@given(DIFFERENCES)
def test_a_test_does_not_care_which_system_is_first(differences):
    """Two-sided: the p-value of the mirror image is the same, and a chance."""
    p = compare_pairs(differences)[0]
    assert 0 < p <= 1
    assert compare_pairs([-d for d in differences])[0] == pytest.approx(p)


@given(DIFFERENCES, st.integers(1, 20))
def test_examples_that_do_not_differ_do_not_change_an_exact_test(differences, n_ties):
    """Only what differs has a sign to flip."""
    moved = [d for d in differences if d][:16]
    if moved:
        assert compare_pairs(moved + [0.0] * n_ties)[0] == pytest.approx(compare_pairs(moved)[0])


@given(st.lists(st.floats(0, 1), max_size=12))
def test_adjusted_p_values_grow_and_keep_their_order(p_values):
    """None gets smaller, none above 1, and no two change places."""
    adjusted = holm(p_values)
    assert all(a >= p for a, p in zip(adjusted, p_values, strict=True))
    assert all(a <= 1 for a in adjusted)
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    assert sorted(adjusted) == [adjusted[i] for i in order]


DIFFERENCES = [1.0, -2.0, 3.5, 0.5, 2.5, -1.0, 4.0, 1.5, 0.25, 2.0] * 2


def test_more_than_16_differences_are_tested_by_students_t():
    p_value, test = compare_pairs(DIFFERENCES)
    assert test == "t"
    assert p_value == pytest.approx(stats.ttest_1samp(DIFFERENCES, 0.0).pvalue, rel=1e-9)


def test_ratios_are_tested_with_the_degrees_of_freedom_of_their_rows():
    """Of a/b and c/d with equal denominators, that is Student's t of the differences."""
    ones = [1.0] * len(DIFFERENCES)
    zeros = [0.0] * len(DIFFERENCES)
    found = difference_of(Terms(DIFFERENCES, ones), Terms(zeros, ones), Units(len(DIFFERENCES)))
    assert found.p_value == pytest.approx(stats.ttest_1samp(DIFFERENCES, 0.0).pvalue, rel=1e-9)


def test_repeats_of_a_question_are_averaged_and_clusters_of_questions_counted():
    first = [1.0, 1.0, 0.0, 0.0, 1.0, 0.0]
    keys = [("d", question, repeat) for question in range(3) for repeat in range(2)]
    questions = [key[:2] for key in keys]
    repeated = difference_of(Terms(first), Terms([0.0] * 6), Units(6, keys, questions))
    assert (repeated.n, repeated.clusters, repeated.n_differ) == (3, None, 2)
    clustered = Units(6, keys, ["a", "a", "a", "a", "b", "b"], clustered=True)
    assert difference_of(Terms(first), Terms([0.0] * 6), clustered).clusters == 2


def test_examples_that_differ_are_wins_and_losses():
    found = difference_of(Terms([1.0, 0.0, 1.0, 0.5]), Terms([0.0, 1.0, 0.0, 0.5]), Units(4))
    assert (found.wins, found.losses, found.n_differ) == (2, 1, 3)
