"""What memories know, kept on disk, so that nothing is ingested twice."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FACTS = "ingest.json"
STATE = "state"


class Snapshots:
    """The snapshots of one kind of memory, by the address of the history it was fed with.

    A snapshot is a folder that is there as a whole or not at all: it is written beside its place
    and moved there. `ingest.json` says how far it goes and what that took.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextlib.contextmanager
    def writing(self, address: str, facts: dict[str, Any]) -> Iterator[Path]:
        """An empty folder for a memory to write into; what raises leaves nothing behind."""
        place = self._place(address)
        scratch = place.with_name(f".{place.name}.{os.getpid()}")
        shutil.rmtree(scratch, ignore_errors=True)
        (scratch / STATE).mkdir(parents=True)
        try:
            yield scratch / STATE
            (scratch / FACTS).write_text(json.dumps(facts), encoding="utf-8")
            shutil.rmtree(place, ignore_errors=True)
            scratch.rename(place)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def find(self, address: str) -> tuple[Path, dict[str, Any]] | None:
        """The snapshot of a history, with its facts; None where there is none to be read."""
        place = self._place(address)
        try:
            facts = json.loads((place / FACTS).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return (place / STATE, facts) if isinstance(facts, dict) else None

    def _place(self, address: str) -> Path:
        return self._folder / address.rpartition("#")[2]
