"""The roles a component can play: implement the methods, subclass nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from cb_memory.nouns import MemorySystem
from cbcore.results import EvalRow

__all__ = ["Evaluator", "MemorySystem", "Metric", "System"]


@runtime_checkable
class System(Protocol):
    """Takes an example and returns what became of it."""

    @property
    def name(self) -> str: ...

    def process(self, example: dict[str, Any]) -> dict[str, Any]: ...


@runtime_checkable
class Evaluator(Protocol):
    """Scores an output against the example it came from."""

    @property
    def name(self) -> str: ...

    def score(
        self, original: Mapping[str, Any], processed: Mapping[str, Any]
    ) -> dict[str, float]: ...


@runtime_checkable
class Metric(Protocol):
    """Aggregates the rows of one system."""

    @property
    def name(self) -> str: ...

    def compute(self, rows: Sequence[EvalRow]) -> dict[str, float]: ...
