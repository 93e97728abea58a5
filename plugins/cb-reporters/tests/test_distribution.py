"""The distribution of scores: figures, histogram and box plot.

Quartiles were taken from `numpy.percentile`, whose default is the same linear interpolation.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_reporters import Html
from cb_reporters.distribution import Box, Distribution, cells, distributions_of, drawing
from cbcore.results import EvalResult, EvalRow

VALUES = st.lists(st.floats(-10, 10), min_size=1)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((0.0, 0.5, 1.0), ["0.500", "0.500", "0.500", "0.000", "1.000", "3", "2"]),
        ((0.25,), ["0.250", "0.250", "–", "0.250", "0.250", "1", "2"]),
        ((), ["–", "–", "–", "–", "–", "0", "2"]),
    ],
)
def test_figures_by_table(values, expected):
    """What cannot be computed is a dash; scored and missing rows are counted."""
    shown = list(cells(Distribution("s", values, missing=2)))
    assert [header for header, _, _ in shown] == [
        *("mean", "median", "std", "min", "max", "scored", "missing")
    ]
    assert [text for _, text, _ in shown] == expected


@pytest.mark.parametrize(
    ("values", "quartiles", "whiskers", "outliers"),
    [
        ((1.0,), (1.0, 1.0, 1.0), (1.0, 1.0), ()),
        ((1.0, 2.0, 3.0, 4.0), (1.75, 2.5, 3.25), (1.0, 4.0), ()),
        ((1.0, 2.0, 3.0, 4.0, 100.0, 100.0), (2.25, 3.5, 76.0), (1.0, 100.0), ()),
        ((0.0, 5.0, 5.0, 5.0, 9.0), (5.0, 5.0, 5.0), (5.0, 5.0), (0.0, 9.0)),
    ],
)
def test_box_plots_by_table(values, quartiles, whiskers, outliers):
    """Whiskers end at the last value within 1.5 times the box; the rest are outliers."""
    assert Box.of(values) == Box(quartiles, whiskers, outliers)


@given(VALUES)
def test_every_value_is_in_one_bin(values):
    """Nothing is lost at the edges, the highest value included."""
    found = Distribution("s", tuple(values), 0)
    assert sum(found.bins(min(0.0, *values), max(1.0, *values))) == len(values)


@given(VALUES)
def test_the_parts_of_a_box_are_in_order(values):
    """Whisker, quartiles, whisker: from left to right."""
    box = Box.of(values)
    drawn = [box.whiskers[0], *box.quartiles, box.whiskers[1]]
    assert all(a <= b + 1e-9 for a, b in zip(box.quartiles, box.quartiles[1:], strict=False))
    assert drawn[0] <= drawn[-1]


def test_the_score_of_the_run_comes_first():
    """Then the others as they appear; errored rows count nowhere."""
    rows = [
        EvalRow("a", 1, {"other": 1.0, "f1": 0.5}),
        EvalRow("a", 2, {"f1": 1.0}),
        EvalRow("a", 3, error="gone"),
    ]
    found = distributions_of(EvalResult(rows, config={"score_field": "f1"}))
    assert list(found) == ["f1", "other"]
    assert found["f1"] == [Distribution("a", (0.5, 1.0), 0)]
    assert found["other"] == [Distribution("a", (1.0,), 1)]


def test_a_drawing_has_a_histogram_and_a_box_for_each_system():
    """Bars only where there are rows; a system without scores is left out."""
    found = [
        Distribution("a", (0.05, 0.05, 0.95), 0),
        Distribution("b", (), 3),
        Distribution("<c>", (0.5,), 0),
    ]
    svg = drawing("f1", found, 0)
    assert len(re.findall(r'class="bar"', svg)) == 3
    assert len(re.findall(r'class="box"', svg)) == 2
    assert "&lt;c&gt;" in svg
    assert "<c>" not in svg
    assert drawing("f1", [found[1]], 0) is None


def test_the_page_shows_other_scores_to_be_opened():
    """One score is drawn at once, the others in details."""
    rows = [EvalRow("a", n, {"f1": n / 4, "recall": 1.0}) for n in range(5)]
    page = Html().render(EvalResult(rows, config={"score_field": "f1"}))
    assert "Distribution of <bdi>f1</bdi>" in page
    assert "<summary><bdi>recall</bdi></summary>" in page


@pytest.mark.parametrize(
    ("values", "is_drawn"),
    [((1.7e308,), True), ((1.7e308, 1.7e308), True), ((1.7e308, -1.7e308), False)],
)
def test_values_too_far_apart_for_an_axis_are_not_drawn(values, is_drawn):
    """Their figures are there all the same."""
    rows = [EvalRow("s", i, scores={"x": value}) for i, value in enumerate(values)]
    ((score, found),) = distributions_of(EvalResult(rows=rows)).items()
    assert (drawing(score, found, 1) is not None) == is_drawn
    assert "1.7e+308" in Html().render(EvalResult(rows=rows))
