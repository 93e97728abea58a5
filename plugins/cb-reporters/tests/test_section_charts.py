"""Pictures of sections: every number is there, and text can only be text."""

from __future__ import annotations

import re

from cb_reporters.section_charts import drawn

HEAT = {
    "kind": "heat map",
    "x": "depth",
    "y": "length",
    "columns": ["0%", "50%"],
    "panels": [{"title": "<b>me</b>", "rows": ["1,000"], "values": [[1.0, None]]}],
}
CURVES = {
    "kind": "curves",
    "x": "tokens",
    "y": "f1",
    "series": [
        {
            "name": "<i>",
            "points": [
                {"x": 10, "y": 0.5, "low": 0.4, "high": 0.6, "label": "a 10"},
                {"x": 20, "y": 0.75, "low": None, "high": None, "label": "a 20"},
                {"x": None, "y": 0.1},
            ],
        }
    ],
}


def test_a_heat_map_has_a_cell_for_each_value():
    """A value that is missing has no colour, and titles are escaped."""
    picture = drawn(HEAT)
    assert len(re.findall(r'fill="rgb', picture)) == 1
    assert "1,000, 0%: 100%" in picture
    assert "&lt;b&gt;me" in picture
    assert "<b>" not in picture


def test_curves_have_their_points_and_intervals():
    """Points without a place are left out."""
    picture = drawn(CURVES)
    assert picture.count("<circle") == 2
    assert "a 20: 0.750 at 20" in picture
    assert "<i>" not in picture


def test_scores_are_drawn_from_zero_to_one():
    """By round numbers, also where an interval reaches further."""
    points = [{"x": 5, "y": 0.1, "low": -0.03, "high": 1.2, "label": "a"}]
    picture = drawn({**CURVES, "series": [{"name": "a", "points": points}]})
    ticks = re.findall(r'text-anchor="end"[^>]*>([^<]+)<', picture)
    assert ticks == ["0", "0.25", "0.5", "0.75", "1"]
    below = drawn({**CURVES, "series": [{"name": "a", "points": [{"x": 5, "y": -0.3}]}]})
    assert re.findall(r'text-anchor="end"[^>]*>([^<]+)<', below)[0] == "-0.3"


def test_what_is_no_picture_is_left_out():
    """Nothing, an unknown kind, and curves without points."""
    assert drawn(None) is None
    assert drawn({"kind": "pie"}) is None
    assert drawn({"kind": "curves", "series": []}) is None


def test_no_style_attribute_is_needed():
    """The page's policy forbids them."""
    assert "style=" not in drawn(HEAT) + drawn(CURVES)
