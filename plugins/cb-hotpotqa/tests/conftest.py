"""A row in the schema of the hub, for tests to change."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def row() -> dict[str, Any]:
    return {
        "id": "r1",
        "question": "Who built the ship of Ada Moss?",
        "answer": "Bo Lund",
        "type": "bridge",
        "level": "hard",
        "supporting_facts": {"title": ["Ada Moss", "Tern"], "sent_id": [1, 0]},
        "context": {
            "title": ["Tern", "Ada Moss", "Gull"],
            "sentences": [
                ["The Tern was built by Bo Lund."],
                ["Ada Moss was a sailor.", " Her ship was the Tern. ", ""],
                ["The Gull is a bird", "of the coast."],
            ],
        },
    }
