"""The kind of component that this plugin brings: memories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cbcore.components import Kind


def _find_problem(value: Any) -> str | None:
    """What an object lacks to be a memory system; None if nothing."""
    absent = [m for m in ("reset", "ingest", "query") if not callable(getattr(value, m, None))]
    if absent:
        return f"give it {' and '.join(f'{method}()' for method in absent)}"
    named = isinstance(getattr(value, "name", None), str)
    return None if named else "give it a `name`, a text that is not empty"


MEMORY = Kind(
    name="memory",
    offer="memory systems: fed with a history, then asked about it",
    target="It makes an object with `name`, `reset`, `ingest` and `query`; see `cb_memory.nouns`.",
    problem=_find_problem,
    is_tested=True,
    example="cb run --memory {spec} --dataset locomo:sample",
    hint="It is a memory. Use --memory, or in Python memory=[…] of evaluate(); "
    "in programs for context-bench, evaluate_memory()",
    template=Path(__file__).parent / "template",
    rules="cb_memory.conformance",
)
