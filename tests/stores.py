"""Stores looked at from outside: values by short keys, and what is in their files."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

from cbcore._store.batches import unpacked
from cbcore._store.shelf import SORTS
from cbcore._store.store import Store

OWNER = b"an owner"


def key_of(name: object) -> bytes:
    """A key as long as those of the store."""
    return blake2b(str(name).encode(), digest_size=16).digest()


def put(store: Store, sort: str, name: object, value: bytes) -> None:
    """Store a value by a name."""
    store.shelf(sort, OWNER).put((key_of(name), value))


def get(store: Store, sort: str, names: Iterable[object]) -> dict[object, bytes]:
    """The values that are stored by these names."""
    by_key = {key_of(name): name for name in names}
    return {by_key[k]: value for k, value in store.shelf(sort, OWNER).get([*by_key]).items()}


def values_in(path: Path | str, sort: str) -> list[bytes]:
    """All values of a sort in the file of a store; none where it has no tables yet."""
    database = sqlite3.connect(path)
    try:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
        if "batches" not in tables:  # its tables are made all at once
            assert not tables
            return []
        query = "SELECT shelf, n, keys, data, checksum FROM batches WHERE substr(shelf, 1, 1) = ?"
        batches = [unpacked(*row) for row in database.execute(query, (SORTS[sort],)).fetchall()]
    finally:
        database.close()
    assert None not in batches
    return [value for batch in batches if batch is not None for _, value in batch.pairs()]
