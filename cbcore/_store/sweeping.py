"""Runs taken out of a store, with all that no other run needs."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import attrs

from cbcore._store.batches import packed
from cbcore._store.database import INSERT_BATCH
from cbcore._store.outputs import payload_of
from cbcore._store.reading import kept_rows, row_shelves
from cbcore._store.records import RESUMABLE_STATES, RunRecord
from cbcore._store.rows import StoredRows
from cbcore._store.shelf import EXAMPLES, OUTPUTS, ROWS, SCORES, Written
from cbcore._store.store import Store
from cbcore.identity import content_key


class _NothingIsDoneError(Exception):
    """Ends a transaction that was only tried."""


@attrs.frozen
class Removed:
    """What taking runs out gives back."""

    n_runs: int
    n_bytes: int


def remove_runs(store: Store, run_ids: Iterable[str], *, dry_run: bool = False) -> Removed:
    """Take runs out. What a run needs that is still going on is left alone."""
    gone = set(run_ids)
    before = _size(store.path)
    freed = 0
    try:
        with store.changed() as database:
            room = _used(database)
            _Sweep(database, store.runs(), gone).sweep()
            freed = room - _used(database)
            if dry_run:
                raise _NothingIsDoneError
    except _NothingIsDoneError:
        return Removed(len(gone), freed)
    store.shrink()
    return Removed(len(gone), max(before - _size(store.path), 0))


def _used(database: sqlite3.Connection) -> int:
    values = [
        database.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    ]
    return int((values[0] - values[1]) * values[2])


def _size(path: Path) -> int:
    files = [path, path.with_name(path.name + "-wal")]
    return sum(file.stat().st_size for file in files if file.exists())


class _FromDatabase:
    """Shelves as the transaction sees them; stands for a `Reader`."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def written(self, name: bytes) -> Written:
        return Written(self._database, name)


class _Sweep:
    """What the runs that stay refer to is kept, all else goes.

    But for what one of them may have put before it was stopped, and no row tells of.
    """

    def __init__(
        self, database: sqlite3.Connection, records: Sequence[RunRecord], gone: set[str]
    ) -> None:
        self._database = database
        self._gone = [record for record in records if record.run_id in gone]
        self._staying = [record for record in records if record.run_id not in gone]
        running = [record for record in self._staying if _may_run(record)]
        # A run that is going on has put outputs that no row of it tells of yet.
        self._untouched = {name for record in running for name in _shared_shelves(record)}
        # And so has one that was killed or stopped, which may be continued.
        stopped = [record for record in self._staying if record.state in RESUMABLE_STATES]
        self._continued = {name for record in stopped for name in _shared_shelves(record)}
        self._wanted: dict[bytes, set[bytes]] = {}
        self._given_up: dict[bytes, set[bytes]] = {}

    def sweep(self) -> None:
        for record in self._gone:
            if self._continued.intersection(_shared_shelves(record)):
                self._note(record, self._given_up)
            for table in ("runs", "results"):
                statement = f"DELETE FROM {table} WHERE run_id = ?"  # noqa: S608 - one of two
                self._database.execute(statement, (record.run_id,))
        for record in self._staying:
            self._note(record, self._wanted)
        of_rows = {n for r in self._staying for a in row_shelves(r) for n in a.values()}
        for name in self._shelves(ROWS):
            if name not in of_rows:
                self._delete(name)
        for name in self._shelves(EXAMPLES):
            self._thin_out(name)
        scored: set[bytes] = set()
        for name in self._shelves(OUTPUTS):
            self._thin_out(name)
            scored.update(_keys_of_scores(Written(self._database, name)))
        for name in self._shelves(SCORES):
            self._wanted[name] = scored
            self._thin_out(name)

    def _note(self, record: RunRecord, noted: dict[bytes, set[bytes]]) -> None:
        """Note what the rows of a run refer to, by its shelf."""
        places = record.manifest.get("places")
        if places is None:
            return
        reader: Any = _FromDatabase(self._database)
        names = [EXAMPLES + bytes.fromhex(owner) for owner in places["examples"]]
        config = record.manifest["config"]
        repeats = config.get("settings", {}).get("repeats", 1)
        repeated = repeats != 1 or bool(config.get("options"))
        for system, rows in kept_rows(reader, record).items():
            keys = {key for many in rows.written.all_keys() for key in _split(many)}
            for name in names:
                noted.setdefault(name, set()).update(keys)
            outputs = OUTPUTS + bytes.fromhex(places["outputs"][system])
            if repeated:
                keys |= set(self._keys_of_repeats(rows, names))
            noted.setdefault(outputs, set()).update(keys)

    def _keys_of_repeats(self, rows: StoredRows, names: Sequence[bytes]) -> Iterable[bytes]:
        shelves = [Written(self._database, name) for name in names]
        for place, row in enumerate(rows):
            key = rows.written.key(place)
            if row.repeat and key is not None:
                for shelf in shelves:
                    for _, content in shelf.find([key]):
                        yield content_key(content + str(row.repeat).encode())

    def _shelves(self, sort: bytes) -> list[bytes]:
        query = "SELECT DISTINCT shelf FROM batches WHERE substr(shelf, 1, 1) = ?"
        found = [name for (name,) in self._database.execute(query, (sort,)).fetchall()]
        if sort == SCORES and self._untouched:
            return []
        return [name for name in found if name not in self._untouched]

    def _delete(self, name: bytes) -> None:
        self._database.execute("DELETE FROM batches WHERE shelf = ?", (name,))

    def _thin_out(self, name: bytes) -> None:
        """Leave on a shelf only what is wanted, and what a run may have put that can go on."""
        wanted, given_up = self._wanted.get(name, set()), self._given_up.get(name, set())
        may_be_anybodys = name in self._continued
        if not wanted and not may_be_anybodys:
            self._delete(name)
            return

        def stays(key: bytes) -> bool:
            return key in wanted or (may_be_anybodys and key not in given_up)

        query = "SELECT id, keys FROM batches WHERE shelf = ?"
        written = Written(self._database, name)
        for number, (identifier, keys) in enumerate(
            self._database.execute(query + " ORDER BY id", (name,)).fetchall()
        ):
            if all(map(stays, _split(keys))):
                continue
            batch = written.batch(number)
            pairs = [] if batch is None else [p for p in batch.pairs() if stays(p[0])]
            self._database.execute("DELETE FROM batches WHERE id = ?", (identifier,))
            self._database.executemany(INSERT_BATCH, packed(name, pairs))


def _may_run(record: RunRecord) -> bool:
    ours = record.manifest.get("host", {}).get("pid") == os.getpid()
    return record.state == "running" and (ours or record.shown_state == "running")


def _shared_shelves(record: RunRecord) -> Iterable[bytes]:
    places: Any = record.manifest.get("places", {})
    yield from (OUTPUTS + bytes.fromhex(owner) for owner in places.get("outputs", {}).values())
    yield from (EXAMPLES + bytes.fromhex(owner) for owner in places.get("examples", ()))


def _keys_of_scores(outputs: Written) -> Iterable[bytes]:
    """Under which keys the scores of these outputs are, as `Memo` makes them."""
    for number in range(outputs.n_batches):
        batch = outputs.batch(number)
        for key, value in () if batch is None else batch.pairs():
            yield content_key(key + payload_of(value))


def _split(keys: bytes) -> list[bytes]:
    return [keys[start : start + 16] for start in range(0, len(keys), 16)]
