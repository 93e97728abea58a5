"""The plugin keeps the contract between cb and its plugins."""

from __future__ import annotations

from cb_testing import check_plugin

PAIR = (
    {
        "id": 1,
        "context": "Ada wrote it. Bob read it.",
        "question": "Who wrote it?",
        "answer": "Ada",
    },
    {"context": "Ada wrote it.", "response": "Ada"},
)


def test_conformance():
    """Every rule of the kit holds for every component."""
    check_plugin("cb-metrics", examples={"context_retention": {"examples": [PAIR]}}).assert_ok()
