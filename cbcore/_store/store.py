"""The store: what is kept of runs, in one SQLite file.

What systems returned and what evaluators scored are content-addressed and kept apart; examples
are kept once, and the rows of every run in their order. Writes are committed together, by number
and by time; what was committed survives `kill -9`, and several processes may use one store at
once. A commit is on the disk when it is over, so that it survives a power cut too. Everything has
a checksum: what was damaged on the disk counts as not stored.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast
from zlib import compress, crc32

from cbcore._store.batches import Packed, Pair, inflated, unpacked
from cbcore._store.database import (
    FILE_NAME,
    INSERT_BATCH,
    connected,
    failure,
    opened_as_it_is,
    prepare,
    transaction,
)
from cbcore._store.records import Manifest, RunRecord
from cbcore._store.shelf import OWNER_BYTES, SORTS, Shelf, Written
from cbcore.exceptions import StoreError
from cbcore.json_data import from_json, to_json, to_json_safe
from cbcore.secrets import hide

_MOST_PACKED = 256
_LARGEST_DOCUMENT = 256_000_000
_SHORTEST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0
_PAUSE_PER_COMMIT = 20
"""How much longer than the work of a commit the pause after it is: durability costs a twentieth."""


class Store:
    """Shelves of values, and the records of runs. May be used from any thread.

    What was put waits in memory, where it is found at once, until it is committed: when much is
    waiting, or a moment later even if nothing more is put. The moment is a twentieth of a second
    while little is put, and a second at most.
    """

    def __init__(
        self, folder: str | Path, *, read_only: bool = False, file_name: str = FILE_NAME
    ) -> None:
        """Open the store of a folder, which is made where there is none.

        One that is `read_only` is as it is on the disk, which may forbid to write; where there
        is no store, it is empty and nothing is made.
        """
        self.path = _absolute(folder) / file_name
        self._shelves: dict[bytes, Shelf] = {}
        # What was put is waiting on its shelf, then in `_packed`, and from there in `_writing`
        # until it is committed. This lock is held for moments only: nobody who puts much, and
        # packs it, waits for the disk.
        self._packing = threading.Lock()
        self._packed: list[Packed] = []
        self._writing: list[Packed] = []
        self.n_damaged = 0
        self._lock = threading.RLock()
        self._closed = threading.Event()
        self._committer: threading.Thread | None = None
        self._behind = self.is_due = self._may_be_there = False
        if read_only and (database := opened_as_it_is(self.path)) is not None:
            self._database = database
            return
        in_memory = read_only and not self.path.is_file()
        try:
            if not in_memory:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            self._database = connected(":memory:" if in_memory else str(self.path))
        except (OSError, sqlite3.Error) as error:
            raise failure(self.path, "opened", error) from error
        try:
            prepare(self._database, self.path)
        except BaseException as error:  # whatever it is, the file is closed
            self._database.close()
            if isinstance(error, sqlite3.Error):
                raise failure(self.path, "opened", error) from error
            raise

    # -- values --------------------------------------------------------------------------------

    def shelf(self, sort: str, owner: bytes) -> Shelf:
        """The shelf of an owner for one sort of values; the same one each time."""
        made = Shelf(self, _shelf_name(sort, owner))
        with self._packing:
            shelf = self._shelves.setdefault(made.name, made)
        if self._committer is None:
            self._start_committing()
        return shelf

    def find(self, shelf: Shelf, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """What is on the disk under these keys."""
        with self._lock:
            try:
                written = self.written(shelf)
                before = written.n_damaged
                found = dict(written.find(keys))
            except sqlite3.Error as error:
                raise failure(self.path, "read", error) from error
            self.n_damaged += written.n_damaged - before
        return found

    def written(self, shelf: Shelf) -> Written:
        """What is on the disk of a shelf, as it was when it was first asked for."""
        if shelf.written is None:
            shelf.written = Written(self._database, shelf.name)
        return shelf.written

    def read_anew(self) -> None:
        """Have all be found that was put until now.

        What is on the disk is found as it was when first looked for, and what is not there yet
        until it is. An equal system before this one has put both, and what it put in between
        would be found in neither place.
        """
        with self._lock:
            with contextlib.suppress(StoreError):  # which whoever puts is told
                self.commit()
            for shelf in [*self._shelves.values()]:
                shelf.written = None

    def keys_of(self, shelf: Shelf) -> bytes:
        """The keys of all that is on the disk of a shelf, one behind another, in their order."""
        with self._lock:
            try:
                return b"".join(self.written(shelf).all_keys())
            except sqlite3.Error as error:
                raise failure(self.path, "read", error) from error

    def uncommitted(self, shelf: Shelf) -> list[Pair]:
        """What was put on a shelf and is not on the disk yet."""
        with self._packing:
            waiting = shelf.waiting_pairs()
            mine = [batch for batch in (*self._writing, *self._packed) if batch[0] == shelf.name]
        packed_before = [batch for values in mine if (batch := unpacked(*values)) is not None]
        return [*(pair for batch in packed_before for pair in batch.pairs()), *waiting]

    def count_of(self, shelf: Shelf) -> int:
        """How many values are on the disk of a shelf, now."""
        return self._count("shelf = ?", shelf.name)

    def count(self, sort: str) -> int:
        """How many values of a sort are on the disk."""
        return self._count("substr(shelf, 1, 1) = ?", SORTS[sort])

    def _count(self, condition: str, value: bytes) -> int:
        query = f"SELECT coalesce(sum(n), 0) FROM batches WHERE {condition}"  # noqa: S608
        with self._lock:
            try:
                (number,) = self._database.execute(query, (value,)).fetchone()
            except sqlite3.Error as error:
                raise failure(self.path, "read", error) from error
        return int(number)

    # -- committing ----------------------------------------------------------------------------

    def pack(self) -> None:
        """Make batches of what is waiting, which take less room; to be called by who puts much."""
        with self._packing:
            for shelf in self._shelves.values():
                if shelf.waiting:
                    shelf.pack_into(self._packed)
            if len(self._packed) > _MOST_PACKED:
                self.is_due = True

    def keep_up(self) -> None:
        """To be called when `is_due`, by who puts much, where it can wait and be told of a failure.

        Commits what is waiting if it is much, or if the last could not be written; waits for a
        commit that is under way.
        """
        if self._behind or len(self._packed) > _MOST_PACKED:
            self.commit()
        else:
            with self._lock:  # two busy threads would only get in each other's way
                pass

    def _start_committing(self) -> None:
        with self._packing:
            if self._committer is not None:
                return
            committer = threading.Thread(
                target=_commit_regularly,
                args=(weakref.ref(self), self._closed),
                name="cb-store",
                daemon=True,
            )
            # Where no thread can be started, what was put is written at the end.
            with contextlib.suppress(RuntimeError):
                committer.start()
                self._committer = committer

    def commit(self) -> None:
        """Write what is waiting, whole or not at all."""
        with self._lock:
            self.pack()
            with self._packing:
                # What an earlier attempt could not write is there still.
                self._writing, self._packed = self._writing + self._packed, []
            if not self._writing:
                self.is_due = False
                return
            self.is_due = True
            try:
                with transaction(self._database):
                    # One that failed may be on the disk all the same: the disk has the last word.
                    anew = self._writing if not self._may_be_there else self._not_there()
                    self._database.executemany(INSERT_BATCH, anew)
            except sqlite3.Error as error:
                # What is waiting stays so: an interrupt between two statements loses nothing.
                self._may_be_there = True
                raise failure(self.path, "written", error) from error
            finally:
                self.is_due = False
            self._may_be_there = False
            with self._packing:
                self._writing = []
            self._behind = False

    def _not_there(self) -> list[Packed]:
        """Of what is to be written, what an attempt that failed has not written."""
        query = "SELECT 1 FROM batches WHERE shelf = ? AND n = ? AND checksum = ? AND keys = ?"
        return [
            batch
            for batch in self._writing
            if not self._database.execute(
                query, (batch[0], batch[1], batch[4], batch[2])
            ).fetchall()
        ]

    def commit_in_background(self) -> None:
        """As `commit`, but a failure is left to `keep_up`, whose caller can be told."""
        with self._lock:
            if self._closed.is_set():
                return
            try:
                self.commit()
            except StoreError:
                self._behind = self.is_due = True

    # -- runs ----------------------------------------------------------------------------------

    def save_run(
        self, record: RunRecord, document: Any = None, *, replaced: Sequence[bytes] = ()
    ) -> None:
        """Write down a run, at once, under its id, and in the end what came of it.

        What is on the `replaced` shelves is given up.
        """
        with self.changed() as database:
            self.write_run(database, record, document)
            for name in replaced:
                database.execute("DELETE FROM batches WHERE shelf = ?", (name,))

    def write_run(self, database: sqlite3.Connection, record: RunRecord, document: Any) -> None:
        """As `save_run`, as a part of what is `changed`."""
        manifest = to_json(hide(to_json_safe(record.manifest)))
        run_id = record.run_id.encode()
        values = (
            *(record.run_id, record.started, record.ended, record.state),
            *(manifest, _checksum(run_id, manifest)),
        )
        database.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?)", values)
        if document is not None:
            told = compress(to_json(hide(to_json_safe(document))))
            database.execute(
                "INSERT OR REPLACE INTO results VALUES (?, ?, ?)",
                (record.run_id, told, _checksum(run_id, told)),
            )

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
            raise failure(self.path, "read", error) from error
        records = []
        for run_id, started, ended, state, manifest, checksum in found:
            read = None
            if all(type(text) is str for text in (run_id, started, ended, state)):
                with contextlib.suppress(ValueError, RecursionError):
                    sound = _is_sound(run_id.encode(), manifest, checksum)
                    read = from_json(manifest) if sound else None
            if isinstance(read, dict):
                known = cast(Manifest, read)
                records.append(RunRecord(run_id, started, known, state=state, ended=ended))
            else:
                from cbcore._logging import get_logger

                get_logger().warning(f"the record of run {run_id!r} cannot be read")
        return records

    def document(self, run_id: str) -> dict[str, Any] | None:
        """What came of a run, without its rows; None where it did not end, or it is damaged."""
        query = "SELECT document, checksum FROM results WHERE run_id = ?"
        try:
            with self._lock:
                found = self._database.execute(query, (run_id,)).fetchone()
        except sqlite3.Error as error:
            raise failure(self.path, "read", error) from error
        if found is None or not _is_sound(run_id.encode(), *found):
            return None
        content = inflated(found[0], _LARGEST_DOCUMENT)
        with contextlib.suppress(ValueError, RecursionError):
            read = None if content is None else from_json(content)
            return read if isinstance(read, dict) else None
        return None

    @contextlib.contextmanager
    def changed(self) -> Iterator[sqlite3.Connection]:
        """The database, to change more of it than what was put: all of it or nothing."""
        self.commit()
        try:
            with self._lock, transaction(self._database):
                yield self._database
        except sqlite3.Error as error:
            raise failure(self.path, "written", error) from error

    def shrink(self) -> None:
        """Give the room of what was deleted back to the disk."""
        with self._lock:
            try:
                (kind,) = self._database.execute("PRAGMA auto_vacuum").fetchone()
                # As a script: of a statement without columns, `execute` takes one step only.
                self._database.executescript("PRAGMA incremental_vacuum" if kind else "VACUUM")
                self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            except sqlite3.Error as error:
                raise failure(self.path, "written", error) from error

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
                with contextlib.suppress(sqlite3.Error):
                    # Into the one file, unless somebody is reading: nobody waits for that.
                    self._database.execute("PRAGMA busy_timeout=0").fetchall()
                    self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                self._database.close()


def _shelf_name(sort: str, owner: bytes) -> bytes:
    return SORTS[sort] + owner[:OWNER_BYTES].ljust(OWNER_BYTES, b"\0")


def _checksum(key: bytes, value: bytes) -> int:
    """Of both: a damaged index leads to a sound value that is another's."""
    return crc32(value, crc32(key))


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
