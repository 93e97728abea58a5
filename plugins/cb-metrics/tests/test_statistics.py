"""`score_statistics`: what a column of scores amounts to.

The table was worked out with `pandas.Series.describe` on the scored rows: its `std` is that of
a sample.
"""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_metrics import ScoreStatistics
from cbcore.results import EvalRow

ERRORED = EvalRow("s", 9, {"f1": 1.0}, error="TimeoutError")
UNSCORED = EvalRow("s", 8, missing={"f1": "no gold answer"})


def rows(*values):
    return [EvalRow("s", number, {"f1": value}) for number, value in enumerate(values)]


@pytest.mark.parametrize(
    ("given_rows", "expected"),
    [
        (rows(0.0, 0.5, 1.0), (0.5, 0.5, 0.5, 0.0, 1.0, 3, 0, 1.0)),
        (rows(0.2, 0.4, 0.9, 1.0), (0.625, 0.65, 0.386221, 0.2, 1.0, 4, 0, 1.0)),
        ([*rows(0.25), UNSCORED], (0.25, 0.25, math.nan, 0.25, 0.25, 1, 1, 0.5)),
        ([*rows(1.0, 0.0), UNSCORED, ERRORED], (0.5, 0.5, 0.707107, 0.0, 1.0, 2, 1, 0.5)),
        ([ERRORED], (math.nan,) * 5 + (0, 0, 0.0)),
        ([], (math.nan,) * 5 + (0, 0, math.nan)),
    ],
)
def test_figures_by_table(given_rows, expected):
    """Missing rows are counted and never a zero; errored ones lower only the coverage."""
    found = ScoreStatistics().compute(given_rows)
    assert list(found.values()) == pytest.approx(expected, abs=1e-6, nan_ok=True)


@given(st.lists(st.floats(0, 1), min_size=2))
def test_figures_agree_with_the_standard_library(values):
    """Mean, median and sample deviation are the textbook ones, and lie between the extremes."""
    found = ScoreStatistics().compute(rows(*values))
    assert found["score_std"] == pytest.approx(statistics.stdev(values))
    assert found["score_min"] <= found["score_median"] <= found["score_max"]
    assert found["score_min"] - 1e-9 <= found["score_mean"] <= found["score_max"] + 1e-9


def test_the_score_can_be_chosen():
    """`score_field` names the score, and an empty name is refused."""
    row = EvalRow("s", 1, {"f1": 0.0, "context_precision": 1.0})
    assert ScoreStatistics("context_precision").compute([row])["score_mean"] == 1.0
    with pytest.raises(ValueError, match="score_field must be a non-empty name"):
        ScoreStatistics("")
