"""The simple case: one class and one line of TOML for each component."""

from __future__ import annotations

from typing import Any


class Length:
    """The number of characters of the response, as a score."""

    name = "good_length"
    applies_to = ("good-task",)
    emits = ("length",)

    def __init__(self, cap: int = 100) -> None:
        self.cap = cap

    def score(self, original: dict[str, Any], processed: dict[str, Any]) -> dict[str, float]:
        return {"length": float(min(len(processed.get("response") or ""), self.cap))}


class Count:
    """The number of rows."""

    name = "good_count"

    def compute(self, rows: list[Any]) -> dict[str, float]:
        return {"good_count": float(len(rows))}
