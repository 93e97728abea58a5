"""What memories of context-bench are fed with and return, by the names it had for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from cb_memory import nouns
from cb_memory.nouns import MemorySystem

__all__ = (
    "BenchmarkExample",
    "BenchmarkQuery",
    "ConversationTurn",
    "Declaration",
    "DocumentChunk",
    "IngestResult",
    "MemoryItem",
    "MemorySystem",
    "PlatformEvent",
    "QueryResult",
)


@dataclass
class ConversationTurn:
    """What somebody said."""

    content: str
    role: str = "user"
    timestamp: str | None = None
    speaker: str | None = None
    session_id: str | None = None


@dataclass
class DocumentChunk:
    """A piece of a document."""

    content: str
    document_id: str = ""
    position: int = 0
    source: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class PlatformEvent:
    """Something that happened on a platform."""

    content: str
    platform: str = ""
    timestamp: str | None = None
    author: str | None = None
    channel: str | None = None
    event_type: str | None = None


@dataclass
class Declaration:
    """A fact that was stated outright."""

    key: str
    value: str
    source_turn_id: str | None = None


MemoryItem: TypeAlias = ConversationTurn | DocumentChunk | PlatformEvent | Declaration


@dataclass
class IngestResult:
    """What taking items in took."""

    num_items: int = 0
    latency_ms: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)


@dataclass
class QueryResult:
    """An answer."""

    answer: str
    total_latency_ms: float = 0.0
    context_tokens: int = 0
    details: dict[str, Any] = field(default_factory=dict)


@dataclass
class BenchmarkQuery:
    """A question with its gold."""

    question: str
    answer: str
    query_type: str = ""
    evidence: Sequence[str] | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class BenchmarkExample:
    """A history, and the questions about it."""

    id: str
    items: Sequence[MemoryItem]
    queries: Sequence[BenchmarkQuery]
    dataset: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


def as_item(value: Any, name: str) -> nouns.Item:
    """An item, or a turn written as a dict, as `cb` has them; all in one session."""
    if isinstance(value, DocumentChunk):
        return nouns.DocumentChunk(
            content=value.content,
            id=name,
            document=value.document_id,
            position=value.position,
            source=value.source or "",
        )
    if isinstance(value, PlatformEvent):
        return nouns.Event(
            content=value.content,
            id=name,
            platform=value.platform,
            author=value.author or "",
            channel=value.channel or "",
            event_type=value.event_type or "",
            time=value.timestamp,
        )
    if isinstance(value, Declaration):
        return nouns.Declaration(
            key=value.key, value=value.value, id=name, source=value.source_turn_id or ""
        )
    said: Mapping[str, Any] = value if isinstance(value, Mapping) else vars(value)
    return nouns.ConversationTurn(
        content=str(said.get("content") or ""),
        id=name,
        role=str(said.get("role") or ""),
        speaker=str(said.get("speaker") or ""),
        time=said.get("timestamp"),
    )
