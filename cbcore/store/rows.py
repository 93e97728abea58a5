"""Rows and the texts behind them, as the tables hold them."""

from __future__ import annotations

import dataclasses
import operator
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

from cbcore.boundary import contained
from cbcore.exceptions import ProcessError, StoreError
from cbcore.json_data import to_json
from cbcore.results.eval_row import ROW_FIELDS, EvalRow, Texts
from cbcore.stats import CLUSTER
from cbcore.store.database import LONG_TEXT, Reader, Store, checksum, make_valid

__all__ = ()

_COLUMNS = f"{', '.join(ROW_FIELDS).replace('latency', 'latency_s')}, id_is_integer, checksum"
"""The fields of a row in their order. The checksum covers the columns before it."""
COPY_ROWS = f"INSERT OR IGNORE INTO rows SELECT ?, system_key, output_key, {_COLUMNS} FROM rows WHERE run_id=?"  # noqa: S608
"""Gives a run, named first, the rows of another run that it lacks."""
_ROWS = f"SELECT position, {_COLUMNS} FROM rows WHERE run_id=? AND system=?"  # noqa: S608
_TEXTS = """SELECT r.position, e.content, e.checksum, o.output, o.checksum
FROM rows r LEFT JOIN examples e ON e.example_key = r.example_key
LEFT JOIN outputs o ON o.system_key = r.system_key AND o.example_key = r.example_key
  AND o.repeat = r.repeat AND o.output_key = r.output_key
WHERE r.run_id=? AND r.system=?"""
_CHUNK = 500
_read_fields = operator.attrgetter(*ROW_FIELDS)
_ID, _RESPONSE, _CACHED = map(ROW_FIELDS.index, ("example_id", "response", "cached"))


def encode_row(
    store: Store,
    run_id: str,
    row: EvalRow,
    system_key: str | None = None,
    output_key: str | None = None,
    *,
    is_bare: bool = False,
) -> tuple[Any, ...]:
    """A row of the table `rows`. A bare row has neither its response nor texts in its metadata."""
    if is_bare:
        noted = row.metadata.items()
        metadata = {k: v for k, v in noted if isinstance(v, int | float) or k == CLUSTER}
        row = dataclasses.replace(row, response=None, metadata=metadata)
    values = [
        make_valid(value)
        if type(value) is str
        else store.encode(value)
        if type(value) is dict
        else value
        for value in _read_fields(row)
    ]
    values.append(int(type(row.example_id) is int))
    values[_ID], values[_CACHED] = make_valid(str(row.example_id)), int(row.cached)
    response = values[_RESPONSE]
    # Long, or it could be taken for what stands for a long one.
    if response and (len(response) > LONG_TEXT or response[0] == "{"):
        values[_RESPONSE] = to_json(store.put_text(response)).decode()
    return (run_id, system_key, output_key, *values, checksum(*values))


def _decode_row(reader: Reader, *columns: Any) -> EvalRow:
    *fields, id_is_integer = columns
    row = EvalRow(*fields)
    row.example_id = int(row.example_id) if id_is_integer else row.example_id
    row.cached = bool(row.cached)
    if row.response and row.response[0] == "{":
        row.response = reader.decode(row.response)
    texts: Any = row.scores, row.missing, row.metadata
    row.scores, row.missing, row.metadata = map(reader.decode, texts)
    if not all(type(part) is dict for part in (row.scores, row.missing, row.metadata)):
        raise TypeError(row)
    return row


class StoredRows(Sequence[Any]):
    """The rows of one system of a run, read from the store as they are asked for.

    They are those that the store had when they were first asked for. Of the run that writes to a
    `store`, they are those that it appended, or after a failure those that were written.
    """

    query = _ROWS

    def __init__(
        self,
        reader: Reader,
        run_id: str,
        system: str,
        store: Store | None = None,
        positions: Sequence[int] | None = None,
    ) -> None:
        """`positions` are those of the rows, if they are not all rows of the system."""
        self.reader = reader
        self.run_id = run_id
        self.system = system
        self._key = (run_id, make_valid(system))
        self._store = store
        self._positions = (
            None if store is None and positions is None else array("q", positions or ())
        )

    def append(self, row: EvalRow) -> None:
        """Count a row that was put into the store."""
        if self._positions is not None:
            self._positions.append(row.position)

    def find(self, columns: str, condition: str = "1") -> list[Any]:
        """Columns of the rows for which an SQL condition holds, in their order."""
        query = f"SELECT {columns} FROM rows WHERE run_id=? AND system=? AND {condition}"  # noqa: S608
        return self.reader.query(f"{query} ORDER BY position", self._key)

    def find_system_key(self) -> str:
        """The key under which the outputs of the system are stored; that of others is longer."""
        keys = [key for (key,) in self.find("system_key", "system_key NOT NULL")]
        return min(keys, key=len, default="")

    @property
    def positions(self) -> Sequence[int]:
        """Where the rows are, in their order."""
        if self._positions is None or (self._store is not None and self._store.failure is not None):
            self._positions = array("q", (position for (position,) in self.find("position")))
        return self._positions

    def __len__(self) -> int:
        return len(self.positions)

    def __iter__(self) -> Iterator[Any]:
        return (self.decode(*values) for values in self.select(self.query, 0, len(self)))

    def __getitem__(self, index: Any) -> Any:
        places = range(len(self))[index]
        if isinstance(places, int):
            return self[places : places + 1][0]
        if places.step != 1:
            return [self[place] for place in places]
        found = self.select(self.query, places.start, places.stop)
        return [self.decode(*values) for values in found]

    def decode(self, position: Any, *columns: Any) -> Any:
        """One result of the `query`; if it was damaged, a failed row in its place."""
        with contained():  # a file may come from anybody
            if checksum(*columns[:-1]) == columns[-1]:
                return _decode_row(self.reader, *columns[:-1])
        place = position if isinstance(position, int) else 0
        return EvalRow(self.system, "?", error="this row was damaged in the store", position=place)

    def select(self, query: str, start: int, stop: int) -> Iterator[Any]:
        """Run a query for the rows from `start` to `stop`, for some of them at a time.

        The first column is the position of the row. Raises `StoreError` if a row is gone.
        """
        if self._store is not None:
            self._store.flush()
        between = f"{query} AND position BETWEEN ? AND ?"
        for first in range(start, min(stop, len(self)), _CHUNK):
            wanted = self.positions[first : min(first + _CHUNK, stop)]
            values = (*self._key, wanted[0], wanted[-1])
            found = {row[0]: row for row in self.reader.query(between, values)}
            for position in wanted:
                if position not in found:
                    raise StoreError(
                        f"Rows of run {self.run_id} were removed while they were read.",
                        hint="List the runs with `cb runs`.",
                    )
                yield found[position]


class StoredTexts(StoredRows):
    """The texts behind the rows of one system, at the places of the rows."""

    query = _TEXTS

    def decode(self, _: Any, *columns: Any) -> Texts:
        example, output = self.reader.read(*columns[:2]), self.reader.read(*columns[2:])
        if not isinstance(example, dict):
            example = output = None
        return Texts(example, output if isinstance(output, dict) else None)


class StoredSystem:
    """Stands for a system of an earlier run: its outputs, by their `key` in the store."""

    def __init__(self, rows: Any) -> None:
        self.name = rows.system
        self.key: str = rows.find_system_key()
        self._errors = dict(rows.find("example_id, error", "error NOT NULL"))

    def process(self, example: dict[str, Any]) -> dict[str, Any]:
        error = self._errors.get(str(example.get("id")))
        if error is None:
            raise ProcessError("no output is stored for this example")
        name, _, reason = error.partition(": ")
        raise type(name, (Exception,), {})(reason)
