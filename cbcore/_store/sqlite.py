"""The store: what systems returned and what evaluators scored, kept in one SQLite file.

Outputs and scores are content-addressed and kept apart. Writes are committed in batches, by
number and by time; what was committed survives `kill -9`, and several processes may use one
store at once. A commit is on the disk when it is over, so that it survives a power cut too.
Everything has a checksum: what was damaged on the disk counts as not stored.
"""

from __future__ import annotations

import contextlib
import sqlite3
import struct
import threading
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast
from zlib import crc32

from cbcore._store.records import Manifest, RunRecord
from cbcore.exceptions import StoreError
from cbcore.plain import canonical_bytes, from_bytes, json_safe
from cbcore.secrets import hide

SCHEMA_VERSION = 2
"""1 had no checksums."""
FILE_NAME = "store.sqlite3"
TABLES = ("outputs", "scores")

LARGEST_VALUE = 900_000_000
"""Bytes of a value at most; SQLite refuses a billion, and with it the whole batch."""
_BATCH_ROWS = 16384
_SHORTEST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0
_PAUSE_PER_COMMIT = 20
"""How much longer than the work of a commit the pause after it is: durability costs a twentieth."""
_KEYS_PER_QUERY = 256
_LOCK_WAIT_S = 60.0
_LOCK_RETRY_S = 0.005
_CHECKSUM = struct.Struct("<I")
_pack = _CHECKSUM.pack


class Store:
    """Keyed values in two tables. May be used from any thread.

    What was put waits in memory, where it is found at once, until its batch is committed: when
    the batch is full, or a moment later even if nothing more is put. The moment is a twentieth
    of a second while little is put, and a second at most.
    """

    def __init__(self, folder: str | Path, *, read_only: bool = False) -> None:
        """Open the store of a folder, which is made where there is none.

        One that is `read_only` is as it is on the disk, which may forbid to write; where there
        is no store, it is empty and nothing is made.
        """
        self.path = _absolute(folder) / FILE_NAME
        # What was put is in `_waiting`, and from there in `_writing` until it is committed. The
        # door is held for moments only: whoever puts never waits for the disk.
        self._waiting: dict[str, dict[bytes, bytes]] = {table: {} for table in TABLES}
        self._writing: dict[str, dict[bytes, bytes]] = {table: {} for table in TABLES}
        self._door = threading.Lock()
        self._damaged: dict[str, set[bytes]] = {table: set() for table in TABLES}
        self.n_damaged = 0
        # Up to this row, values come from a version that gave them no checksum.
        self._unchecked: dict[str, int] = dict.fromkeys(TABLES, 0)
        self._places: dict[str, int] = {}
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._committer: threading.Thread | None = None
        self._behind = self.is_due = False
        if read_only and self._open_as_it_is():
            return
        in_memory = read_only and not self.path.is_file()
        try:
            if not in_memory:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            self._database = _connected(":memory:" if in_memory else str(self.path))
        except (OSError, sqlite3.Error) as error:
            raise self._failure("opened", error) from error
        try:
            self._prepare_patiently()
        except BaseException as error:  # whatever it is, the file is closed
            self._database.close()
            if isinstance(error, sqlite3.Error):
                raise self._failure("opened", error) from error
            raise

    def _open_as_it_is(self) -> bool:
        """Open the file for reading only; False where it is missing or of another schema."""
        if not self.path.is_file():
            return False
        # Where its folder cannot be written, SQLite cannot make the files beside a database
        # that readers agree by. It is then taken as one that nobody changes.
        for options in ("mode=ro", "mode=ro&immutable=1"):
            database = _connected(f"{self.path.as_uri()}?{options}", uri=True)
            try:
                (version,) = database.execute("PRAGMA user_version").fetchone()
                if version == SCHEMA_VERSION:
                    self._database = database
                    self._read_unchecked()
                    return True
            except sqlite3.Error:
                database.close()
                continue
            database.close()
            break
        return False

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
        database.execute("PRAGMA synchronous=FULL")
        database.execute("PRAGMA wal_autocheckpoint=16000")
        database.execute("PRAGMA cache_size=-16384")  # KiB: look-ups jump about the index
        if version < SCHEMA_VERSION:  # an up-to-date store opens without a write: disks are full
            database.execute("BEGIN IMMEDIATE")
            try:
                self._make_tables()
                database.execute("COMMIT")
            except BaseException:  # whatever it is, nothing is left half made
                if database.in_transaction:
                    database.execute("ROLLBACK")
                raise
        self._read_unchecked()

    def _read_unchecked(self) -> None:
        self._unchecked.update(self._database.execute("SELECT name, last FROM unchecked"))

    def _make_tables(self) -> None:
        """Make what is missing. What older versions stored has no checksum, and stays."""
        database = self._database
        for table in TABLES:
            database.execute(
                f"CREATE TABLE IF NOT EXISTS {table} (key BLOB UNIQUE, value BLOB NOT NULL)"
            )
        database.execute(
            "CREATE TABLE IF NOT EXISTS runs (run_id TEXT PRIMARY KEY, started TEXT, "
            "ended TEXT, state TEXT, manifest BLOB NOT NULL)"
        )
        columns = [name for _, name, *_ in database.execute("PRAGMA table_info(runs)")]
        if "checksum" not in columns:
            database.execute("ALTER TABLE runs ADD COLUMN checksum INTEGER")
        database.execute(
            "CREATE TABLE IF NOT EXISTS unchecked (name TEXT PRIMARY KEY, last INTEGER)"
        )
        for table in TABLES:
            last = f"(SELECT coalesce(max(rowid), 0) FROM {table})"  # noqa: S608
            database.execute(f"INSERT OR IGNORE INTO unchecked VALUES (?, {last})", (table,))  # noqa: S608
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
            with self._door:
                for waiting in (self._writing[table], self._waiting[table]):
                    if waiting:
                        found.update({key: waiting[key] for key in keys if key in waiting})
        return found

    def _read_on(self, table: str, wanted: set[bytes]) -> dict[bytes, bytes]:
        place = self._places.pop(table, None)
        if place is None:
            return {}
        query = f"SELECT rowid, key, value FROM {table} WHERE rowid > ? LIMIT ?"  # noqa: S608
        rows = self._database.execute(query, (place, len(wanted))).fetchall()
        found = self._sound(table, [row for row in rows if row[1] in wanted])
        if found:
            self._places[table] = rows[-1][0]
        return found

    def _look_up(self, table: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        marks = ",".join("?" * len(keys))
        query = f"SELECT rowid, key, value FROM {table} WHERE key IN ({marks})"  # noqa: S608
        rows = self._database.execute(query, keys).fetchall()
        if rows:
            self._places[table] = max(row[0] for row in rows)
        return self._sound(table, rows)

    def _sound(self, table: str, rows: Sequence[tuple[int, bytes, Any]]) -> dict[bytes, bytes]:
        """The values that are as they were put; the others are counted, and put anew."""
        found: dict[bytes, bytes] = {}
        unchecked = self._unchecked[table]
        for rowid, key, stored in rows:
            if rowid <= unchecked:
                value = stored if type(stored) is bytes else None
            else:
                value = _unsealed(key, stored)
            if value is not None:
                found[key] = value
            elif key not in self._damaged[table]:
                self._damaged[table].add(key)
                self.n_damaged += 1
        return found

    def holds_any(self, table: str, prefix: bytes) -> bool:
        """Whether any stored key starts with a prefix."""
        query = f"SELECT 1 FROM {table} WHERE key >= ? AND key < ? LIMIT 1"  # noqa: S608
        with self._lock:
            try:
                found = self._database.execute(query, (prefix, prefix + b"\xff" * 32)).fetchone()
            except sqlite3.Error as error:
                raise self._failure("read", error) from error
            with self._door:
                waiting = (*self._writing[table], *self._waiting[table])
            return found is not None or any(key.startswith(prefix) for key in waiting)

    def put(self, table: str, key: bytes, value: bytes) -> None:
        """Store a value, with the next batch. Never waits, and never fails."""
        with self._door:
            waiting = self._waiting[table]
            waiting.setdefault(key, value)
        if len(waiting) >= _BATCH_ROWS:
            self.is_due = True
        if self._committer is None:
            self._start_committing()

    def keep_up(self) -> None:
        """To be called when `is_due`, by who puts much, where it can wait and be told of a failure.

        Commits what is waiting if it is a whole batch, or if the last could not be written;
        waits for a commit that is under way.
        """
        if self._behind or max(map(len, self._waiting.values())) >= _BATCH_ROWS:
            self.commit()
        else:
            with self._lock:  # two busy threads would only get in each other's way
                pass

    def _start_committing(self) -> None:
        with self._door:
            if self._committer is not None:
                return
            committer = threading.Thread(
                target=_commit_regularly,
                args=(weakref.ref(self), self._closed),
                name="cb-store",
                daemon=True,
            )
            # Where no thread can be started, the next who puts something tries again.
            with contextlib.suppress(RuntimeError):
                committer.start()
                self._committer = committer

    def commit(self) -> None:
        """Write what is waiting, whole or not at all."""
        with self._lock:
            self._take_waiting()
            if not any(self._writing.values()):
                return
            self.is_due = True
            try:
                self._database.execute("BEGIN IMMEDIATE")
                for table, rows in self._writing.items():
                    anew = [(key,) for key in self._damaged[table] if key in rows]
                    self._database.executemany(f"DELETE FROM {table} WHERE key = ?", anew)  # noqa: S608
                    # In front of the value, not in a column: that would take twice as long.
                    self._database.executemany(
                        f"INSERT OR IGNORE INTO {table} VALUES (?, ?)",  # noqa: S608
                        # Made on the way: a list of them would take twice as long.
                        (
                            (key, _pack(crc32(value, crc32(key))) + value)
                            for key, value in rows.items()
                        ),
                    )
                self._database.execute("COMMIT")
            except BaseException as error:  # whatever it is, nothing is left half written
                # What is waiting stays so: an interrupt between two statements loses nothing.
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise self._failure("written", error) from error
                raise
            finally:
                self.is_due = False
            with self._door:
                self._writing = {table: {} for table in TABLES}
            self._behind = False

    def _take_waiting(self) -> None:
        """Move what is waiting to what is written; what an earlier attempt left is there too."""
        with self._door:
            for table, waiting in self._waiting.items():
                if waiting:
                    left = self._writing[table]
                    self._writing[table] = {**waiting, **left} if left else waiting
                    self._waiting[table] = {}

    def commit_in_background(self) -> None:
        """As `commit`, but a failure is left to `keep_up`, whose caller can be told."""
        with self._lock:
            if self._closed.is_set():
                return
            try:
                self.commit()
            except StoreError:
                self._behind = self.is_due = True

    def save_run(self, record: RunRecord) -> None:
        """Write down a run, at once, under its id."""
        self.commit()
        manifest = canonical_bytes(hide(json_safe(record.manifest)))
        values = (
            *(record.run_id, record.started, record.ended, record.state),
            *(manifest, _checksum(record.run_id.encode(), manifest)),
        )
        try:
            with self._lock:
                self._database.execute(
                    "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?)", values
                )
        except sqlite3.Error as error:
            raise self._failure("written", error) from error

    def runs(self, prefix: str = "") -> list[RunRecord]:
        """The runs whose id starts with a prefix, newest first; damaged records are only named."""
        query = (
            "SELECT run_id, started, ended, state, manifest, checksum FROM runs "
            "WHERE ?1 = '' OR substr(run_id, 1, length(?1)) = ?1 ORDER BY started DESC, rowid DESC"
        )
        try:
            with self._lock:
                found = self._database.execute(query, (prefix,)).fetchall()
        except sqlite3.Error as error:
            raise self._failure("read", error) from error
        records = []
        for run_id, started, ended, state, manifest, checksum in found:
            read = None
            if all(type(text) is str for text in (run_id, started, ended, state)):
                with contextlib.suppress(ValueError, RecursionError):
                    sound = _is_sound(run_id.encode(), manifest, checksum)
                    read = from_bytes(manifest) if sound else None
            if isinstance(read, dict):
                known = cast(Manifest, read)
                records.append(RunRecord(run_id, started, known, state=state, ended=ended))
            else:
                from cbcore._logging import get_logger

                get_logger().warning(f"the record of run {run_id!r} cannot be read")
        return records

    def close(self) -> None:
        """Commit and close; what was found damaged is told now, in one line."""
        if self.n_damaged:
            from cbcore._logging import get_logger

            values = "value was" if self.n_damaged == 1 else "values were"
            get_logger().warning(
                f"{self.n_damaged} {values} damaged in {self.path} and taken as not stored"
            )
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


def _checksum(key: bytes, value: bytes) -> int:
    """Of both: a damaged index leads to a sound value that is another's."""
    return crc32(value, crc32(key))


def _unsealed(key: bytes, stored: Any) -> bytes | None:
    """A value without its checksum; None where it is not as it was put."""
    if type(stored) is not bytes or len(stored) < _CHECKSUM.size:
        return None  # damage can make a number of a value
    value = stored[_CHECKSUM.size :]
    return value if _CHECKSUM.unpack_from(stored)[0] == crc32(value, crc32(key)) else None


def _is_sound(key: Any, value: Any, checksum: int | None) -> bool:
    """Whether a value is as it was put. Older versions put no checksum."""
    if type(key) is not bytes or type(value) is not bytes:
        return False
    return checksum is None or checksum == _checksum(key, value)


def _absolute(folder: str | Path) -> Path:
    """Where a folder is, whatever becomes the working directory later."""
    path = Path(folder).expanduser()
    try:
        return path.absolute()
    except OSError as error:
        raise StoreError(
            f"the store {path} cannot be opened: the working directory is gone",
            hint="name a whole path with --cache-dir",
        ) from error


def _connected(path: str, *, uri: bool = False) -> sqlite3.Connection:
    database = sqlite3.connect(
        path, timeout=_LOCK_WAIT_S, isolation_level=None, check_same_thread=False, uri=uri
    )
    database.text_factory = _text
    return database


def _text(content: bytes) -> str:
    """Text as it stands; damage shows in the checksum, not as an error of the whole store."""
    return content.decode("utf-8", "replace")


def _commit_regularly(store: weakref.ref[Store], closed: threading.Event) -> None:
    """Keep what was put from waiting when nothing more is, until the store is closed or gone."""
    pause_s = _SHORTEST_PAUSE_S
    while not closed.wait(pause_s):
        alive = store()
        if alive is None:
            return
        # The work, not the time: waiting for the disk keeps nobody from anything.
        started = time.thread_time()
        alive.commit_in_background()
        pause_s = _pause_after(time.thread_time() - started)
        del alive


def _pause_after(took_s: float) -> float:
    return min(max(_SHORTEST_PAUSE_S, took_s * _PAUSE_PER_COMMIT), _LONGEST_PAUSE_S)
