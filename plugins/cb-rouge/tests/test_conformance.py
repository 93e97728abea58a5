"""The plugin keeps the contract between cb and its plugins."""

from __future__ import annotations

from cbcore.testing import check_plugin


def test_conformance() -> None:
    """Every rule of the kit holds for every component."""
    pair = ({"answer": "the cat sat"}, {"response": "the cat ran"})
    check_plugin("cb-rouge", examples={"summarization_quality": {"examples": [pair]}}).assert_ok()
