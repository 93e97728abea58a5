"""The plugin keeps the contract between cb and its plugins."""

from __future__ import annotations

from cbcore.testing import check_plugin


def test_conformance() -> None:
    """Every rule of the kit holds for every component."""
    pairs = [({"choices": ["Paris", "Rome"], "answer": "B"}, {"response": "The answer is B."})]
    check_plugin(
        "cb-multiple-choice", examples={"multiple_choice": {"examples": pairs}}
    ).assert_ok()
