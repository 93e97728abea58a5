"""Rows and the texts behind them, as the tables hold them."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from typing import Any, overload

from cbcore.boundary import contained
from cbcore.json_data import from_json, to_json, to_json_safe
from cbcore.results.eval_row import EvalRow, RowsBySystem
from cbcore.results.examples import SearchableTexts, Texts
from cbcore.secrets import are_known, hide
from cbcore.stats import CLUSTER
from cbcore.store.database import LONG_TEXT, Reader, Store, checksum

_COLUMNS = (
    "position, dataset, example_id, id_is_integer, repeat, example_key, scores, missing, error, "
    "response, input_tokens, output_tokens, response_tokens, latency_s, cached, metadata"
)
"""The columns that a row is made of, in the order in which the checksum covers them."""

PUT_ROW = (
    f"INSERT OR REPLACE INTO rows (run_id, system, system_key, output_key, checksum, {_COLUMNS}) "  # noqa: S608
    f"VALUES (?, ?, ?, ?, ?{', ?' * (_COLUMNS.count(',') + 1)})"
)
_SELECT = f"SELECT checksum, {_COLUMNS} FROM rows WHERE run_id=? AND system=?"  # noqa: S608
_CHUNK = 500
_TEXTS = """SELECT e.content, e.checksum, o.output, o.checksum
FROM rows r LEFT JOIN examples e ON e.example_key = r.example_key
LEFT JOIN outputs o ON o.system_key = r.system_key AND o.example_key = r.example_key
  AND o.repeat = r.repeat AND o.output_key = r.output_key
WHERE r.run_id=? AND r.system=?"""


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
    if are_known():
        metadata = hide(to_json_safe(metadata))
        response = hide(response)
    try:
        plain = store.encode(metadata) if metadata else "{}"
    except TypeError:  # it has other things than plain data
        plain = store.encode(to_json_safe(metadata))
    values = (
        row.position,
        _make_valid(row.dataset),
        _make_valid(str(row.example_id)),
        int(isinstance(row.example_id, int)),
        row.repeat,
        row.example_key or None,
        to_json(row.scores).decode(),
        to_json(row.missing).decode() if row.missing else "{}",
        _make_valid(row.error),
        _shorten(store, response),
        row.input_tokens,
        row.output_tokens,
        row.response_tokens,
        row.latency,
        int(row.cached),
        plain,
    )
    return (run_id, _make_valid(row.system), system_key, output_key, checksum(*values), *values)


def _make_valid(text: str | None) -> str | None:
    """A text that SQLite takes."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()


def _shorten(store: Store, response: str | None) -> str | None:
    """A response as it is, or, if it is long or could be taken for one, what stands for it."""
    if response is None or (len(response) <= LONG_TEXT and response[:1] != "{"):
        return _make_valid(response)
    return to_json(store.put_text(response)).decode()


def decode_row(reader: Reader, system: str, values: Sequence[Any]) -> EvalRow:
    """A row of `_SELECT`; what is left of it if it was damaged."""
    known, *columns = values
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


class StoredRows(Sequence[EvalRow]):
    """The rows of one system of a run, read from the store as they are asked for.

    While the run is going on, `append` adds one.
    """

    def __init__(
        self, reader: Reader, run_id: str, system: str, store: Store | None = None
    ) -> None:
        self.reader, self.run_id, self.system = reader, run_id, system
        self._store = store
        self._positions = array("q")
        self._n_appended = 0

    def append(self, row: EvalRow) -> None:
        """Count a row that was put into the store."""
        self._n_appended += 1

    def find_system_key(self) -> str:
        """The key under which the outputs of the system are stored."""
        query = "SELECT system_key FROM rows WHERE run_id=? AND system=? AND system_key IS NOT NULL"
        found = self.reader.query(f"{query} LIMIT 1", (self.run_id, self.system))
        return str(found[0][0]) if found else ""

    @property
    def positions(self) -> Sequence[int]:
        """Where the rows are, in their order. Those of a run that is going on get more."""
        if self._store is not None and self._n_appended > len(self._positions):
            self._store.flush()
        if self._store is None or self._n_appended > len(self._positions):
            query = "SELECT position FROM rows WHERE run_id=? AND system=? AND position>?"
            after = self._positions[-1] if self._positions else -1
            found = self.reader.query(
                f"{query} ORDER BY position", (self.run_id, self.system, after)
            )
            self._positions.extend(position for (position,) in found)
        return self._positions

    def __len__(self) -> int:
        if self._store is None or self._store.failure is not None:
            return len(self.positions)
        return self._n_appended

    def __iter__(self) -> Iterator[EvalRow]:
        return self._read(0, len(self.positions))

    def _read(self, start: int, stop: int) -> Iterator[EvalRow]:
        for values in self.select(_SELECT, start, stop):
            yield decode_row(self.reader, self.system, values)

    def select(self, query: str, start: int, stop: int) -> Iterator[Any]:
        """What a query finds for the rows from `start` to `stop`, some of them at a time."""
        positions = self.positions
        while start < stop:
            end = min(start + _CHUNK, stop)
            between = "position BETWEEN ? AND ? ORDER BY position"
            values = (self.run_id, self.system, positions[start], positions[end - 1])
            yield from self.reader.query(f"{query} AND {between}", values)
            start = end

    @overload
    def __getitem__(self, index: int) -> EvalRow: ...
    @overload
    def __getitem__(self, index: slice) -> list[EvalRow]: ...
    def __getitem__(self, index: int | slice) -> EvalRow | list[EvalRow]:
        if isinstance(index, slice):
            places = range(*index.indices(len(self)))
            if places.step == 1:
                return list(self._read(places.start, places.stop))
            return [self[place] for place in places]
        place = range(len(self))[index]
        return next(self._read(place, place + 1))


class JoinedRows(RowsBySystem):
    """The rows of all systems, one after another, without copying them."""

    def __init__(self, parts: Sequence[Sequence[EvalRow]]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __iter__(self) -> Iterator[EvalRow]:
        return chain.from_iterable(self.parts)

    @overload
    def __getitem__(self, index: int) -> EvalRow: ...
    @overload
    def __getitem__(self, index: slice) -> list[EvalRow]: ...
    def __getitem__(self, index: int | slice) -> EvalRow | list[EvalRow]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        wanted = range(len(self))[index]
        for part in self.parts:
            if wanted < len(part):
                return part[wanted]
            wanted -= len(part)
        raise IndexError(index)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


class StoredTexts(SearchableTexts):
    """The texts behind the rows of a run, at the places of the rows."""

    def __init__(self, parts: Sequence[StoredRows]) -> None:
        self._parts = parts

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __iter__(self) -> Iterator[Texts]:
        for part in self._parts:
            yield from self._read(part, 0, len(part))

    @overload
    def __getitem__(self, index: int) -> Texts: ...
    @overload
    def __getitem__(self, index: slice) -> list[Texts]: ...
    def __getitem__(self, index: int | slice) -> Texts | list[Texts]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        ends = list(accumulate(map(len, self._parts)))
        place = range(len(self))[index]
        number = bisect_right(ends, place)
        start = place - (ends[number - 1] if number else 0)
        return next(self._read(self._parts[number], start, start + 1))

    def _read(self, part: StoredRows, start: int, stop: int) -> Iterator[Texts]:
        for content, known, output, known_output in part.select(_TEXTS, start, stop):
            example = _read_object(part.reader, content, known)
            returned = _read_object(part.reader, output, known_output)
            yield Texts(example, returned if example is not None else None)

    def places_with(self, term: str, holds: Callable[[Any], bool]) -> Iterator[int]:
        needle = _find_needle(term)
        start = 0
        for part in self._parts:
            reader, run = part.reader, (part.run_id, part.system)
            long_texts = {key for (key,) in reader.query(f"{_LONG_TEXTS_WITH}", (needle,))}

            def may_hold(*texts: str | None, among: set[str] = long_texts) -> bool:
                return any(
                    text is not None
                    and (needle in text.lower() or not among.isdisjoint(_REFERENCE.findall(text)))
                    for text in texts
                )

            examples = {
                key
                for key, content, known in reader.query(_EXAMPLES_OF, run)
                if may_hold(content) and holds(_read_object(reader, content, known))
            }
            outputs = {
                position
                for position, output, known in reader.query(_OUTPUTS_OF, run)
                if may_hold(output) and holds(_read_object(reader, output, known) or {})
            }
            for place, values in enumerate(reader.query(f"{_SELECT} ORDER BY position", run)):
                _, position, *_, example_key = values[:7]
                texts = [text for text in values[1:] if isinstance(text, str)]
                is_found = example_key in examples or position in outputs
                if is_found or (
                    may_hold(*texts) and holds(decode_row(reader, part.system, values))
                ):
                    yield start + place
            start += len(part)


_REFERENCE = re.compile(r'"\$text":"([^"]+)"')
_LONG_TEXTS_WITH = "SELECT text_key FROM texts WHERE instr(lower(content), ?)"
_EXAMPLES_OF = """SELECT DISTINCT e.example_key, e.content, e.checksum FROM rows r
JOIN examples e ON e.example_key = r.example_key WHERE r.run_id=? AND r.system=?"""
_OUTPUTS_OF = """SELECT r.position, o.output, o.checksum FROM rows r
JOIN outputs o ON o.system_key = r.system_key AND o.example_key = r.example_key
  AND o.repeat = r.repeat AND o.output_key = r.output_key
WHERE r.run_id=? AND r.system=?"""


def _read_object(reader: Reader, text: Any, known: Any) -> Mapping[str, Any] | None:
    """A stored object; None if it is absent, damaged or something else."""
    if isinstance(text, str) and checksum(text) == known:
        with contained():
            value = reader.decode(text)
            return value if isinstance(value, dict) else None
    return None


def _find_needle(term: str) -> str:
    """The longest part of a term, in lower case, that is written in JSON as it is.

    Quotes and control characters are escaped in JSON, and SQLite lowers ASCII letters only.
    """
    is_cased = not term.isascii() and term.upper() != term.lower()
    runs = re.findall(r"[ !#-\[\]-~]+" if is_cased else r'[^"\\\x00-\x1f\x7f]+', term.lower())
    return max(runs, key=len, default="")
