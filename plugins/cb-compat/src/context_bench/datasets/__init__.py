"""Loaders that return lists of examples: `load_jsonl`, and one for every dataset by name."""

from __future__ import annotations

from typing import Any

from context_bench.datasets.local import load_jsonl

__all__ = ["load_jsonl"]

_MODULES = frozenset(
    {
        *("agent_traces", "code", "huggingface", "ifeval", "instruction", "knowledge"),
        *("longcontext", "multi_turn", "nli", "qa", "reasoning", "summarization"),
    }
)


def __getattr__(name: str) -> Any:
    """A module of loaders, or a loader."""
    if name in _MODULES:
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    from context_bench.datasets.loaders import loader

    return loader(name)
