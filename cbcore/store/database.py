"""One SQLite file in plain tables. One thread writes; the others only queue.

The tables are part of the interface: `docs/reference/store.md` describes them, and any program
that reads SQLite may read them, also while a run is going on.
"""

from __future__ import annotations

import functools
import sqlite3
import threading
import time
import weakref
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from zlib import crc32

from cbcore.boundary import contained
from cbcore.exceptions import StoreError
from cbcore.json_data import from_json, to_json

__all__ = ("Store",)

FILE_NAME = "runs.sqlite3"
_OLD_FILE_NAME = "store.sqlite3"
SCHEMA_VERSION = 2

SCHEMA = """
CREATE TABLE runs (run_id TEXT PRIMARY KEY, started TEXT NOT NULL, ended TEXT,
  state TEXT NOT NULL, -- running, finished, interrupted or failed
  reason TEXT, -- why the run did not finish
  config TEXT NOT NULL, -- JSON: settings as they were given, and records of the components
  environment TEXT NOT NULL, -- JSON: command, machine, process, plugins and their versions
  outcome TEXT NOT NULL, -- JSON: counts of rows, mean main score of each system
  checksum INTEGER NOT NULL, -- of the columns before it
  origin TEXT NOT NULL, -- own, imported or trusted
  result TEXT, -- JSON: summary, verdicts and sections
  result_checksum INTEGER);
CREATE TABLE texts (text_key TEXT PRIMARY KEY, -- a digest of the content
  content TEXT NOT NULL);
CREATE TABLE examples (example_key TEXT PRIMARY KEY, -- a digest of the content
  content TEXT NOT NULL, -- JSON
  checksum INTEGER NOT NULL);
CREATE TABLE outputs (system_key TEXT NOT NULL, example_key TEXT NOT NULL, repeat INTEGER NOT NULL,
  output_key TEXT NOT NULL, -- a digest of the example's key and the output
  latency_s REAL NOT NULL, run_id TEXT NOT NULL,
  output TEXT NOT NULL, -- JSON
  checksum INTEGER NOT NULL,
  PRIMARY KEY (system_key, example_key, repeat));
CREATE TABLE scores (evaluator_key TEXT NOT NULL, output_key TEXT NOT NULL, run_id TEXT NOT NULL,
  scores TEXT NOT NULL, -- JSON: scores, details and cost
  checksum INTEGER NOT NULL,
  PRIMARY KEY (evaluator_key, output_key));
CREATE TABLE rows (run_id TEXT NOT NULL, system_key TEXT, output_key TEXT,
  system TEXT NOT NULL, example_id TEXT NOT NULL,
  scores TEXT NOT NULL, -- JSON: score by name
  input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
  metadata TEXT NOT NULL, -- JSON
  latency_s REAL NOT NULL, dataset TEXT NOT NULL, error TEXT,
  missing TEXT NOT NULL, -- JSON: reason by name of the score
  response TEXT, response_tokens INTEGER NOT NULL, repeat INTEGER NOT NULL,
  cached INTEGER NOT NULL, example_key TEXT NOT NULL, position INTEGER NOT NULL,
  id_is_integer INTEGER NOT NULL, -- 1 if the id is a number
  checksum INTEGER NOT NULL, -- of the columns from system on
  PRIMARY KEY (run_id, system, position))
"""

LONG_TEXT = 4096
"""Texts of more characters are stored once, in `texts`, however often they occur."""

_PIECE = 1_000_000
_MOST_PENDING = 10_000
_MOST_CHARACTERS = 64_000_000
_MANY = 200
"""After a batch of more writes, the writer waits a moment: fewer and larger commits cost less."""
_PAUSE_S = 0.05
_LOCK_WAIT_S = 60.0
_LOCK_RETRY_S = 0.01
_LARGEST_VALUE = 900_000_000
"""Bytes of a value at most; SQLite refuses a billion, and with them the whole batch."""
_PUT_TEXT = """INSERT INTO texts VALUES (?, ?) ON CONFLICT (text_key)
DO UPDATE SET content=excluded.content WHERE content IS NOT excluded.content"""


class Reader:
    """A connection that only reads. May be used from any thread."""

    def __init__(
        self, connection: sqlite3.Connection, path: Path | None, address: str = ":memory:"
    ) -> None:
        self.connection = connection
        self.path = path
        self.address = address
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

    def read(self, text: Any, known: Any) -> Any:
        """The data that `Store.encode` wrote with this checksum; None if it is damaged or absent."""
        with contained():  # it may be anything but a text
            if checksum(text) == known:
                return self.decode(text)
        return None

    def decode(self, text: str) -> Any:
        """The data that `Store.encode` wrote. Raises ValueError if it is damaged."""
        value = from_json(text.encode("utf-8", "replace"))
        return self._unpack(value) if '"$' in text else value

    def _unpack(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._unpack(item) for item in value]
        if not isinstance(value, dict):
            return value
        if value.keys() == {"$text"}:
            key = value["$text"]
            for (content,) in self.query("SELECT content FROM texts WHERE text_key=?", (key,)):
                if is_text(key, content):
                    return content
            raise ValueError(f"the text {key} is missing or damaged")
        if value.keys() == {"$dict"} and isinstance(value["$dict"], dict):
            value = value["$dict"]
        return {key: self._unpack(item) for key, item in value.items()}


class Store:
    """The tables of one folder. `put` may be called from any thread; it never waits or fails.

    Without a folder, the tables are in a temporary file without a name, which goes with the last
    reference to `reader`, or with the process. A store that `is_dry` is read, and never written.
    """

    def __init__(self, folder: str | Path | None, *, is_dry: bool = False) -> None:
        self.path = None if folder is None else find_store(folder)
        self.failure: Exception | None = None
        self._queue: SimpleQueue[Any] = SimpleQueue()  # writes, events to set, and None for the end
        self._n_pending_characters = 0
        self._known_texts: set[str] = set()
        self._is_closed = is_dry
        if is_dry and self.path is not None:
            self.reader = open_reader(self.path)
            return
        try:
            if self.path is not None:
                self._connection, connection = open_database(self.path), _connect(str(self.path))
            else:
                import tempfile

                with tempfile.TemporaryDirectory(prefix="cb-rows-") as unnamed:
                    path = Path(unnamed, FILE_NAME)
                    self._connection, connection = open_database(path), open_database(path)
        except (OSError, sqlite3.Error) as error:
            raise describe_failure(self.path, "opened", error) from error
        self.reader = Reader(connection, self.path)
        self._writer = threading.Thread(target=self._write, name="cb-store", daemon=True)
        self._writer.start()

    # -- any thread ----------------------------------------------------------------------------

    def put_row(self, table: str, *values: Any) -> None:
        """Queue a row of a table, in the place of the one that has its key."""
        self.put(_write_insert(table, len(values)), values)

    def put(self, statement: str, values: tuple[Any, ...]) -> None:
        """Queue a write."""
        if not self._is_closed:
            self._queue.put((statement, values))

    def encode(self, value: Any, data: bytes | None = None) -> str:
        """Plain data as JSON in which long texts are `{"$text": key}`; `data` is its JSON as it is.

        Raises TypeError for other data, and ValueError if it is too large.
        """
        data = to_json(value) if data is None else data
        if len(data) > LONG_TEXT or b'"$' in data:
            if len(data) > _LARGEST_VALUE:
                raise ValueError(f"it has {len(data):,} bytes")
            data = to_json(self._pack(value))
        return data.decode()

    def _pack(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.put_text(value) if len(value) > LONG_TEXT else value
        if isinstance(value, dict):
            packed = {key: self._pack(item) for key, item in value.items()}
            return {"$dict": packed} if packed.keys() & {"$text", "$dict"} else packed
        return [self._pack(item) for item in value] if isinstance(value, list | tuple) else value

    def put_text(self, text: str) -> Any:
        """Store a long text once. Returns what stands for it in JSON: itself if it is not valid."""
        try:
            key = digest_text(text)
        except UnicodeEncodeError:
            return text
        if key not in self._known_texts:
            self._known_texts.add(key)
            self._n_pending_characters += len(text)
            self.put(_PUT_TEXT, (key, text))
        return {"$text": key}

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
        if not self._is_closed:
            is_written = threading.Event()
            self._queue.put(is_written)
            is_written.wait(timeout_s)

    def close(self) -> None:
        """Write what was put, and end the writer. Raises `StoreError` if it could not be written."""
        self.flush()  # before it counts as closed: an interrupt may come while this waits
        if not self._is_closed:
            self._is_closed = True
            self._queue.put(None)
            self._writer.join()
        self.check()

    # -- the writer thread ---------------------------------------------------------------------

    def _write(self) -> None:
        batch: list[Any] = []
        while None not in batch:
            batch = [self._queue.get()]
            while len(batch) < _MOST_PENDING and not self._queue.empty():
                batch.append(self._queue.get())
            writes: dict[str, list[Any]] = {}
            waiting = []
            for item in batch:
                if isinstance(item, tuple):
                    writes.setdefault(item[0], []).append(item[1])
                elif item is not None:
                    waiting.append(item)
            if writes and self.failure is None:
                self._commit(writes)
            for event in waiting:
                event.set()
            if len(batch) > _MANY and not waiting and self._queue.qsize() < _MOST_PENDING // 4:
                time.sleep(_PAUSE_S)
        self._connection.close()

    def _commit(self, writes: dict[str, list[Any]]) -> None:
        """Write all of it or nothing. After a failure nothing more is written."""
        database = self._connection
        try:
            database.execute("BEGIN IMMEDIATE")
            for statement, rows in writes.items():
                database.executemany(statement, rows)
            database.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - the driver raises it
            self.failure = error
            if database.in_transaction:
                with contained():
                    database.execute("ROLLBACK")


@functools.cache
def _write_insert(table: str, n_values: int) -> str:
    return f"INSERT OR REPLACE INTO {table} VALUES (?{', ?' * (n_values - 1)})"  # noqa: S608


def find_store(folder: str | Path) -> Path:
    """The file of a folder's store. Raises `StoreError` for a folder of an earlier format."""
    try:
        path = Path(folder).expanduser().absolute()
    except OSError as error:
        hint = "Use a working folder that exists, --cache-dir with an absolute path, or --no-cache."
        raise StoreError("The working folder does not exist.", hint=hint) from error
    if (path / _OLD_FILE_NAME).exists() and not (path / FILE_NAME).exists():
        raise StoreError(
            f"The folder {folder} has runs in an earlier format, which this version cannot read.",
            hint="Name another folder with --cache-dir, or move this one away.",
        )
    return path / FILE_NAME


def open_reader(path: Path) -> Reader:
    """A store that is not changed; an empty one if there is none. Raises `StoreError`."""
    # A reader needs files beside the database. If their folder is read-only, nobody writes.
    addresses = [f"{path.as_uri()}?mode=ro{more}" for more in ("", "&immutable=1")]
    failure: sqlite3.Error | None = None
    for address in addresses if path.is_file() else ():
        try:
            connection = _connect(address)
            if _check_version(connection, path) == 0:  # another process is about to make its tables
                break
            connection.execute("SELECT 1 FROM runs LIMIT 1").fetchone()
            return Reader(connection, path, address)
        except sqlite3.Error as error:
            failure = failure or error
    if failure is not None:
        raise describe_failure(path, "read", failure) from failure
    connection = _connect(":memory:")
    connection.executescript(SCHEMA)
    return Reader(connection, path)


def _connect(address: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        address, timeout=_LOCK_WAIT_S, isolation_level=None, check_same_thread=False, uri=True
    )
    # Damage is found by checksums, not by an error of the whole store.
    connection.text_factory = lambda content: content.decode("utf-8", "replace")
    return connection


def open_database(path: Path) -> sqlite3.Connection:
    """A connection that writes to a store, which is created if there is none.

    Several processes may do so at once, and the change to WAL does not wait.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = _connect(str(path))
    for pragma in ("synchronous=NORMAL", "cache_size=-32000", "wal_autocheckpoint=16000"):
        connection.execute(f"PRAGMA {pragma}")
    end = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            if _check_version(connection, path) == SCHEMA_VERSION:
                return connection
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
    hint = "Name another folder with --cache-dir."
    if "full" in text or "I/O error" in text:
        hint = "Free some space and run the command again: what was stored before is reused."
        hint = hint if path else "Free some space, or name another temporary folder with TMPDIR."
    elif isinstance(error, MemoryError):
        text, hint = "there is not enough memory", "Give the process more memory (ulimit -v)."
    elif "not a database" in text or "malformed" in text:
        hint = f"Move {path} away, or name another folder with --cache-dir."
    where = path or "in the temporary folder"
    return StoreError(f"The store {where} cannot be {verb}: {text}.", hint=hint)


def digest(*parts: bytes) -> str:
    """A digest of JSON texts and keys, none of which has a null byte."""
    hasher = blake2b(parts[0], digest_size=16)
    for part in parts[1:]:
        hasher.update(b"\0")
        hasher.update(part)
    return hasher.hexdigest()


def checksum(*values: Any) -> int:
    """A checksum of what SQLite holds: texts and numbers."""
    return crc32(to_json(values))


def make_valid(text: str) -> str:
    """A text that SQLite takes, which is valid Unicode only."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def digest_text(text: str) -> str:
    """The key of a long text, of which no whole copy is made. Raises UnicodeEncodeError."""
    hasher = blake2b(digest_size=16)
    for start in range(0, len(text), _PIECE):
        hasher.update(text[start : start + _PIECE].encode())
    return hasher.hexdigest()


def is_text(key: str, content: Any) -> bool:
    """Whether a content of the table `texts` is that of its key."""
    return isinstance(content, str) and digest_text(content) == key


def now() -> str:
    """The time in UTC as ISO 8601, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
