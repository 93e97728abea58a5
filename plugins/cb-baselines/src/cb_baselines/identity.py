"""The control: what happens when nothing happens."""

from __future__ import annotations

from typing import Any

from cbcore.introspection import attributes_without


class Identity:
    """Returns the example unchanged: the control every other system is compared with."""

    example = "identity | extractive"
    identity = attributes_without("name")

    def __init__(self, *, name: str | None = None) -> None:
        self.name = name or "identity"

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        """A shallow copy of the example."""
        return dict(example)
