"""The store: what systems returned and what evaluators scored, kept in one SQLite file.

Outputs and scores are content-addressed and kept apart. Writes are committed in batches, by
number and by time; what was committed survives `kill -9`, and several processes may use one
store at once.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path

from cbcore._runs import RunRecord
from cbcore.exceptions import StoreError
from cbcore.identity import canonical_bytes, from_bytes
from cbcore.results import json_safe

SCHEMA_VERSION = 1
FILE_NAME = "store.sqlite3"
TABLES = ("outputs", "scores")

_BATCH_ROWS = 2048
_BATCH_SECONDS = 1.0
_KEYS_PER_QUERY = 256


class Store:
    """Keyed values in two tables. Used from the thread that opened it."""

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder).expanduser() / FILE_NAME
        self._waiting: dict[str, list[tuple[bytes, bytes]]] = {table: [] for table in TABLES}
        self._last_commit = time.monotonic()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(self.path, timeout=60, isolation_level=None)
            self._prepare()
        except (OSError, sqlite3.Error) as error:
            raise self._failure("opened", error) from error

    def _prepare(self) -> None:
        database = self._database
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version > SCHEMA_VERSION:
            database.close()
            raise StoreError(
                f"the store {self.path} was written by a newer version of cb "
                f"(schema {version}, this one reads {SCHEMA_VERSION})",
                hint="update cbcore, or name another folder with --cache-dir",
            )
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=NORMAL")
        database.execute("PRAGMA wal_autocheckpoint=4000")
        for table in TABLES:
            database.execute(
                f"CREATE TABLE IF NOT EXISTS {table} (key BLOB UNIQUE, value BLOB NOT NULL)"
            )
        database.execute(
            "CREATE TABLE IF NOT EXISTS runs (run_id TEXT PRIMARY KEY, started TEXT, ended TEXT, "
            "state TEXT, manifest BLOB NOT NULL)"
        )
        database.execute(f"PRAGMA user_version={SCHEMA_VERSION}")

    def get(self, table: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The values stored under these keys; absent ones are left out."""
        found: dict[bytes, bytes] = {}
        try:
            for start in range(0, len(keys), _KEYS_PER_QUERY):
                chunk = keys[start : start + _KEYS_PER_QUERY]
                marks = ",".join("?" * len(chunk))
                query = f"SELECT key, value FROM {table} WHERE key IN ({marks})"  # noqa: S608
                found.update(self._database.execute(query, chunk))
        except sqlite3.Error as error:
            raise self._failure("read", error) from error
        return found

    def holds_any(self, table: str, prefix: bytes) -> bool:
        """Whether any key starts with a prefix."""
        query = f"SELECT 1 FROM {table} WHERE key >= ? AND key < ? LIMIT 1"  # noqa: S608
        try:
            found = self._database.execute(query, (prefix, prefix + b"\xff" * 32)).fetchone()
        except sqlite3.Error as error:
            raise self._failure("read", error) from error
        return found is not None

    def put(self, table: str, key: bytes, value: bytes) -> None:
        """Store a value, at the latest with the next batch."""
        waiting = self._waiting[table]
        waiting.append((key, value))
        if len(waiting) >= _BATCH_ROWS or time.monotonic() - self._last_commit > _BATCH_SECONDS:
            self.commit()

    def commit(self) -> None:
        """Write what is waiting, whole or not at all."""
        if not any(self._waiting.values()):
            self._last_commit = time.monotonic()
            return
        try:
            self._database.execute("BEGIN IMMEDIATE")
            for table, rows in self._waiting.items():
                self._database.executemany(
                    f"INSERT OR IGNORE INTO {table} VALUES (?, ?)",  # noqa: S608
                    rows,
                )
            self._database.execute("COMMIT")
        except BaseException as error:
            # What is waiting stays so: an interrupt between two statements loses nothing.
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            if isinstance(error, sqlite3.Error):
                raise self._failure("written", error) from error
            raise
        for rows in self._waiting.values():
            rows.clear()
        self._last_commit = time.monotonic()

    def save_run(self, record: RunRecord) -> None:
        """Write down a run, at once, under its id."""
        self.commit()
        values = (
            record.run_id,
            record.started,
            record.ended,
            record.state,
            canonical_bytes(json_safe(record.manifest)),
        )
        try:
            self._database.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?)", values)
        except sqlite3.Error as error:
            raise self._failure("written", error) from error

    def runs(self, prefix: str = "") -> list[RunRecord]:
        """The runs whose id starts with a prefix, newest first."""
        query = (
            "SELECT run_id, started, ended, state, manifest FROM runs "
            "WHERE substr(run_id, 1, ?) = ? ORDER BY started DESC, rowid DESC"
        )
        try:
            found = self._database.execute(query, (len(prefix), prefix)).fetchall()
        except sqlite3.Error as error:
            raise self._failure("read", error) from error
        return [
            RunRecord(run_id, started, from_bytes(manifest), state=state, ended=ended)
            for run_id, started, ended, state, manifest in found
        ]

    def close(self) -> None:
        """Commit and close."""
        try:
            self.commit()
        finally:
            self._database.close()

    def count(self, table: str) -> int:
        """How many values a table holds."""
        (number,) = self._database.execute(f"SELECT count(*) FROM {table}").fetchone()  # noqa: S608
        return int(number)

    def _failure(self, verb: str, error: Exception) -> StoreError:
        text = str(error)
        hint = "name another folder with --cache-dir"
        if "full" in text:
            hint = "free some space and run again; what was stored before is kept and readable"
        elif "not a database" in text or "malformed" in text:
            hint = f"move {self.path} away, or {hint}"
        return StoreError(f"the store {self.path} cannot be {verb}: {text}", hint=hint)
