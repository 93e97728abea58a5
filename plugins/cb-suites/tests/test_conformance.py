"""The plugin keeps the contract between cb and its plugins."""

from __future__ import annotations

from cb_testing import check_plugin


def test_conformance():
    """Every rule of the kit holds for every component."""
    pair = ({"answers": ["a red kite"]}, {"response": "It was a red kite."})
    given = {
        "longbench_score": {"examples": [pair]},
        "helmet_score": {"examples": [({"answer": ["a red kite"]}, pair[1])]},
    }
    check_plugin("cb-suites", examples=given).assert_ok()
