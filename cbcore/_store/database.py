"""The file of the store: opened, brought up to date, and what to say when it cannot be."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from cbcore.exceptions import StoreError

SCHEMA_VERSION = 4
FILE_NAME = "store.sqlite3"

_LOCK_WAIT_S = 60.0
_LOCK_RETRY_S = 0.005

_TABLES = """
CREATE TABLE IF NOT EXISTS batches (id INTEGER PRIMARY KEY, shelf BLOB NOT NULL,
    n INTEGER NOT NULL, keys BLOB NOT NULL, data BLOB NOT NULL, checksum INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS batches_of_shelf ON batches (shelf);
CREATE TABLE IF NOT EXISTS runs (run_id TEXT PRIMARY KEY, started TEXT, ended TEXT, state TEXT,
    manifest BLOB NOT NULL, checksum INTEGER);
CREATE TABLE IF NOT EXISTS results (run_id TEXT PRIMARY KEY, document BLOB NOT NULL,
    checksum INTEGER NOT NULL)
"""
INSERT_BATCH = "INSERT INTO batches (shelf, n, keys, data, checksum) VALUES (?, ?, ?, ?, ?)"


def connected(path: str, *, uri: bool = False) -> sqlite3.Connection:
    database = sqlite3.connect(
        path, timeout=_LOCK_WAIT_S, isolation_level=None, check_same_thread=False, uri=uri
    )
    database.text_factory = _text
    return database


def _text(content: bytes) -> str:
    """Text as it stands; damage shows in the checksum, not as an error of the whole store."""
    return content.decode("utf-8", "replace")


def opened_as_it_is(path: Path) -> sqlite3.Connection | None:
    """The file for reading only; None where it is missing or of another schema."""
    if not path.is_file():
        return None
    # Where its folder cannot be written, SQLite cannot make the files beside a database that
    # readers agree by. It is then taken as one that nobody changes.
    for options in ("mode=ro", "mode=ro&immutable=1"):
        database = connected(f"{path.as_uri()}?{options}", uri=True)
        try:
            (version,) = database.execute("PRAGMA user_version").fetchone()
            if version == SCHEMA_VERSION:
                database.execute("SELECT 1 FROM batches LIMIT 1").fetchone()
                return database
        except sqlite3.Error:
            database.close()
            continue
        database.close()
        break
    return None


def prepare(database: sqlite3.Connection, path: Path) -> None:
    """Make what is missing, patiently: others may be at it."""
    # Where two processes make the store at once SQLite does not wait by itself: each holds
    # what the other needs to change the journal mode.
    deadline = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            return _prepare(database, path)
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(_LOCK_RETRY_S)


def _prepare(database: sqlite3.Connection, path: Path) -> None:
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version not in (0, SCHEMA_VERSION):
        raise StoreError(
            f"the store {path} was written by another version of cb "
            f"(schema {version}, this one reads {SCHEMA_VERSION})",
            hint="name another folder with --cache-dir",
        )
    if version == 0:
        database.execute("PRAGMA auto_vacuum=INCREMENTAL")  # so that space can be given back
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("PRAGMA wal_autocheckpoint=16000")
    if version == 0:  # an up-to-date store opens without a write: disks are full
        with transaction(database):
            for statement in _TABLES.split(";"):
                database.execute(statement)
            database.execute(f"PRAGMA user_version={SCHEMA_VERSION}")


@contextlib.contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:  # whatever it is, nothing is left half made
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def failure(path: Path, verb: str, error: Exception) -> StoreError:
    """What to tell when the file cannot be opened, read or written."""
    text = str(error)
    hint = "name another folder with --cache-dir"
    if "full" in text or "I/O error" in text:
        hint = "free some space and run again; what was stored before is kept and readable"
    elif "not a database" in text or "malformed" in text:
        hint = f"move {path} away, or {hint}"
    return StoreError(f"the store {path} cannot be {verb}: {text}", hint=hint)
