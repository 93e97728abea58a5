"""The store: what systems returned and what evaluators scored, kept in one SQLite file.

Outputs and scores are content-addressed and kept apart. Writes are committed in batches, by
number and by time; what was committed survives `kill -9`, and several processes may use one
store at once.
"""

from __future__ import annotations

import sqlite3
import threading
import time
import weakref
from collections.abc import Sequence
from pathlib import Path

from cbcore._runs import RunRecord
from cbcore.exceptions import StoreError
from cbcore.identity import canonical_bytes, from_bytes
from cbcore.results import json_safe

SCHEMA_VERSION = 1
FILE_NAME = "store.sqlite3"
TABLES = ("outputs", "scores")

_BATCH_ROWS = 16384
_SHORTEST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0
_PAUSE_PER_COMMIT = 20
"""How much longer than a commit the pause after it is: durability costs a twentieth at most."""
_KEYS_PER_QUERY = 256
_LOCK_WAIT_S = 60.0
_LOCK_RETRY_S = 0.005


class Store:
    """Keyed values in two tables. May be used from any thread.

    What was put waits in memory, where it is found at once, until its batch is committed: when
    the batch is full, or a moment later even if nothing more is put. The moment is short while
    little is put, and a second at most.
    """

    def __init__(self, folder: str | Path) -> None:
        self.path = Path(folder).expanduser() / FILE_NAME
        self._waiting: dict[str, dict[bytes, bytes]] = {table: {} for table in TABLES}
        self._places: dict[str, int] = {}
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._committer: threading.Thread | None = None
        self._behind = False
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(
                self.path, timeout=_LOCK_WAIT_S, isolation_level=None, check_same_thread=False
            )
        except (OSError, sqlite3.Error) as error:
            raise self._failure("opened", error) from error
        try:
            self._prepare_patiently()
        except BaseException as error:
            self._database.close()
            if isinstance(error, sqlite3.Error):
                raise self._failure("opened", error) from error
            raise

    def _prepare_patiently(self) -> None:
        # Where two processes make the store at once SQLite does not wait by itself: each
        # holds what the other needs to change the journal mode.
        deadline = time.monotonic() + _LOCK_WAIT_S
        while True:
            try:
                return self._prepare()
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(_LOCK_RETRY_S)

    def _prepare(self) -> None:
        database = self._database
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version > SCHEMA_VERSION:
            raise StoreError(
                f"the store {self.path} was written by a newer version of cb "
                f"(schema {version}, this one reads {SCHEMA_VERSION})",
                hint="update cbcore, or name another folder with --cache-dir",
            )
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=NORMAL")
        database.execute("PRAGMA wal_autocheckpoint=16000")
        database.execute("PRAGMA cache_size=-16384")  # KiB: look-ups jump about the index
        if version < SCHEMA_VERSION:  # an up-to-date store opens without a write: disks are full
            for table in TABLES:
                database.execute(
                    f"CREATE TABLE IF NOT EXISTS {table} (key BLOB UNIQUE, value BLOB NOT NULL)"
                )
            database.execute(
                "CREATE TABLE IF NOT EXISTS runs (run_id TEXT PRIMARY KEY, started TEXT, "
                "ended TEXT, state TEXT, manifest BLOB NOT NULL)"
            )
            database.execute(f"PRAGMA user_version={SCHEMA_VERSION}")

    def get(self, table: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The values stored under these keys; absent ones are left out.

        A run is mostly read back in the order it was written, so the rows behind those found
        last are read on first; only what is not among them is looked up by key.
        """
        with self._lock:
            try:
                found = self._read_on(table, set(keys))
                missing = [key for key in keys if key not in found]
                for start in range(0, len(missing), _KEYS_PER_QUERY):
                    found.update(self._look_up(table, missing[start : start + _KEYS_PER_QUERY]))
            except sqlite3.Error as error:
                raise self._failure("read", error) from error
            if waiting := self._waiting[table]:
                found.update({key: waiting[key] for key in keys if key in waiting})
        return found

    def _read_on(self, table: str, wanted: set[bytes]) -> dict[bytes, bytes]:
        place = self._places.pop(table, None)
        if place is None:
            return {}
        query = f"SELECT rowid, key, value FROM {table} WHERE rowid > ? LIMIT ?"  # noqa: S608
        rows = self._database.execute(query, (place, len(wanted))).fetchall()
        found = {key: value for _, key, value in rows if key in wanted}
        if found:
            self._places[table] = rows[-1][0]
        return found

    def _look_up(self, table: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        marks = ",".join("?" * len(keys))
        query = f"SELECT rowid, key, value FROM {table} WHERE key IN ({marks})"  # noqa: S608
        rows = self._database.execute(query, keys).fetchall()
        if rows:
            self._places[table] = max(rowid for rowid, _, _ in rows)
        return {key: value for _, key, value in rows}

    def holds_any(self, table: str, prefix: bytes) -> bool:
        """Whether any stored key starts with a prefix."""
        query = f"SELECT 1 FROM {table} WHERE key >= ? AND key < ? LIMIT 1"  # noqa: S608
        with self._lock:
            try:
                found = self._database.execute(query, (prefix, prefix + b"\xff" * 32)).fetchone()
            except sqlite3.Error as error:
                raise self._failure("read", error) from error
            return found is not None or any(k.startswith(prefix) for k in self._waiting[table])

    def put(self, table: str, key: bytes, value: bytes) -> None:
        """Store a value, with the next batch; at once when the last could not be written."""
        with self._lock:
            waiting = self._waiting[table]
            waiting.setdefault(key, value)
            if len(waiting) >= _BATCH_ROWS or self._behind:
                self.commit()
        if self._committer is None:
            self._committer = threading.Thread(
                target=_commit_regularly,
                args=(weakref.ref(self), self._closed),
                name="cb-store",
                daemon=True,
            )
            self._committer.start()

    def commit(self) -> None:
        """Write what is waiting, whole or not at all."""
        with self._lock:
            if not any(self._waiting.values()):
                return
            try:
                self._database.execute("BEGIN IMMEDIATE")
                for table, rows in self._waiting.items():
                    self._database.executemany(
                        f"INSERT OR IGNORE INTO {table} VALUES (?, ?)",  # noqa: S608
                        rows.items(),
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
            self._behind = False

    def commit_in_background(self) -> None:
        """As `commit`, but a failure is left to the next `put`, whose caller can be told."""
        with self._lock:
            if self._closed.is_set():
                return
            try:
                self.commit()
            except StoreError:
                self._behind = True

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
            with self._lock:
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
            with self._lock:
                found = self._database.execute(query, (len(prefix), prefix)).fetchall()
        except sqlite3.Error as error:
            raise self._failure("read", error) from error
        return [
            RunRecord(run_id, started, from_bytes(manifest), state=state, ended=ended)
            for run_id, started, ended, state, manifest in found
        ]

    def close(self) -> None:
        """Commit and close."""
        with self._lock:
            self._closed.set()
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
        if "full" in text or "I/O error" in text:
            hint = "free some space and run again; what was stored before is kept and readable"
        elif "not a database" in text or "malformed" in text:
            hint = f"move {self.path} away, or {hint}"
        return StoreError(f"the store {self.path} cannot be {verb}: {text}", hint=hint)


def _commit_regularly(store: weakref.ref[Store], closed: threading.Event) -> None:
    """Keep what was put from waiting when nothing more is, until the store is closed or gone."""
    pause_s = _SHORTEST_PAUSE_S
    while not closed.wait(pause_s):
        alive = store()
        if alive is None:
            return
        started = time.monotonic()
        alive.commit_in_background()
        pause_s = _pause_after(time.monotonic() - started)
        del alive


def _pause_after(took_s: float) -> float:
    return min(max(_SHORTEST_PAUSE_S, took_s * _PAUSE_PER_COMMIT), _LONGEST_PAUSE_S)
