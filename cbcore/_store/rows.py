"""Rows as the store keeps them: in their order, each system's of a run for itself."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, overload

from cbcore._store.batches import KEY_BYTES, Pair
from cbcore._store.shelf import Written
from cbcore._store.tally import Tally
from cbcore.components import describe_exception
from cbcore.json_data import from_json, to_json, to_json_safe
from cbcore.results.eval_row import ROW_FIELDS, EvalRow, RowsBySystem
from cbcore.secrets import hide, is_shown_in
from cbcore.stats import CLUSTER

if TYPE_CHECKING:
    from cbcore._store.reading import Reader
    from cbcore._store.shelf import Shelf

_FIELDS = tuple(name for name in ROW_FIELDS if name != "system")
_N_FIELDS = len(_FIELDS)
_fields_of = attrgetter(*_FIELDS)


def encoded(row: EvalRow) -> bytes:
    """A row as the store writes it, without known secrets: its fields in their order."""
    return _without_secrets(_encoded, row)


def encoded_as_numbers(row: EvalRow) -> bytes:
    """As `encoded`, without the response and without metadata other than numbers."""
    return _without_secrets(_encoded_as_numbers, row)


def _without_secrets(encode: Callable[[EvalRow], bytes], row: EvalRow) -> bytes:
    value = encode(row)
    if is_shown_in(value):
        value = encode(dataclasses.replace(row, **hide(row.to_dict())))
    return value


def _encoded(row: EvalRow) -> bytes:
    data = _fields_of(row)
    try:
        return to_json(data)
    except TypeError:
        pass
    try:  # metadata a system made of other things than plain data
        return to_json(to_json_safe(data))
    except Exception as error:  # noqa: BLE001 - the plugin boundary: and of what cannot be plain
        reason = f"the row cannot be written: {describe_exception(error)}"
        bare = dataclasses.replace(
            row, scores={}, metadata={}, missing={}, response=None, error=reason
        )
        return to_json(_fields_of(bare))


def _encoded_as_numbers(row: EvalRow) -> bytes:
    metadata = {k: v for k, v in row.metadata.items() if isinstance(v, int | float) or k == CLUSTER}
    return _encoded(dataclasses.replace(row, response=None, metadata=metadata))


def decoded(system: str, value: bytes | None) -> EvalRow:
    """A row that was stored; what is left of it where it was damaged."""
    # Plain, as it is passed for every row by every metric.
    try:
        fields = from_json(value)  # type: ignore[arg-type]
        row = EvalRow(system, *fields[:_N_FIELDS])
        # A file may come from anybody.
        if type(row.scores) is dict and type(row.metadata) is dict and type(row.missing) is dict:
            return row
    except (ValueError, TypeError):  # among them that there is none
        pass
    return EvalRow(system, "?", error="this row was damaged in the store")


class StoredRows(Sequence[EvalRow]):
    """The rows of one system of a run, read from the store as they are asked for."""

    def __init__(self, system: str, reader: Reader, name: bytes) -> None:
        self._system = system
        self._reader = reader
        self.name = name
        self._known: Written | None = None

    @property
    def written(self) -> Written:
        if self._known is None:
            self._known = self._reader.written(self.name)
        return self._known

    def __len__(self) -> int:
        return len(self.written)

    def keyed(self) -> Iterator[tuple[bytes, EvalRow]]:
        """The rows, each with the address of its example."""
        keys = (
            joined[start : start + KEY_BYTES]
            for joined in self.written.all_keys()
            for start in range(0, len(joined), KEY_BYTES)
        )
        return zip(keys, self, strict=True)

    def __iter__(self) -> Iterator[EvalRow]:
        values = self.written.values(0, len(self))
        return (decoded(self._system, value) for value in values)

    @overload
    def __getitem__(self, index: int) -> EvalRow: ...
    @overload
    def __getitem__(self, index: slice) -> list[EvalRow]: ...
    def __getitem__(self, index: int | slice) -> EvalRow | list[EvalRow]:
        if isinstance(index, slice):
            places = range(*index.indices(len(self)))
            if places.step == 1:
                values = self.written.values(places.start, places.stop)
                return [decoded(self._system, value) for value in values]
            return [self[place] for place in places]
        place = range(len(self))[index]
        return decoded(self._system, self.written.value(place))


class GrowingRows(Sequence[EvalRow]):
    """The rows of one system while its run is going on, for whoever does not want them in memory.

    Whoever appends one has put it on the shelf already.
    """

    def __init__(self, system: str, shelf: Shelf, reader: Reader) -> None:
        self._system = system
        self._shelf = shelf
        self._reader = reader
        self.tally = Tally()

    def append(self, row: EvalRow) -> None:
        self.tally.add(row)

    def settled(self) -> Sequence[EvalRow]:
        """The same rows when no more will come: as they are on the disk, if all are there."""
        stored, waiting = self._parts()
        return self if waiting else stored

    def __len__(self) -> int:
        return self.tally.rows

    def _parts(self) -> tuple[StoredRows, list[Pair]]:
        """What is on the disk, and what could not be brought there."""
        waiting = self._shelf.left_waiting()
        return StoredRows(self._system, self._reader, self._shelf.name), waiting

    def __iter__(self) -> Iterator[EvalRow]:
        stored, waiting = self._parts()
        yield from stored
        for _, value in waiting:
            yield decoded(self._system, value)

    @overload
    def __getitem__(self, index: int) -> EvalRow: ...
    @overload
    def __getitem__(self, index: slice) -> list[EvalRow]: ...
    def __getitem__(self, index: int | slice) -> EvalRow | list[EvalRow]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        stored, waiting = self._parts()
        if place < len(stored):
            return stored[place]
        return decoded(self._system, waiting[place - len(stored)][1])


class JoinedRows(RowsBySystem):
    """The rows of all systems, one after another, without copying them."""

    def __init__(self, parts: Sequence[Sequence[EvalRow]]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __iter__(self) -> Iterator[EvalRow]:
        return itertools.chain.from_iterable(self.parts)

    @overload
    def __getitem__(self, index: int) -> EvalRow: ...
    @overload
    def __getitem__(self, index: slice) -> list[EvalRow]: ...
    def __getitem__(self, index: int | slice) -> EvalRow | list[EvalRow]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        wanted = index + len(self) if index < 0 else index
        for part in self.parts:
            if 0 <= wanted < len(part):
                return part[wanted]
            wanted -= len(part)
        raise IndexError(index)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]
