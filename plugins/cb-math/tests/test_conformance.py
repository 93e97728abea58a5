"""The plugin keeps the contract between cb and its plugins."""

from __future__ import annotations

from cbcore.testing import Given, check_plugin


def test_conformance():
    """Every rule of the kit holds for every component."""
    examples = (({"id": 1, "question": "6 × 7?", "answer": "42"}, {"response": "It is 42."}),)
    given = Given(examples=examples)
    check_plugin("cb-math", examples={"math_equivalence": given}).assert_ok()
