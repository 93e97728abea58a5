"""The work of both sides of the retrieval benchmark. Standard library only."""

from __future__ import annotations

import random
from typing import Any

import workload

CHARACTERS = 260


def samples(n: int, n_contexts: int = 5, n_references: int = 2) -> list[dict[str, Any]]:
    """Questions with retrieved and reference contexts; every third context is like a reference."""
    words, source = workload.vocabulary(), random.Random(7)

    def text() -> str:
        return " ".join(source.choices(words, k=60))[:CHARACTERS]

    made = []
    for index in range(n):
        references = [text() for _ in range(n_references)]
        contexts = []
        for rank in range(n_contexts):
            if (index + rank) % 3:
                contexts.append(text())
            else:
                reference = source.choice(references)
                contexts.append(f"{reference[:200]} {text()}"[:CHARACTERS])
        made.append(
            {
                "id": index,
                "question": f"question {index}?",
                "context": "",
                "answer": "Paris",
                "contexts": contexts,
                "reference_contexts": references,
            }
        )
    return made
