"""Histories that are made by hand, and memories that tell what was done to them."""

from __future__ import annotations

from typing import Any

import pytest

from cb_memory.nouns import ConversationTurn, History


@pytest.fixture
def history() -> History:
    """Three sessions of two turns each."""
    said = [
        ("one", "Ada", "I adopted a grey whippet called Pepper."),
        ("one", "Max", "Lovely, a dog at last!"),
        ("two", "Ada", "Pepper ran twelve kilometres in Sintra."),
        ("two", "Max", "My teapot sold for forty euros."),
        ("three", "Ada", "I teach biology now."),
        ("three", "Max", "And I moved to Porto."),
    ]
    return History(
        [
            ConversationTurn(content=text, id=f"{s}:{n}", speaker=who, session=s, time="2024-05-01")
            for n, (s, who, text) in enumerate(said)
        ],
        "hand",
    )


@pytest.fixture
def examples(history: History) -> list[dict[str, Any]]:
    """Two questions about each of two histories."""
    other = History(
        [ConversationTurn(content=f"The harbour has {n} ships.", id=f"x:{n}") for n in range(4)],
        "other",
    )
    asked = [("a", "Which dog?", history), ("b", "Who teaches?", history)]
    asked += [("c", "How many ships?", other), ("d", "Which harbour?", other)]
    return [
        {
            "id": name,
            "question": question,
            "answer": "x",
            "context": question,
            "history": kept,
            "cluster": str(kept),
            "evidence": [kept.items[0].id],
        }
        for name, question, kept in asked
    ]
