"""Runs carried from one store to another: one of them alone is a file of its own."""

from __future__ import annotations

import os
import shlex
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path

import attrs

from cbcore._store.batches import KEY_BYTES, MOST_VALUES, Pair, packed
from cbcore._store.database import INSERT_BATCH, connected
from cbcore._store.reading import KeptTexts, Reader, kept_rows
from cbcore._store.records import Manifest, RunRecord
from cbcore._store.rows import StoredRows
from cbcore._store.shelf import EXAMPLES, OUTPUTS, OWNER_BYTES, ROWS
from cbcore._store.store import Store
from cbcore.exceptions import StoreError, UsageError


def export_run(source: Path, record: RunRecord, target: Path) -> None:
    """Write a run, with its rows and texts, to a file that stands for itself."""
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".cb-export-") as folder:
        made = Path(folder) / "run"
        _copy(source, record, Store(made.parent, file_name=made.name))
        # Without the files that belong to a store which is written to.
        database = connected(str(made))
        database.execute("PRAGMA journal_mode=DELETE").fetchall()
        database.close()
        made.replace(target)


def removal(run_id: str, folder: str | Path) -> str:
    """The command that removes a run from this store, and not one of that id from another."""
    return f"cb runs rm {run_id} --cache-dir {shlex.quote(str(folder))}"


def import_run(
    source: Path,
    record: RunRecord,
    folder: str | Path,
    *,
    trusted: bool = False,
    apart: dict[str, str] | None = None,
) -> None:
    """Take a run of another store over, under its id.

    Unless its file is `trusted`, the run is marked, so that nothing which it names is run or read
    later, and its texts are kept apart: no other run recalls what a stranger says that a system
    returned. `apart` are the shelves for that, by those of the file, where several runs share them.
    """
    store = Store(folder)
    if any(known.run_id == record.run_id for known in store.runs(record.run_id)):
        store.close()
        raise UsageError(
            f"run {record.run_id} is in {folder} already",
            hint=f"`{removal(record.run_id, folder)}` removes it",
        )
    shelves = {} if apart is None else apart
    _copy(source, record, store, None if trusted else shelves)


def _copy(
    source: Path, record: RunRecord, target: Store, apart: dict[str, str] | None = None
) -> None:
    """Copy a run; with `apart`, its texts to the shelves that stand there for those it names."""

    def owned(owner: str) -> str:
        return owner if apart is None else apart.setdefault(owner, os.urandom(OWNER_BYTES).hex())

    reader = Reader(source)
    from_store = Store(source.parent, read_only=True, file_name=source.name)
    try:
        document = from_store.document(record.run_id)
        places = record.manifest.get("places")
        if places is None:
            raise StoreError(f"the rows of run {record.run_id} were not kept")
        rows = kept_rows(reader, record)
        # New ones: on those that a file names there may be rows of another run.
        owners = {system: os.urandom(OWNER_BYTES) for system in rows}
        outputs = {system: owned(owner) for system, owner in places["outputs"].items()}
        with target.changed() as database:
            for system, part in rows.items():
                _put(database, ROWS + owners[system], _rows(part))
                texts = KeptTexts(reader, {system: part}, places)
                _put(database, OUTPUTS + bytes.fromhex(outputs[system]), texts.stored_outputs())
            # In their order, in which they were mostly written: a batch is opened once.
            wanted = dict.fromkeys(chain.from_iterable(p.written.keys() for p in rows.values()))
            for owner in places["examples"]:
                found = reader.written(EXAMPLES + bytes.fromhex(owner)).find(wanted)
                _put(database, EXAMPLES + bytes.fromhex(owned(owner)), found)
            manifest: Manifest = {**record.manifest, "untrusted": apart is not None}
            manifest["places"] = {
                "outputs": outputs,
                "examples": [owned(owner) for owner in places["examples"]],
                "rows": {system: owner.hex() for system, owner in owners.items()},
                "earlier": [],
            }
            # With what it refers to, or others would take that for left behind.
            target.write_run(database, attrs.evolve(record, manifest=manifest), document)
    finally:
        from_store.close()
        target.close()


def _put(database: sqlite3.Connection, name: bytes, pairs: Iterable[Pair]) -> None:
    """Put pairs on a shelf, a batch of them in memory at a time."""
    coming = iter(pairs)
    while some := list(islice(coming, MOST_VALUES)):
        database.executemany(INSERT_BATCH, packed(name, some))


def _rows(part: StoredRows) -> Iterator[Pair]:
    written = part.written
    for place, value in enumerate(written.values(0, len(written))):
        # What was damaged stays a row, and one that says so.
        yield written.key(place) or bytes(KEY_BYTES), value or b""
