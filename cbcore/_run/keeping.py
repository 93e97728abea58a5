"""Where the results of a run are kept in its store, so that it can be read back whole."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from cbcore._store.batches import KEY_BYTES, LARGEST_VALUE
from cbcore._store.reading import Reader
from cbcore._store.rows import GrowingRows
from cbcore._store.shelf import OWNER_BYTES, Shelf
from cbcore._store.store import Store
from cbcore.identity import content_key
from cbcore.json_data import from_json, to_json
from cbcore.secrets import hide, is_shown_in


class _Addresses:
    """Addresses to look for one among: little more than their own bytes each.

    A set would take five times that, in a store that holds the examples of other shards. They are
    shared out by their first 14 bits: of ten million, one is found in a microsecond or two.
    """

    def __init__(self, joined: bytes) -> None:
        self._parts = parts = [bytearray() for _ in range(2**14)]
        for start in range(0, len(joined), KEY_BYTES):
            address = joined[start : start + KEY_BYTES]
            parts[address[0] << 6 | address[1] >> 2] += address

    def add(self, address: bytes) -> None:
        self._parts[address[0] << 6 | address[1] >> 2] += address

    def __contains__(self, address: bytes) -> bool:
        part = self._parts[address[0] << 6 | address[1] >> 2]
        at = part.find(address)
        while at > 0 and at % KEY_BYTES:  # across the border of two others
            at = part.find(address, at + 1)
        return at >= 0


class KeptExamples:
    """The examples of one source in the store: each once, whichever system meets it first.

    Every system meets them in the same order, so that one is mostly found where it is looked
    for first; only those that are not there are searched among all.
    """

    def __init__(self, shelf: Shelf, known: bytes) -> None:
        """`known` are the addresses of those that are there, one behind another."""
        self._shelf = shelf
        self._order = bytearray(known)
        self._all: _Addresses | None = None

    def kept(self, place: int, address: bytes, content: bytes) -> int:
        """Store an example unless it is there. Returns the place where to look for the next."""
        order = self._order
        after = place + KEY_BYTES
        if order.startswith(address, place):
            return after
        if place < len(order):
            if self._all is None:
                self._all = _Addresses(bytes(order))
            if address in self._all:
                return place
            self._all.add(address)
        order += address
        if is_shown_in(content):
            content = to_json(hide(from_json(content)), sort_keys=True)
        if len(content) <= LARGEST_VALUE:
            self._shelf.put((address, content))
        return after if after == len(order) else place


@attrs.frozen(repr=False)
class Places:
    """Where one system's results on one source are kept.

    `examples` are None where no texts are to be kept. What has no identity has a shelf that
    nobody looks for.
    """

    outputs: Shelf
    rows: Shelf
    examples: KeptExamples | None


class Keeping:
    """The shelves of one attempt at a run."""

    def __init__(self, store: Store, *, texts: bool = True) -> None:
        self._store = store
        self._texts = texts
        self._outputs: dict[str, bytes] = {}
        self._rows: dict[str, bytes] = {}
        self._examples: dict[str, KeptExamples] = {}

    def places(self, system: str, identity: bytes | None, tag: str) -> Places:
        """Where results of a system on a source go. Without an identity nobody finds its outputs
        by it; they are still those of this run."""
        outputs = self._outputs.setdefault(system, (identity or _new_owner())[:OWNER_BYTES])
        shelf, rows = self._store.shelf("outputs", outputs), self._shelf_of_rows(system)
        return Places(shelf, rows, self._kept_examples(tag))

    def rows(self, system: str) -> GrowingRows:
        """The rows of a system as they are put on their shelf."""
        return GrowingRows(system, self._shelf_of_rows(system), Reader(self._store.path))

    def _shelf_of_rows(self, system: str) -> Shelf:
        return self._store.shelf("rows", self._rows.setdefault(system, _new_owner()))

    def _kept_examples(self, tag: str) -> KeptExamples | None:
        if not self._texts:
            return None
        if tag not in self._examples:
            shelf = self._store.shelf("examples", _owner_of_examples(tag))
            known = b"" if shelf.is_empty else self._store.keys_of(shelf)
            self._examples[tag] = KeptExamples(shelf, known)
        return self._examples[tag]

    def recorded(
        self,
        identities: Mapping[str, bytes | None],
        tags: Iterable[str],
        before: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        """What the record of the run says of it; `before` is what it said of an earlier attempt."""
        for system, identity in identities.items():
            self._outputs.setdefault(system, (identity or _new_owner())[:OWNER_BYTES])
            self._shelf_of_rows(system)
        earlier = [before["rows"], *before.get("earlier", ())] if before else []
        return {
            "outputs": {system: owner.hex() for system, owner in self._outputs.items()},
            "rows": {system: owner.hex() for system, owner in self._rows.items()},
            "examples": [_owner_of_examples(tag).hex() for tag in dict.fromkeys(tags)],
            "earlier": earlier,
        }


def _owner_of_examples(tag: str) -> bytes:
    return content_key(tag.encode("utf-8", "surrogatepass"))[:OWNER_BYTES]


def _new_owner() -> bytes:
    return os.urandom(OWNER_BYTES)
