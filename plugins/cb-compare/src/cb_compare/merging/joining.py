"""A run made of other runs of its store: rows in a new order, texts where they are."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from cbcore._store.reading import KeptTexts, Reader, kept_rows
from cbcore._store.records import RunRecord
from cbcore._store.rows import encoded
from cbcore._store.shelf import FULL, OWNER_BYTES, Shelf
from cbcore._store.store import Store
from cbcore._store.tally import Tally
from cbcore.exceptions import StoreError
from cbcore.results import EvalRow


@contextlib.contextmanager
def new_shelves(store: Store) -> Iterator[list[Shelf]]:
    """A list for the shelves that a run is made on. They are given up where it comes to nothing."""
    made: list[Shelf] = []
    try:
        yield made
    except BaseException:  # whatever it is: nobody else knows of them
        with contextlib.suppress(StoreError), store.changed() as database:
            names = [(shelf.name,) for shelf in made]
            database.executemany("DELETE FROM batches WHERE shelf = ?", names)
        raise


def put_rows(
    store: Store, rows: Iterable[tuple[bytes, EvalRow]], tally: Tally, made: list[Shelf]
) -> str:
    """Keep rows of a new run, in this order, and count them. Returns the owner of their shelf."""
    owner = os.urandom(OWNER_BYTES)
    shelf = store.shelf("rows", owner)
    made.append(shelf)
    for key, row in rows:
        tally.add(row)
        shelf.put((key, encoded(row)))
        if len(shelf.waiting) >= FULL:
            store.pack()
            if store.is_due:
                store.keep_up()
    store.commit()
    return owner.hex()


def check_still_there(store: Store, record: RunRecord, origins: Sequence[RunRecord]) -> None:
    """Raise `StoreError` where another process has removed what a run is made of meanwhile.

    Until it is recorded, its rows are nobody's.
    """
    known = {found.run_id for found in store.runs()}
    n_rows = sum(
        store.count_of(store.shelf("rows", bytes.fromhex(owner)))
        for owner in record.manifest["places"]["rows"].values()
    )
    if n_rows != record.manifest["rows"]["total"] or any(o.run_id not in known for o in origins):
        raise StoreError(
            f"runs were removed from {store.path} meanwhile", hint="run the command again"
        )


def shared_places(store: Store, records: Sequence[RunRecord], made: list[Shelf]) -> dict[str, Any]:
    """Where the outputs and examples of runs of this store are, for a run that has their rows.

    Outputs are on the shelf of their system, which all runs share. A system without an identity
    has another shelf in every run: what is on those is put on a new one.
    """
    of_runs: list[Mapping[str, Any]] = [record.manifest["places"] for record in records]
    outputs: dict[str, str] = {}
    for system in dict.fromkeys(name for places in of_runs for name in places["outputs"]):
        owners = dict.fromkeys(p["outputs"][system] for p in of_runs if system in p["outputs"])
        outputs[system] = next(iter(owners))
        if len(owners) > 1:
            outputs[system] = _together(store, system, records, made)
    examples = dict.fromkeys(owner for places in of_runs for owner in places["examples"])
    return {"outputs": outputs, "examples": list(examples), "earlier": []}


def _together(store: Store, system: str, records: Sequence[RunRecord], made: list[Shelf]) -> str:
    owner = os.urandom(OWNER_BYTES)
    shelf = store.shelf("outputs", owner)
    made.append(shelf)
    reader = Reader(store.path)
    for record in records:
        rows = kept_rows(reader, record)
        if system in rows:
            texts = KeptTexts(reader, {system: rows[system]}, record.manifest["places"])
            shelf.put(list(chain.from_iterable(texts.stored_outputs())))
            store.commit()
    return owner.hex()
