"""The plugin keeps the contract between cb and its plugins."""

from __future__ import annotations

from cbcore.testing import Given, check_plugin

EXAMPLES = (
    (
        {"id": 1, "question": "q", "answer_calls": [{"name": "f", "arguments": {"a": 1}}]},
        {"tool_calls": [{"name": "f", "arguments": {"a": 1}}]},
    ),
)


def test_conformance():
    """Every rule of the kit holds for every component."""
    given = Given(examples=EXAMPLES)
    check_plugin("cb-tool-use", examples={"tool_call_match": given}).assert_ok()
