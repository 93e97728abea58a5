"""Systems in a file of the user: each works on examples of `cb` and of context-bench."""

from __future__ import annotations

from typing import Any

RESPONSE = "The capital is Paris."


class Constant:
    """Answers the same, and leaves the context alone."""

    name = "constant"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        return {**example, "response": RESPONSE}


class Halving:
    """Keeps the first half of the context's words, and answers the same."""

    name = "halving"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        words = example["context"].split()
        kept = " ".join(words[: len(words) // 2])
        return {**example, "context": kept, "response": RESPONSE}
