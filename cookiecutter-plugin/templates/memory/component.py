"""A memory that finds again what shares words with the question."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from cbcore.memory import Item, QueryResult, Retrieved

_WORD = re.compile(r"[^\W_]+")
_FILE = "said.json"


class {{ cookiecutter.__class }}:
    """Keeps what was said, and gives back the `k` items that share most words with a question."""

    # The name changes nothing of what it returns, so that renaming it calls nothing again.
    name_is_label = True
    # It finds and does not answer: chain a reader behind it. Leave this out if yours answers.
    answers = False

    def __init__(self, k: int = 5, *, name: str | None = None) -> None:
        if k < 1:
            raise ValueError(f"k is {k}: it must be at least 1")
        self.k = k
        self.name = name or f"{{ cookiecutter.__name }}:k={k}"
        # Of this instance alone: each history gets one, and they run beside each other.
        self._said: list[tuple[str, str]] = []

    def reset(self) -> None:
        """Forget everything."""
        self._said = []

    def ingest(self, items: Sequence[Item]) -> None:
        """Take in one session. Return an `IngestResult` to tell what it cost."""
        self._said += [(item.id, item.text) for item in items]

    def query(self, question: str, budget: int | None = None) -> QueryResult:
        """The items that share most words with the question, best first, within the budget."""
        asked = _words(question)
        scored = [(len(asked & _words(text)), name, text) for name, text in self._said]
        best = sorted((one for one in scored if one[0]), key=lambda one: -one[0])[: self.k]
        found, left = [], budget
        for score, name, text in best:
            if left is not None:
                left -= len(text.split()) * 2  # more than its tokens, mostly
                if left < 0:
                    break
            # The id says whose words they are, so that what was found can be scored.
            found.append(Retrieved(text, id=name, score=float(score)))
        return QueryResult(contexts=found)

    def save(self, folder: Path) -> None:
        """Write what it knows, so that an interrupted run need not feed it again."""
        (folder / _FILE).write_text(json.dumps(self._said), encoding="utf-8")

    def load(self, folder: Path) -> None:
        """Read it back."""
        said = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        self._said = [(name, text) for name, text in said]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))
