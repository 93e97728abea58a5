"""The plugin keeps the contract between cb and its plugins."""

from __future__ import annotations

from typing import Any

from cb_testing import check_plugin

EXAMPLE = {
    "id": "e",
    "question": "Which city is the capital of France?",
    "answer": "Paris. It lies on the Seine.",
    "reference_contexts": ["Paris is the capital."],
    "reference_context_ids": ["p"],
}
OUTPUT = {
    "response": "Paris",
    "contexts": ["Paris is the capital.", "Rome is old."],
    "context_ids": ["p", "r"],
}
PAIRS = [(EXAMPLE, OUTPUT)]


def judge(prompt: str) -> tuple[int, str]:
    """Relevant is what names Paris."""
    return int("Paris" in prompt), "it names Paris"


def test_conformance(server: Any) -> None:
    """Every rule of the kit holds for every component."""
    answers = {"response_column": "x", "ground_truth_column": "x"}
    column = {"question_column": "other", "contexts_column": "other"}
    examples: dict[str, Any] = {
        "context_precision": {"variants": {"k": [2], "ground_truth_column": "x", **column}},
        "context_utilization": {
            "params": {"judge": judge},
            "examples": PAIRS,
            "variants": {"judge": max, "response_column": "x", **column},
        },
        "context_precision_nonllm": {"examples": PAIRS, "variants": {"measure": "jaro"}},
        "context_precision_ids": {"examples": PAIRS},
        "context_recall": {"examples": PAIRS, "variants": {"measure": "jaro"}},
        "semantic_similarity": {
            "params": {"base_url": server.url, "model": "m"},
            "examples": PAIRS,
            "variants": {"model": "other", "threshold": 0.5, **answers},
        },
    }
    check_plugin("cb-ragas-precision", examples=examples).assert_ok()
