"""What one owner keeps of one sort: put by key, or in order, and found again.

A shelf is named by a letter for the sort and eight bytes for the owner: outputs belong to a
system, scores to an evaluator, examples to a dataset, rows to a system in a run.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from cbcore._store.batches import (
    KEY_BYTES,
    MOST_VALUES,
    Batch,
    Packed,
    Pair,
    packed,
    unpacked,
)
from cbcore.exceptions import StoreError

if TYPE_CHECKING:
    import sqlite3

    from cbcore._store.store import Store

OUTPUTS, SCORES, EXAMPLES, ROWS = b"o", b"s", b"e", b"r"
SORTS = {"outputs": OUTPUTS, "scores": SCORES, "examples": EXAMPLES, "rows": ROWS}
OWNER_BYTES = 8
"""Of an identity. Two owners could be taken for each other only if 64 bits of theirs were equal:
not to be expected before a store holds the results of billions of them."""

FULL = 2 * MOST_VALUES
"""The length of `Shelf.waiting` that makes a batch."""

_OPEN_BATCHES = 4
_START = "Q"


class Written:
    """The batches of one shelf that are in the database, as they were when it was first read.

    Only where each begins is kept in memory, and, where keys are looked up in another order than
    they were written in, sixteen bytes for each.
    """

    def __init__(self, database: sqlite3.Connection, name: bytes) -> None:
        self._database = database
        self._name = name
        query = "SELECT id, n FROM batches WHERE shelf = ? ORDER BY id"
        found = database.execute(query, (name,)).fetchall()
        sound = [(number, n) for number, n in found if type(n) is int and n > 0]
        self._numbers = [number for number, _ in sound]
        self._starts = array(_START, accumulate((n for _, n in sound), initial=0))
        self._open: OrderedDict[int, Batch | None] = OrderedDict()
        self._opening = threading.Lock()
        # Where the batch begins and ends that was looked into last: mostly it is the one again.
        self._last: tuple[int, int, Batch | None] = 0, 0, None
        self._next = 0
        self._sorted: tuple[array[int], array[int]] | None = None
        self.damaged: set[int] = set()

    def __len__(self) -> int:
        return self._starts[-1]

    @property
    def n_batches(self) -> int:
        return len(self._numbers)

    @property
    def n_damaged(self) -> int:
        """How many values were found to be lost."""
        starts = self._starts
        return sum(starts[batch + 1] - starts[batch] for batch in self.damaged)

    def find(self, keys: Iterable[bytes]) -> Iterator[Pair]:
        """Those of the keys that there are, with their values.

        A run is mostly read back in the order it was written: what stands behind the one found
        last is looked at first.
        """
        for key in keys:
            value = self._at(self._next, key)
            places = () if value is not None else self._places(key)
            for place in places:
                if (value := self._at(place, key)) is not None:
                    self._next = place
                    break
            if value is not None:
                self._next += 1
                yield key, value

    def _at(self, place: int, key: bytes) -> bytes | None:
        """The value at a place, if it is that of the key."""
        if place >= len(self):
            return None
        batch, within = self._batch_at(place)
        return batch.value(within) if batch is not None and batch.key(within) == key else None

    def _places(self, key: bytes) -> Iterator[int]:
        """Where a key may stand: wherever one begins as it does."""
        if self._sorted is None:
            self._sorted = self._by_beginning()
        beginnings, places = self._sorted
        wanted = int.from_bytes(key[:8], sys.byteorder)
        first = bisect_left(beginnings, wanted)
        while first < len(beginnings) and beginnings[first] == wanted:
            yield places[first]
            first += 1

    def _by_beginning(self) -> tuple[array[int], array[int]]:
        halves = array(_START)
        for keys in self.all_keys():
            halves.frombytes(keys)
        beginnings = halves[::2]
        del halves
        # A few of them at a time: numbers in a list take ten times what they do in an array.
        parts = [array(_START) for _ in range(256)]
        for place, beginning in enumerate(beginnings):
            parts[beginning >> 56].append(place)
        order = array(_START)
        for part in parts:
            order.extend(array(_START, sorted(part, key=beginnings.__getitem__)))
        return array(_START, map(beginnings.__getitem__, order)), order

    def _batch_at(self, place: int) -> tuple[Batch | None, int]:
        start, stop, batch = self._last
        if not start <= place < stop:
            number = bisect_right(self._starts, place) - 1
            start, stop = self._starts[number], self._starts[number + 1]
            batch = self.batch(number)
            self._last = start, stop, batch
        return batch, place - start

    def batch(self, number: int) -> Batch | None:
        """A batch by its number among those of the shelf; None where it is damaged."""
        with self._opening:
            if number not in self._open:
                self._open[number] = self._read(number)
                if len(self._open) > _OPEN_BATCHES:
                    self._open.popitem(last=False)
            self._open.move_to_end(number)
            return self._open[number]

    def _read(self, number: int) -> Batch | None:
        query = "SELECT n, keys, data, checksum FROM batches WHERE id = ?"
        found = self._database.execute(query, (self._numbers[number],)).fetchone()
        batch = unpacked(self._name, *found) if found else None
        if batch is None or len(batch) != self._starts[number + 1] - self._starts[number]:
            self.damaged.add(number)
            return None
        return batch

    def values(self, start: int, stop: int) -> Iterator[bytes | None]:
        """The values at these places, in order; None for one that is damaged."""
        while start < stop:
            number = bisect_right(self._starts, start) - 1
            batch, begin = self.batch(number), self._starts[number]
            end = min(stop, self._starts[number + 1])
            for place in range(start, end):
                yield None if batch is None else batch.value(place - begin)
            start = end

    def holding(self, needle: bytes) -> Iterator[tuple[int, Pair]]:
        """The places, keys and values of those that hold these bytes, as `Batch.places_with`."""
        for number, start in enumerate(self._starts[:-1]):
            batch = self._read(number)  # past those that are open: all are gone through
            if batch is not None:
                for place in batch.places_with(needle):
                    yield start + place, (batch.key(place), batch.value(place))

    def value(self, place: int) -> bytes | None:
        """The value at a place; None where it is damaged."""
        batch, within = self._batch_at(place)
        return None if batch is None else batch.value(within)

    def key(self, place: int) -> bytes | None:
        """The key at a place; None where it is damaged."""
        batch, within = self._batch_at(place)
        return None if batch is None else batch.key(within)

    def keys(self) -> Iterator[bytes]:
        """All keys in their order."""
        for some in self.all_keys():
            yield from (some[i : i + KEY_BYTES] for i in range(0, len(some), KEY_BYTES))

    def all_keys(self) -> Iterator[bytes]:
        """All keys in their order, as many together as were written together."""
        query = "SELECT keys FROM batches WHERE id = ?"
        for batch, number in enumerate(self._numbers):
            n = self._starts[batch + 1] - self._starts[batch]
            found = self._database.execute(query, (number,)).fetchone()
            keys = found[0] if found and type(found[0]) is bytes else b""
            yield keys if len(keys) == n * KEY_BYTES else bytes(n * KEY_BYTES)


class Shelf:
    """What one owner keeps of one sort. May be used from any thread.

    What is put waits in memory, where it is found at once, until the store commits. `put` takes
    keys and their values, one behind the other, as a list or a tuple. It never waits, and never
    fails.
    """

    def __init__(self, store: Store, name: bytes) -> None:
        self._store = store
        self.name = name
        # Filled by whoever puts, without a lock, and emptied from the other end by who packs. No
        # pairs: a tuple for each would be gone through by the garbage collector again and again.
        self.waiting: list[Any] = []
        self.put: Callable[[Sequence[Any]], None] = self.waiting.extend
        self.written: Written | None = None

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The values stored under these keys; absent ones are left out."""
        found = self._store.find(self, keys)
        wanted = set(keys)
        recent = self._store.uncommitted(self)
        found.update((key, value) for key, value in recent if key in wanted)
        return found

    def pack_into(self, batches: list[Packed]) -> None:
        """Make batches of what is waiting, which then waits no more.

        Only for who holds the lock of packing.
        """
        pairs = self.waiting_pairs()
        made = list(packed(self.name, pairs))
        # All that takes time is done: an interrupt before this finds everything still waiting.
        batches += made
        del self.waiting[: 2 * len(pairs)]

    def waiting_pairs(self) -> list[Pair]:
        """The keys and values in memory that are in no batch yet."""
        waiting = self.waiting[:]
        return list(zip(waiting[::2], waiting[1::2], strict=True))

    def left_waiting(self) -> list[Pair]:
        """What is in memory only, after all was brought to the disk that could be."""
        with contextlib.suppress(StoreError):  # which whoever puts is told
            self._store.commit()
        return self._store.uncommitted(self)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever put here."""
        return self._store.count_of(self) == 0 and not self._store.uncommitted(self)
