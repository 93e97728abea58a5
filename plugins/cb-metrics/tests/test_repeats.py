"""pass@k and pass^k over repeated attempts."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_metrics import PassAtK, pass_at_k, pass_hat_k
from cbcore.results import EvalRow


def attempts(example_id, *scores, dataset="d"):
    return [
        EvalRow("s", example_id, {} if score is None else {"f1": score}, dataset=dataset, repeat=i)
        for i, score in enumerate(scores)
    ]


@pytest.mark.parametrize(
    ("n", "c", "k", "at", "hat"),
    [
        # 1 - C(n-c, k)/C(n, k), Chen et al. 2021 (arXiv 2107.03374), worked by hand.
        (5, 2, 1, 0.4, 0.4),
        (5, 2, 2, 0.7, 0.1),
        (5, 0, 3, 0.0, 0.0),
        (5, 5, 3, 1.0, 1.0),
        (10, 3, 5, 1 - 21 / 252, 0.0),
        (4, 3, 2, 1.0, 0.5),
    ],
)
def test_the_estimators_by_table(n, c, k, at, hat):
    """Both match their formulas."""
    assert pass_at_k(n, c, k) == pytest.approx(at)
    assert pass_hat_k(n, c, k) == pytest.approx(hat)


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.integers(1, 7))
def test_the_estimators_equal_counting_every_draw(passes, k):
    """Drawing k attempts in all possible ways gives the same chances."""
    if k > len(passes):
        return
    draws = list(itertools.combinations(passes, k))
    assert pass_at_k(len(passes), sum(passes), k) == pytest.approx(
        sum(map(any, draws)) / len(draws)
    )
    assert pass_hat_k(len(passes), sum(passes), k) == pytest.approx(
        sum(map(all, draws)) / len(draws)
    )


def test_examples_are_averaged():
    """Each example counts once, however many attempts it had."""
    rows = [*attempts(1, 1.0, 0.0), *attempts(2, 1.0, 1.0)]
    assert PassAtK().compute(rows) == {"pass_at_k": 1.0, "pass_hat_k": 0.5, "k": 2.0}
    assert PassAtK(k=1).compute(rows) == {"pass_at_k": 0.75, "pass_hat_k": 0.75, "k": 1.0}


def test_ids_of_two_datasets_are_kept_apart():
    """Example 1 of one dataset is not example 1 of another."""
    rows = [*attempts(1, 1.0, 1.0, dataset="a"), *attempts(1, 0.0, 0.0, dataset="b")]
    assert PassAtK().compute(rows)["pass_at_k"] == 0.5


def test_errored_and_unscored_attempts_do_not_count():
    """They are no failures; an example with too few attempts left is missing."""
    rows = [*attempts(1, 1.0, None), *attempts(2, 1.0, 1.0)]
    rows.append(EvalRow("s", 2, error="boom", dataset="d"))
    found = PassAtK(k=2).compute(rows)
    assert (found["pass_at_k"], found["pass_at_k_missing"]) == (1.0, 1.0)


def test_nothing_scored_is_not_a_number():
    """No rows, or none with the score."""
    assert math.isnan(PassAtK().compute([])["pass_at_k"])
    assert math.isnan(PassAtK().compute(attempts(1, None))["pass_hat_k"])


def test_k_below_one_is_refused():
    """The message says the value."""
    with pytest.raises(ValueError, match="at least 1, not 0"):
        PassAtK(k=0)
