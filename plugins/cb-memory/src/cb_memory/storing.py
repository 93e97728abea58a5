"""What every memory here has in common: the items it was fed with, kept and saved."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs

from cb_memory.nouns import Item, item_from
from cbcore.provenance import describe

ITEMS = "items.jsonl"


class Kept:
    """Keeps the items in their order, and can be saved. What searches them overrides `_add`."""

    answers = False
    """Whether it answers by itself; what only finds is judged by what it found."""

    name: str

    def __init__(self) -> None:
        self._items: list[Item] = []

    @property
    def identity(self) -> dict[str, Any]:
        """Its parameters without its name, which changes nothing of what it finds."""
        params: dict[str, Any] = describe(self, name=self.name)["params"]
        return params

    @property
    def items(self) -> Sequence[Item]:
        """All that was taken in."""
        return self._items

    def reset(self) -> None:
        """Forget everything."""
        self._items = []

    def ingest(self, items: Sequence[Item]) -> None:
        """Keep the items."""
        begin = len(self._items)
        self._items += items
        self._add(begin)

    def _add(self, begin: int) -> None:
        """Make the items from this place on known to the search."""

    def save(self, folder: Path) -> None:
        """Write the items, one in each line."""
        with (folder / ITEMS).open("w", encoding="utf-8") as lines:
            for item in self._items:
                lines.write(json.dumps({"kind": item.kind, **attrs.asdict(item)}) + "\n")

    def load(self, folder: Path) -> None:
        """Read the items, and index them."""
        self.reset()
        with (folder / ITEMS).open(encoding="utf-8") as lines:
            items = [item_from(json.loads(line)) for line in lines]
        Kept.ingest(self, items)
