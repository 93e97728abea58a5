"""One SQLite file in plain tables. One thread writes; the others only queue.

The tables are part of the interface: `docs/reference/store.md` describes them, and any program
that reads SQLite may read them, also while a run is going on.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
import threading
import time
import weakref
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from zlib import crc32

from cbcore.exceptions import StoreError
from cbcore.json_data import from_json, to_json

__all__ = ("Store",)

FILE_NAME = "runs.sqlite3"
_OLD_FILE_NAME = "store.sqlite3"
SCHEMA_VERSION = 1

SCHEMA = """
CREATE TABLE runs (run_id TEXT PRIMARY KEY, started TEXT NOT NULL, ended TEXT,
  state TEXT NOT NULL, -- running, finished, interrupted or failed
  origin TEXT NOT NULL, -- own, imported or trusted
  reason TEXT, -- why the run did not finish
  title TEXT,
  settings TEXT NOT NULL, -- JSON: as they were given
  components TEXT NOT NULL, -- JSON: records of systems, datasets, evaluators and metrics
  environment TEXT NOT NULL, -- JSON: command, machine, process, plugins and their versions
  checksum INTEGER NOT NULL,
  result TEXT, -- JSON: summary, verdicts and sections
  result_checksum INTEGER);
CREATE TABLE texts (text_key TEXT PRIMARY KEY, -- a digest of the content
  content TEXT NOT NULL);
CREATE TABLE examples (example_key TEXT PRIMARY KEY, -- a digest of the content
  content TEXT NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE outputs (system_key TEXT NOT NULL, example_key TEXT NOT NULL, repeat INTEGER NOT NULL,
  output TEXT NOT NULL, -- JSON
  output_key TEXT NOT NULL, -- a digest of the example's key and the output
  latency_s REAL NOT NULL, run_id TEXT NOT NULL, checksum INTEGER NOT NULL,
  created TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
  PRIMARY KEY (system_key, example_key, repeat));
CREATE TABLE scores (evaluator_key TEXT NOT NULL, output_key TEXT NOT NULL,
  scores TEXT NOT NULL, -- JSON: scores, details and cost
  run_id TEXT NOT NULL, checksum INTEGER NOT NULL,
  PRIMARY KEY (evaluator_key, output_key));
CREATE TABLE rows (run_id TEXT NOT NULL, system TEXT NOT NULL, position INTEGER NOT NULL,
  dataset TEXT NOT NULL, example_id TEXT NOT NULL,
  id_is_integer INTEGER NOT NULL, -- 1 if the id is a number
  repeat INTEGER NOT NULL, system_key TEXT, example_key TEXT, output_key TEXT,
  scores TEXT NOT NULL, -- JSON: score by name
  missing TEXT NOT NULL, -- JSON: reason by name of the score
  error TEXT, response TEXT, input_tokens INTEGER, output_tokens INTEGER, response_tokens INTEGER,
  latency_s REAL, cached INTEGER NOT NULL, metadata TEXT NOT NULL, checksum INTEGER NOT NULL,
  PRIMARY KEY (run_id, system, position))
"""

LONG_TEXT = 4096
"""Texts of more characters are stored once, in `texts`, however often they occur."""

_MOST_PENDING = 10_000
_MOST_CHARACTERS = 64_000_000
_MANY = 200
"""After a batch of more writes, the writer waits a moment: fewer and larger commits cost less."""
_PAUSE_S = 0.05
_LOCK_WAIT_S = 60.0
_LOCK_RETRY_S = 0.01
_ESCAPED = "json:"
"""Begins the keys of texts that are not valid Unicode; their content is JSON."""
_END = "end"
_PUT_TEXT = """INSERT INTO texts VALUES (?, ?) ON CONFLICT (text_key)
DO UPDATE SET content=excluded.content WHERE content IS NOT excluded.content"""


class Reader:
    """A connection that only reads. May be used from any thread."""

    def __init__(self, connection: sqlite3.Connection, path: Path | None) -> None:
        self.connection = connection
        self.path = path
        self.lock = threading.RLock()
        # A connection refers to itself, so that it would stay open until garbage is collected.
        weakref.finalize(self, connection.close).atexit = False

    def query(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """The rows that a statement selects. Raises `StoreError`."""
        try:
            with self.lock:
                return self.connection.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise describe_failure(self.path, "read", error) from error

    def decode(self, text: str) -> Any:
        """The value that `Store.encode` wrote. Raises ValueError if it is missing or damaged."""
        value = from_json(text.encode("utf-8", "replace"))
        return self._unpack(value) if '"$' in text else value

    def _unpack(self, value: Any) -> Any:
        if isinstance(value, dict):
            if value.keys() == {"$text"}:
                return self.read_text(value["$text"])
            if value.keys() == {"$dict"} and isinstance(value["$dict"], dict):
                value = value["$dict"]
            return {key: self._unpack(item) for key, item in value.items()}
        return [self._unpack(item) for item in value] if isinstance(value, list) else value

    def read_text(self, key: str) -> str:
        """A long text. Raises ValueError if it is missing or damaged."""
        found = self.query("SELECT content FROM texts WHERE text_key=?", (key,))
        if not found or not is_text(key, found[0][0]):
            raise ValueError(f"the text {key} is missing or damaged")
        content: str = found[0][0]
        return from_json(content.encode()) if key.startswith(_ESCAPED) else content

    def close(self) -> None:
        with self.lock:
            self.connection.close()


class Store:
    """The tables of one folder. `put` may be called from any thread; it never waits or fails.

    Without a folder, the tables are in a temporary file without a name, which goes with the last
    reference to `reader`, or with the process. A store that `is_dry` is read, and never written.
    """

    def __init__(self, folder: str | Path | None, *, is_dry: bool = False) -> None:
        self.path = None if folder is None else find_store(folder)
        self.failure: Exception | None = None
        self._queue: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self._n_pending_characters = 0
        self._known_texts: set[str] = set()
        self._is_closed = is_dry
        if is_dry and self.path is not None:
            self.reader = open_reader(self.path)
            return
        try:
            if self.path is not None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                connection = _connect(str(self.path))
                _prepare(connection, self.path)
                self._connection = _connect(str(self.path))
            else:
                connection = self._connection = _connect_to_temporary()
        except (OSError, sqlite3.Error) as error:
            raise describe_failure(self.path, "opened", error) from error
        self.reader = Reader(connection, self.path)
        self._writer = threading.Thread(target=self._write, name="cb-store", daemon=True)
        self._writer.start()

    # -- any thread ----------------------------------------------------------------------------

    def put(self, statement: str, values: tuple[Any, ...]) -> None:
        """Queue a write."""
        if not self._is_closed:
            self._queue.put((statement, values))

    def put_text(self, text: str) -> dict[str, str]:
        """Store a long text once. Returns what stands for it in JSON."""
        key, content = _key_of_text(text)
        if key not in self._known_texts:
            self._known_texts.add(key)
            self._n_pending_characters += len(content)
            self.put(_PUT_TEXT, (key, content))
        return {"$text": key}

    def encode(self, value: Any) -> str:
        """Plain data as JSON in which long texts are `{"$text": key}`. Raises TypeError."""
        return self.shorten(value, to_json(value).decode())

    def shorten(self, value: Any, text: str) -> str:
        """The JSON `text` of a value, with long texts stored apart."""
        if len(text) <= LONG_TEXT and '"$' not in text:
            return text
        return to_json(self._pack(value)).decode()

    def _pack(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.put_text(value) if len(value) > LONG_TEXT else value
        if isinstance(value, dict):
            packed = {key: self._pack(item) for key, item in value.items()}
            return {"$dict": packed} if packed.keys() & {"$text", "$dict"} else packed
        return [self._pack(item) for item in value] if isinstance(value, list | tuple) else value

    # -- the driver ----------------------------------------------------------------------------

    def check(self) -> None:
        """Raise what the writer met. Wait if it falls behind, so that a full disk is noticed."""
        if self._queue.qsize() > _MOST_PENDING or self._n_pending_characters > _MOST_CHARACTERS:
            self.flush()
            self._n_pending_characters = 0
        if self.failure is not None:
            raise describe_failure(self.path, "written", self.failure) from self.failure

    def flush(self, timeout_s: float | None = None) -> None:
        """Wait until all that was put is committed, or the time has passed."""
        if self._is_closed:
            return
        is_written = threading.Event()
        self._queue.put(("", is_written))
        is_written.wait(timeout_s)

    def close(self, timeout_s: float | None = None) -> None:
        """Write what was put, and end the writer. Raises `StoreError` if it could not be written."""
        self.flush(timeout_s)
        if not self._is_closed:
            self._is_closed = True
            self._queue.put((_END, None))
            self._writer.join(timeout_s)
        self.check()

    # -- the writer thread ---------------------------------------------------------------------

    def _write(self) -> None:
        is_over = False
        while not is_over:
            batch = [self._queue.get()]
            while len(batch) < _MOST_PENDING and not self._queue.empty():
                batch.append(self._queue.get())
            writes = [write for write in batch if write[0] not in ("", _END)]
            if writes and self.failure is None:
                self._commit(writes)
            waiting = [event for statement, event in batch if not statement]
            for event in waiting:
                event.set()
            is_over = any(statement == _END for statement, _ in batch)
            if len(batch) > _MANY and not waiting and self._queue.qsize() < _MOST_PENDING // 4:
                time.sleep(_PAUSE_S)
        if self.path is not None:
            self._connection.close()

    def _commit(self, writes: list[tuple[str, Any]]) -> None:
        """Write all of it or nothing. After a failure nothing more is written."""
        by_statement: dict[str, list[Any]] = {}
        for statement, values in writes:
            by_statement.setdefault(statement, []).append(values)
        database = self._connection
        try:
            with self.reader.lock if self.path is None else contextlib.nullcontext():
                database.execute("BEGIN IMMEDIATE")
                for statement, rows in by_statement.items():
                    database.executemany(statement, rows)
                database.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - the driver raises it
            self.failure = error
            with contextlib.suppress(sqlite3.Error, MemoryError):
                if database.in_transaction:
                    database.execute("ROLLBACK")


def find_store(folder: str | Path) -> Path:
    """The file of a folder's store. Raises `StoreError` for a folder of an earlier format."""
    path = Path(folder).expanduser().absolute()
    if (path / _OLD_FILE_NAME).exists() and not (path / FILE_NAME).exists():
        raise StoreError(
            f"The folder {folder} has runs in an earlier format, which this version cannot read.",
            hint="Name another folder with --cache-dir, or move this one away.",
        )
    return path / FILE_NAME


def open_reader(path: Path) -> Reader:
    """A store that is not changed; an empty one if there is none. Raises `StoreError`."""
    if not path.is_file():
        return _open_empty(path)
    # A reader needs files beside the database. If their folder is read-only, nobody writes there.
    error: Exception | None = None
    for options in ("mode=ro", "mode=ro&immutable=1"):
        try:
            connection = _connect(f"{path.as_uri()}?{options}", uri=True)
            if _check_version(connection, path) == 0:  # another process is about to make its tables
                return _open_empty(path)
            connection.execute("SELECT 1 FROM runs LIMIT 1").fetchone()
        except sqlite3.Error as failure:
            error = error or failure
        else:
            return Reader(connection, path)
    raise describe_failure(path, "read", error or StoreError(""))


def _open_empty(path: Path) -> Reader:
    connection = _connect(":memory:")
    connection.executescript(SCHEMA)
    return Reader(connection, path)


def _connect(path: str, *, uri: bool = False) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=_LOCK_WAIT_S, isolation_level=None, check_same_thread=False, uri=uri
    )
    # Damage is found by checksums, not by an error of the whole store.
    connection.text_factory = lambda content: content.decode("utf-8", "replace")
    if not uri:
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA cache_size=-32000")
        connection.execute("PRAGMA wal_autocheckpoint=16000")
    return connection


def _connect_to_temporary() -> sqlite3.Connection:
    """A file of SQLite's own would not do: when the disk is full, it cannot even be read."""
    number, path = tempfile.mkstemp(prefix="cb-rows-")
    os.close(number)
    try:
        connection = _connect(path)
        for pragma in ("journal_mode=MEMORY", "synchronous=OFF"):
            connection.execute(f"PRAGMA {pragma}")
        connection.executescript(SCHEMA)
    finally:
        Path(path).unlink()
    return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Create the tables. Several processes may do so at once, and the change to WAL does not wait."""
    end = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            if _check_version(connection, path) == SCHEMA_VERSION:
                return
            connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("BEGIN IMMEDIATE")
            if _check_version(connection, path) == 0:
                for statement in SCHEMA.split(";\n"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
            connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(_LOCK_RETRY_S)


def _check_version(connection: sqlite3.Connection, path: Path) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version not in (0, SCHEMA_VERSION):
        raise StoreError(
            f"The store {path} was written by another version of cb "
            f"(schema {version}, this version reads {SCHEMA_VERSION}).",
            hint="Name another folder with --cache-dir.",
        )
    return int(version)


def describe_failure(path: Path | None, verb: str, error: Exception) -> StoreError:
    """The error for a store that cannot be opened, read or written."""
    text = str(error)
    where = path or "in the temporary folder"
    hint = "Name another folder with --cache-dir."
    if "full" in text or "I/O error" in text:
        hint = "Free some space and run the command again: what was stored before is reused."
        if path is None:
            hint = "Free some space, or name another temporary folder with TMPDIR."
    elif isinstance(error, MemoryError):
        text, hint = "there is not enough memory", "Give the process more memory (ulimit -v)."
    elif "not a database" in text or "malformed" in text:
        hint = f"Move {path} away, or name another folder with --cache-dir."
    return StoreError(f"The store {where} cannot be {verb}: {text}.", hint=hint)


def digest(*parts: bytes) -> str:
    """A digest of JSON texts and keys, none of which has a null byte."""
    return blake2b(b"\0".join(parts), digest_size=16).hexdigest()


def checksum(*values: Any) -> int:
    """A checksum of what SQLite holds: texts and numbers."""
    if len(values) == 1:
        return crc32(values[0].encode("utf-8", "replace"))
    return crc32(to_json(values))


def _key_of_text(text: str) -> tuple[str, str]:
    """The key of a long text and the content of its row. SQLite takes valid Unicode only."""
    try:
        return digest(text.encode()), text
    except UnicodeEncodeError:
        content = to_json(text).decode()
        return _ESCAPED + digest(content.encode()), content


def is_text(key: str, content: Any) -> bool:
    """Whether a content of the table `texts` is that of its key."""
    if not isinstance(content, str):
        return False
    return digest(content.encode("utf-8", "replace")) == key.removeprefix(_ESCAPED)


def now() -> str:
    """The time in UTC as ISO 8601, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
