"""Stores looked at from outside, by their documented tables."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FILE = "runs.sqlite3"


def query(folder: Path | str, statement: str, values: Sequence[Any] = ()) -> list[Any]:
    """What a statement finds in the store of a folder; what it changes is committed."""
    with contextlib.closing(sqlite3.connect(Path(folder) / FILE, timeout=60)) as database:
        found = database.execute(statement, values).fetchall()
        database.commit()
    return found


def count(folder: Path | str, table: str = "outputs") -> int:
    """How many outputs or scores are stored; none if there are no tables yet."""
    if not (Path(folder) / FILE).exists():
        return 0
    if not query(folder, "SELECT 1 FROM sqlite_master WHERE name=?", (table,)):
        return 0
    return int(query(folder, f"SELECT count(*) FROM {table}")[0][0])


def check(folder: Path | str) -> None:
    """Assert that the file of a store is sound."""
    assert query(folder, "PRAGMA integrity_check") == [("ok",)]
