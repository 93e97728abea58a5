"""Memory systems in cb: each ingests a history, is asked about it, and is measured.

evaluate(dataset="locomo:sample", memories=["bm25:k=10 | extractive"])
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cb_memory.memories.hybrid import Hybrid as Hybrid
    from cb_memory.memories.lexical import Bm25 as Bm25
    from cb_memory.memories.recency import Full as Full
    from cb_memory.memories.recency import Window as Window
    from cb_memory.memories.semantic import Embedding as Embedding
    from cb_memory.memories.summary import Summary as Summary
    from cb_memory.nouns import ConversationTurn as ConversationTurn
    from cb_memory.nouns import Declaration as Declaration
    from cb_memory.nouns import DocumentChunk as DocumentChunk
    from cb_memory.nouns import Event as Event
    from cb_memory.nouns import History as History
    from cb_memory.nouns import IngestResult as IngestResult
    from cb_memory.nouns import Item as Item
    from cb_memory.nouns import MemorySystem as MemorySystem
    from cb_memory.nouns import QueryResult as QueryResult
    from cb_memory.nouns import Question as Question
    from cb_memory.nouns import Retrieved as Retrieved
    from cb_memory.scoring.locomo import locomo_f1 as locomo_f1

_HOMES = {
    "Bm25": "memories.lexical",
    "Embedding": "memories.semantic",
    "Full": "memories.recency",
    "Hybrid": "memories.hybrid",
    "Summary": "memories.summary",
    "Window": "memories.recency",
    "locomo_f1": "scoring.locomo",
    **dict.fromkeys(
        (
            *("ConversationTurn", "Declaration", "DocumentChunk", "Event", "History", "Item"),
            *("IngestResult", "MemorySystem", "QueryResult", "Question", "Retrieved"),
        ),
        "nouns",
    ),
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 - a list of texts


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return resolve_name(f"{__name__}.{_HOMES[name]}:{name}")
