"""Runs carried from one store to another: one of them alone is a file of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from cbcore._store.batches import Pair, packed
from cbcore._store.database import INSERT_BATCH, connected
from cbcore._store.reading import KeptTexts, Reader, kept_rows
from cbcore._store.records import RunRecord
from cbcore._store.rows import StoredRows
from cbcore._store.shelf import EXAMPLES, OUTPUTS
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


def import_run(source: Path, record: RunRecord, folder: str | Path) -> None:
    """Take a run of another store over, under its id."""
    store = Store(folder)
    if any(known.run_id == record.run_id for known in store.runs(record.run_id)):
        store.close()
        raise UsageError(
            f"run {record.run_id} is in {folder} already",
            hint=f"`cb runs rm {record.run_id}` removes it",
        )
    _copy(source, record, store)


def _copy(source: Path, record: RunRecord, target: Store) -> None:
    reader = Reader(source)
    from_store = Store(source.parent, read_only=True, file_name=source.name)
    try:
        document = from_store.document(record.run_id)
        places = record.manifest.get("places")
        if places is None:
            raise StoreError(f"the rows of run {record.run_id} were not kept")
        rows = kept_rows(reader, record)
        with target.changed() as database:
            for system, part in rows.items():
                database.executemany(INSERT_BATCH, packed(part.name, list(_rows(part))))
                outputs = OUTPUTS + bytes.fromhex(places["outputs"][system])
                texts = KeptTexts(reader, {system: part}, places)
                database.executemany(INSERT_BATCH, packed(outputs, texts.stored_outputs()))
            for owner in places["examples"]:
                name = EXAMPLES + bytes.fromhex(owner)
                # In their order, in which they were mostly written: a batch is opened once.
                wanted = dict.fromkeys(key for part in rows.values() for key, _ in part.keyed())
                found = list(reader.written(name).find(wanted))
                database.executemany(INSERT_BATCH, packed(name, found))
        record.manifest["places"] = {
            **places,
            "rows": {system: part.name[1:].hex() for system, part in rows.items()},
            "earlier": [],
        }
        target.save_run(record, document)
    finally:
        from_store.close()
        target.close()


def _rows(part: StoredRows) -> Iterator[Pair]:
    written = part.written
    for place, value in enumerate(written.values(0, len(written))):
        key = written.key(place)
        if key is not None and value is not None:
            yield key, value
