"""Rows and the texts behind them, as the tables hold them."""

from __future__ import annotations

from abc import abstractmethod
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar

from cbcore.boundary import contained
from cbcore.exceptions import StoreError
from cbcore.json_data import from_json, to_json, to_json_safe
from cbcore.results.eval_row import EvalRow, RowsBySystem, Texts
from cbcore.stats import CLUSTER
from cbcore.store.database import LONG_TEXT, Reader, Store, checksum, make_valid

__all__ = ("JoinedRows", "StoredRows", "StoredTexts")

_Item = TypeVar("_Item")

_COLUMNS = (
    "position, dataset, example_id, id_is_integer, repeat, example_key, scores, missing, error, "
    "response, input_tokens, output_tokens, response_tokens, latency_s, cached, metadata"
)
"""The columns that a row is made of, in the order in which the checksum covers them."""

PUT_ROW = (
    f"INSERT OR REPLACE INTO rows (run_id, system, system_key, output_key, checksum, {_COLUMNS}) "  # noqa: S608
    f"VALUES (?, ?, ?, ?, ?{', ?' * (_COLUMNS.count(',') + 1)})"
)
COPY_ROWS = (
    f"INSERT OR IGNORE INTO rows (run_id, system, system_key, output_key, checksum, {_COLUMNS}) "  # noqa: S608
    f"SELECT ?, system, system_key, output_key, checksum, {_COLUMNS} FROM rows WHERE run_id=?"
)
"""Gives a run, named first, the rows of another run that it lacks."""
_ROWS = f"SELECT {_COLUMNS}, checksum FROM rows WHERE run_id=? AND system=?"  # noqa: S608
_TEXTS = """SELECT r.position, e.content, e.checksum, o.output, o.checksum
FROM rows r LEFT JOIN examples e ON e.example_key = r.example_key
LEFT JOIN outputs o ON o.system_key = r.system_key AND o.example_key = r.example_key
  AND o.repeat = r.repeat AND o.output_key = r.output_key
WHERE r.run_id=? AND r.system=?"""
_CHUNK = 500


def encode_row(
    store: Store,
    run_id: str,
    row: EvalRow,
    system_key: str | None = None,
    output_key: str | None = None,
    *,
    is_bare: bool = False,
) -> tuple[Any, ...]:
    """The values of `PUT_ROW`. A bare row has neither its response nor texts in its metadata."""
    response, metadata = row.response, row.metadata
    if is_bare:
        response = None
        metadata = {k: v for k, v in metadata.items() if isinstance(v, int | float) or k == CLUSTER}
    try:
        plain = store.encode(metadata) if metadata else "{}"
    except TypeError:  # it has other things than plain data
        plain = store.encode(to_json_safe(metadata))
    values = (
        row.position,
        make_valid(row.dataset),
        make_valid(str(row.example_id)),
        int(isinstance(row.example_id, int)),
        row.repeat,
        row.example_key or None,
        to_json(row.scores).decode(),
        to_json(row.missing).decode() if row.missing else "{}",
        row.error and make_valid(row.error),
        _shorten(store, response),
        row.input_tokens,
        row.output_tokens,
        row.response_tokens,
        row.latency,
        int(row.cached),
        plain,
    )
    return (run_id, make_valid(row.system), system_key, output_key, checksum(*values), *values)


def _shorten(store: Store, response: str | None) -> str | None:
    """A response as it is, or, if it is long or could be taken for one, what stands for it."""
    response = response and make_valid(response)
    if not response or (len(response) <= LONG_TEXT and response[0] != "{"):
        return response
    return to_json(store.put_text(response)).decode()


def decode_row(reader: Reader, system: str, values: Sequence[Any]) -> EvalRow:
    """A row of `_SELECT`; what is left of it if it was damaged."""
    *columns, known = values
    with contained():  # a file may come from anybody
        if checksum(*columns) == known:
            return _decode(reader, system, columns)
    place = columns[0] if isinstance(columns[0], int) else 0
    return EvalRow(system, "?", error="this row was damaged in the store", position=place)


def _decode(reader: Reader, system: str, columns: Sequence[Any]) -> EvalRow:
    position, dataset, example_id, is_integer, repeat, example_key, *columns = columns
    scores, missing, error, response, n_in, n_out, n_response, latency_s, cached, plain = columns
    row = EvalRow(
        system,
        int(example_id) if is_integer else example_id,
        from_json(scores.encode()),
        n_in,
        n_out,
        reader.decode(plain),
        latency_s,
        dataset,
        error,
        from_json(missing.encode()),
        reader.decode(response) if response is not None and response[:1] == "{" else response,
        n_response,
        repeat,
        bool(cached),
        example_key or "",
        position,
    )
    if not all(type(part) is dict for part in (row.scores, row.missing, row.metadata)):
        raise TypeError(position)
    return row


class _ReadOnDemand(Sequence[_Item]):
    """A sequence of items that are read when they are asked for, those of a slice together."""

    @abstractmethod
    def _read(self, start: int, stop: int) -> Iterator[_Item]:
        """The items from `start` to `stop`."""

    def __iter__(self) -> Iterator[_Item]:
        return self._read(0, len(self))

    def __getitem__(self, index: Any) -> Any:
        places = range(len(self))[index]
        if isinstance(places, int):
            return next(self._read(places, places + 1))
        if places.step != 1:
            return [self[place] for place in places]
        return list(self._read(places.start, places.stop))


class StoredRows(_ReadOnDemand[EvalRow]):
    """The rows of one system of a run, read from the store as they are asked for.

    They are those that the store had when they were first asked for. Of the run that writes to a
    `store`, they are those that it appended, or after a failure those that were written.
    """

    def __init__(
        self, reader: Reader, run_id: str, system: str, store: Store | None = None
    ) -> None:
        self.reader = reader
        self.run_id = run_id
        self.system = system
        self._key = (run_id, make_valid(system))
        self._store = store
        self._positions = None if store is None else array("q")

    def append(self, row: EvalRow) -> None:
        """Count a row that was put into the store."""
        if self._positions is not None:
            self._positions.append(row.position)

    def find_system_key(self) -> str:
        """The key under which the outputs of the system are stored; that of others is longer."""
        query = "SELECT system_key FROM rows WHERE run_id=? AND system=? AND system_key IS NOT NULL"
        found = self.reader.query(f"{query} ORDER BY length(system_key) LIMIT 1", self._key)
        return str(found[0][0]) if found else ""

    def find_errors(self) -> dict[str, str]:
        """Why rows failed, by the ids of their examples."""
        query = "SELECT example_id, error FROM rows WHERE run_id=? AND system=? AND error NOT NULL"
        return dict(self.reader.query(query, self._key))

    @property
    def positions(self) -> Sequence[int]:
        """Where the rows are, in their order."""
        if self._positions is None or (self._store is not None and self._store.failure is not None):
            query = "SELECT position FROM rows WHERE run_id=? AND system=? ORDER BY position"
            found = self.reader.query(query, self._key)
            self._positions = array("q", (position for (position,) in found))
        return self._positions

    def __len__(self) -> int:
        return len(self.positions)

    def _read(self, start: int, stop: int) -> Iterator[EvalRow]:
        for values in self.select(_ROWS, start, stop):
            yield decode_row(self.reader, self.system, values)

    def select(self, query: str, start: int, stop: int) -> Iterator[Any]:
        """What a query finds for the rows from `start` to `stop`, some of them at a time.

        The first column is the position of the row. Raises `StoreError` if a row is gone.
        """
        if self._store is not None:
            self._store.flush()
        while start < min(stop, len(self)):
            wanted = self.positions[start : min(start + _CHUNK, stop)]
            between = "position BETWEEN ? AND ? ORDER BY position"
            values = (*self._key, wanted[0], wanted[-1])
            found = {row[0]: row for row in self.reader.query(f"{query} AND {between}", values)}
            for position in wanted:
                if position not in found:
                    raise StoreError(
                        f"Rows of run {self.run_id} were removed while they were read.",
                        hint="List the runs with `cb runs`.",
                    )
                yield found[position]
            start += len(wanted)


class JoinedRows(_ReadOnDemand[EvalRow], RowsBySystem):
    """The rows of all systems, one after another, without copying them."""

    def __init__(self, parts: Sequence[Sequence[EvalRow]]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __iter__(self) -> Iterator[EvalRow]:
        return chain.from_iterable(self.parts)

    def _read(self, start: int, stop: int) -> Iterator[EvalRow]:
        for part, first, last in _split(self.parts, start, stop):
            yield from part[first:last]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


class StoredTexts(_ReadOnDemand[Texts]):
    """The texts behind the rows of a run, at the places of the rows."""

    def __init__(self, parts: Sequence[StoredRows]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def _read(self, start: int, stop: int) -> Iterator[Texts]:
        for part, first, last in _split(self.parts, start, stop):
            for _, *columns in part.select(_TEXTS, first, last):
                example = _read_object(part.reader, *columns[:2])
                output = None if example is None else _read_object(part.reader, *columns[2:])
                yield Texts(example, output)


def _read_object(reader: Reader, text: Any, known: Any) -> dict[str, Any] | None:
    value = reader.read(text, known)
    return value if isinstance(value, dict) else None


def _split(parts: Sequence[Any], start: int, stop: int) -> Iterator[tuple[Any, int, int]]:
    """The parts with the places in each of them that lie between two places in all."""
    for part in parts:
        yield part, max(start, 0), max(stop, 0)
        start, stop = start - len(part), stop - len(part)
