"""A kept run read back: its record, its rows, and the texts behind them."""

from __future__ import annotations

import re
import sqlite3
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate, chain
from pathlib import Path
from typing import Any, overload

from cbcore._store.batches import KEY_BYTES, Pair
from cbcore._store.database import failure, opened_as_it_is
from cbcore._store.outputs import read_output, returned
from cbcore._store.records import RunRecord
from cbcore._store.rows import StoredRows
from cbcore._store.shelf import EXAMPLES, OUTPUTS, ROWS, Written
from cbcore.exceptions import StoreError
from cbcore.identity import content_key
from cbcore.json_data import from_json
from cbcore.results import SearchableTexts, Texts


class Reader:
    """The file of a store, opened for reading when something is first asked of it.

    Others may write to it meanwhile.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database: sqlite3.Connection | None = None

    def written(self, name: bytes) -> Written:
        """What is on the disk of a shelf by now."""
        if self._database is None:
            self._database = opened_as_it_is(self.path)
            if self._database is None:
                raise StoreError(f"the store {self.path} cannot be read, or is gone")
        try:
            return Written(self._database, name)
        except sqlite3.Error as error:
            raise failure(self.path, "read", error) from error


def row_shelves(record: RunRecord) -> list[dict[str, bytes]]:
    """The shelves of a run's rows by system, of every attempt at it, the last one first."""
    places: Any = record.manifest.get("places", {})
    attempts = [places.get("rows", {}), *places.get("earlier", [])]
    return [{system: ROWS + bytes.fromhex(owner) for system, owner in a.items()} for a in attempts]


def kept_rows(reader: Reader, record: RunRecord) -> dict[str, StoredRows]:
    """The rows of every system of a run. Where an attempt got less far than one before it, those."""
    attempts = row_shelves(record)
    if not attempts:
        return {}
    if record.state == "finished":
        attempts = attempts[:1]
    found: dict[str, StoredRows] = {}
    for system in attempts[0]:
        parts = [StoredRows(system, reader, a[system]) for a in attempts if system in a]
        found[system] = max(parts, key=len)
    return found


class KeptTexts(SearchableTexts):
    """The texts behind the rows of a run, at the places of the rows."""

    def __init__(
        self, reader: Reader, rows: Mapping[str, StoredRows], places: Mapping[str, Any]
    ) -> None:
        self._reader = reader
        self._parts = [
            (part, OUTPUTS + bytes.fromhex(places["outputs"][system]))
            for system, part in rows.items()
        ]
        self._example_names = [EXAMPLES + bytes.fromhex(o) for o in places.get("examples", ())]
        self._ends: list[int] = []
        self._shelves: dict[bytes, Written] = {}

    def __len__(self) -> int:
        if not self._ends:
            self._ends = list(accumulate(len(part) for part, _ in self._parts))
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, index: int) -> Texts: ...
    @overload
    def __getitem__(self, index: slice) -> list[Texts]: ...
    def __getitem__(self, index: int | slice) -> Texts | list[Texts]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        number = bisect_right(self._ends, place)
        part, outputs = self._parts[number]
        return self._behind(part, place - (self._ends[number - 1] if number else 0), outputs)

    def _shelf(self, name: bytes) -> Written:
        if name not in self._shelves:
            self._shelves[name] = self._reader.written(name)
        return self._shelves[name]

    def _behind(self, rows: StoredRows, place: int, outputs: bytes) -> Texts:
        content, key = self._addresses(rows, place)
        if content is None:
            return Texts()
        example, output = _example(content), None
        if example is None:
            return Texts()
        for _, value in self._shelf(outputs).find([key]):
            output = returned(value, example)
        return Texts(example, output)

    def _addresses(self, rows: StoredRows, place: int) -> tuple[bytes | None, bytes]:
        """The content of the example behind a row, and the key of its output."""
        key = rows.written.key(place)
        if key is None or key == bytes(KEY_BYTES):
            return None, b""
        shelves = map(self._shelf, self._example_names)
        found = chain.from_iterable(shelf.find([key]) for shelf in shelves)
        content = next((value for _, value in found), None)
        repeat = rows[place].repeat if content is not None else 0
        # As `Memo` makes the key of an output.
        return content, key if not repeat else content_key((content or b"") + str(repeat).encode())

    def places_with(self, term: str, holds: Callable[[Any], bool]) -> Iterator[int]:
        needle = _needle(term)
        examples = {
            key
            for name in self._example_names
            for _, (key, value) in self._shelf(name).holding(needle)
            if holds(_example(value))
        }
        start = 0
        for rows, outputs in self._parts:
            # What is found already by its example need not be read: most of what a common word finds.
            stored = self._shelf(outputs).holding(needle)
            keys = examples | {
                key
                for _, (key, value) in stored
                if key not in examples and holds((read_output(value) or ({},))[0])
            }
            places = {place for place, key in enumerate(rows.written.keys()) if key in keys}
            held = (place for place, _ in rows.written.holding(needle) if place not in places)
            places |= {place for place in held if holds(rows[place])}
            yield from (start + place for place in sorted(places))
            start += len(rows)

    def stored_outputs(self) -> Iterator[Pair]:
        """All that is stored of outputs, as it is stored."""
        for rows, outputs in self._parts:
            # Mostly the address of the example, which need not be looked at. Each once: examples
            # of equal content have one output.
            keys = dict.fromkeys(
                key if not row.repeat else self._addresses(rows, place)[1]
                for place, (key, row) in enumerate(rows.keyed())
            )
            yield from self._shelf(outputs).find(keys)


def _example(content: bytes) -> dict[str, Any] | None:
    """An example that was stored; None for what nobody here has stored."""
    try:
        example = from_json(content)
    except ValueError:
        return None
    return example if type(example) is dict else None


def _needle(term: str) -> bytes:
    """The longest part of a term that stands as it is in what is stored of a text with it.

    Quotes and control characters are written otherwise in JSON, and letters beyond ASCII may be
    capital ones there.
    """
    is_cased = not term.isascii() and term.upper() != term.lower()
    runs = re.findall(r"[ !#-\[\]-~]+" if is_cased else r'[^"\\\x00-\x1f\x7f]+', term)
    return max(runs, key=len, default="").encode("utf-8", "ignore")
