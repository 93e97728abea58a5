"""Memory systems in cb: fed with a history, asked about it, and measured rightly.

from cb_memory import Memories, locomo_f1

evaluate(datasets=["locomo:sample"], extensions=[Memories(["bm25:k=10 | extractive"])])
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cb_memory.extension import Memories as Memories
    from cb_memory.memories.hybrid import Hybrid as Hybrid
    from cb_memory.memories.lexical import Bm25 as Bm25
    from cb_memory.memories.recency import Full as Full
    from cb_memory.memories.recency import Window as Window
    from cb_memory.memories.semantic import Embedding as Embedding
    from cb_memory.memories.summary import Summary as Summary
    from cb_memory.scoring.locomo import locomo_f1 as locomo_f1

_HOMES = {
    "Bm25": "cb_memory.memories.lexical",
    "Embedding": "cb_memory.memories.semantic",
    "Full": "cb_memory.memories.recency",
    "Hybrid": "cb_memory.memories.hybrid",
    "Memories": "cb_memory.extension",
    "Summary": "cb_memory.memories.summary",
    "Window": "cb_memory.memories.recency",
    "locomo_f1": "cb_memory.scoring.locomo",
}

__all__ = ["Bm25", "Embedding", "Full", "Hybrid", "Memories", "Summary", "Window", "locomo_f1"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'cb_memory' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
