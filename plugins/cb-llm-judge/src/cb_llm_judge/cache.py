"""Verdicts that were already given, in a file beside the run's store."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from cb_llm_judge.verdicts import Verdict
from cbcore.exceptions import StoreError

FILE_NAME = "judge-verdicts.sqlite"
_SCHEMA = "CREATE TABLE IF NOT EXISTS verdicts (key BLOB PRIMARY KEY, verdict TEXT NOT NULL)"


class VerdictCache:
    """Verdicts by the digest of what was asked of whom. Without a folder, only in memory.

    A verdict is on disk when `put` returns. Used from the thread that opened it.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @classmethod
    @contextlib.contextmanager
    def open(cls, folder: str | Path | None) -> Iterator[VerdictCache]:
        """The cache in a folder, which is made if need be."""
        where = ":memory:" if folder is None else str(Path(folder) / FILE_NAME)
        try:
            if folder is not None:
                Path(folder).mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(where, timeout=30, isolation_level=None)
            with contextlib.closing(connection):
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=NORMAL")
                connection.execute(_SCHEMA)
                yield cls(connection)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"the judge's verdicts in {where} cannot be kept: {error}",
                hint="remove the file, or run with --no-cache",
            ) from error

    def get(self, key: bytes) -> Verdict | None:
        """The verdict given before, or None."""
        found = self._connection.execute("SELECT verdict FROM verdicts WHERE key = ?", (key,))
        for (text,) in found:
            value, reason = json.loads(text)
            return Verdict(value, reason)
        return None

    def put(self, key: bytes, verdict: Verdict) -> None:
        """Keep a verdict."""
        self._connection.execute(
            "INSERT OR REPLACE INTO verdicts VALUES (?, ?)",
            (key, json.dumps([verdict.value, verdict.reason])),
        )
