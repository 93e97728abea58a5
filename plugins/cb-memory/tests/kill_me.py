"""A memory that writes down each call, and takes its time: for a run that is killed."""

from __future__ import annotations

import os
import time
from pathlib import Path

from cb_memory.nouns import QueryResult, Retrieved

LOG = Path(os.environ["KILL_LOG"])
PAUSE_S = float(os.environ.get("KILL_PAUSE", "0.05"))


def note(text):
    with LOG.open("a") as log:
        log.write(f"{text}\n")


class Plain:
    """Cannot be saved."""

    name = "plain"

    def __init__(self):
        self._items = []

    def reset(self):
        self._items = []

    def ingest(self, items):
        note(f"ingest {items[0].session} of {min(i.speaker for i in items)}")
        time.sleep(PAUSE_S)
        self._items += items

    def query(self, question, budget=None):
        note(f"query {question}")
        time.sleep(PAUSE_S)
        return QueryResult(answer="x", contexts=[Retrieved(i.text, id=i.id) for i in self._items])


class Saved(Plain):
    """Can be saved, after every session."""

    name = "saved"

    def save(self, folder):
        import pickle

        (folder / "items").write_bytes(pickle.dumps(self._items))

    def load(self, folder):
        import pickle

        self._items = pickle.loads((folder / "items").read_bytes())
