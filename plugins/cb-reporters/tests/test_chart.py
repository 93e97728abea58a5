"""The scatter of quality against tokens kept."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cb_reporters.chart import HEIGHT, WIDTH, Point, front, scatter

DOT = re.compile(r'<circle class="dot( best)?" cx="([\d.]+)" cy="([\d.]+)"')


def named(*pairs):
    return [
        Point(name, kept, quality) for name, (kept, quality) in zip("abcdefgh", pairs, strict=False)
    ]


def test_front():
    """The front holds what nothing dominates, equal points together, by tokens."""
    points = named((1.0, 0.9), (0.5, 0.8), (0.6, 0.8), (0.5, 0.8), (1.2, 0.7))
    assert [p.system for p in front(points)] == ["b", "d", "a"]


def test_points_are_placed_by_value():
    """More tokens is further right, more quality further up, and front points are filled."""
    found = DOT.findall(scatter(named((0.2, 0.5), (0.8, 0.9), (0.9, 0.4)), "quality"))
    left, mid, right = sorted((float(x), float(y), bool(best)) for best, x, y in found)
    assert mid[1] < left[1] < right[1]
    assert [filled for _, _, filled in (left, mid, right)] == [True, True, False]


def test_front_points_are_drawn_on_top():
    """A dominated point does not hide one of the front at the same place."""
    found = DOT.findall(scatter(named((0.5, 0.9), (0.5, 0.8999)), "quality"))
    assert [bool(best) for best, _, _ in found] == [False, True]


@given(st.lists(st.tuples(st.floats(0, 2), st.floats(-1, 100)), min_size=1, max_size=8))
def test_every_point_lies_inside_the_drawing(pairs):
    """Whatever the values, each point is drawn, within bounds."""
    found = DOT.findall(scatter(named(*pairs), "quality"))
    assert len(found) == len(pairs)
    assert all(0 < float(x) < WIDTH and 0 < float(y) < HEIGHT for _, x, y in found)


def test_labels_of_equal_points_do_not_cover_each_other():
    """Two systems at one spot are labelled on different sides."""
    drawn = scatter(named((0.5, 0.5), (0.5, 0.5)), "quality")
    places = re.findall(r'class="label" x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)"', drawn)
    assert len(set(places)) == 2


def test_ticks_are_round():
    """Axes are labelled at round values that span the points."""
    drawn = scatter(named((0.31, 0.52), (1.0, 0.71)), "quality (f1)")
    assert re.findall(r'class="tick"[^>]*>([^<]+)<', drawn) == [
        "0.50", "0.55", "0.60", "0.65", "0.70", "0.75", "20%", "40%", "60%", "80%", "100%",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["<script>", "\x1b[31m", '"&'])
def test_names_are_escaped(name):
    """A name is text in labels, tooltips and the description."""
    drawn = scatter([Point(name, 0.5, 0.5), Point("b", 0.6, 0.6)], name)
    assert "<script" not in drawn
    assert "\x1b" not in drawn
