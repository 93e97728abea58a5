"""How the two processes of a program talk: messages, and values that cross by value.

Runs inside the sandbox, on both sides. Standard library only. What comes from the other side
is text that is looked at, never code: nothing in it can make this process do anything but
build a value of a known type.
"""

from __future__ import annotations

import json
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from typing import Any

_LENGTH = struct.Struct("<Q")
LONGEST_MESSAGE = 256 << 20
_SMALL = 1 << 63
_SAME = frozenset({type(None), bool, str, float})
_dump = json.JSONEncoder(check_circular=False, separators=(",", ":")).encode


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


class ClosedError(Exception):
    """The other side has ended."""


class WireError(Exception):
    """The other side said what cannot be understood."""


class Channel:
    """Messages over a socket, whole or not at all."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def send(self, message: Any) -> None:
        data = _dump(message).encode("ascii")
        try:
            self._connection.sendall(_LENGTH.pack(len(data)) + data)
        except OSError as error:
            raise ClosedError from error

    def receive(self) -> Any:
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size))
        if length > LONGEST_MESSAGE:
            raise WireError(f"a message of {length} bytes")
        try:
            return json.loads(self._read(length))
        except (ValueError, RecursionError) as error:
            raise WireError(f"no message: {error}") from None

    def _read(self, length: int) -> bytes:
        parts = []
        while length:
            try:
                part = self._connection.recv(min(length, 1 << 20))
            except OSError as error:
                raise ClosedError from error
            if not part:
                raise ClosedError
            parts.append(part)
            length -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)


class Codec:
    """Values as text and back. A list is a list; all else but the simplest has a tag.

    What has no value that could cross is left to `encode_object` and `decode_object`.
    """

    def encode(self, value: Any) -> Any:
        kind = type(value)
        if kind in _SAME:
            return value
        if kind is int:
            return value if -_SMALL < value < _SMALL else {"i": hex(value)}
        if kind is list:
            return value if _is_simple(value) else [self.encode(one) for one in value]
        tag = _TAGS.get(kind)
        if tag:
            return {tag: self._parts(tag, value)}
        standard = _standard_name(kind)
        if standard:
            parts = _STANDARD[standard][0](value)
            if parts is not None:
                return {"v": [standard, self.encode(parts)]}
        return self.encode_object(value)

    def decode(self, text: Any) -> Any:
        if type(text) is list:
            return text if _is_simple(text) else [self.decode(one) for one in text]
        if type(text) is not dict:
            return text
        if len(text) != 1:
            raise WireError("a value with several tags")
        ((tag, parts),) = text.items()
        build = _BUILD.get(tag)
        try:
            if build:
                return build(self, parts)
            if tag == "v":
                name, inner = parts
                return _STANDARD[name][1](self.decode(inner))
        except (ClosedError, WireError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever a type says to what it is made of
            raise WireError(f"no value: {type(error).__name__}: {error}") from None
        return self.decode_object(tag, parts)

    def encode_object(self, value: Any) -> Any:
        raise NotImplementedError

    def decode_object(self, tag: str, parts: Any) -> Any:
        raise NotImplementedError

    def _parts(self, tag: str, value: Any) -> Any:
        if tag in "tsf":
            return [self.encode(one) for one in value]
        if tag == "d":
            return [[self.encode(key), self.encode(one)] for key, one in value.items()]
        if tag in "bB":
            return value.decode("latin-1")
        if tag == "c":
            return [value.real, value.imag]
        if tag in "rl":
            return [self.encode(one) for one in (value.start, value.stop, value.step)]
        return repr(value)


def _is_simple(values: list[Any]) -> bool:
    """Whether a list is its own text: decided without a loop in Python, as it may be long."""
    kinds = set(map(type, values))
    if kinds <= _SAME:
        return True
    return kinds == {int} and min(values) > -_SMALL and max(values) < _SMALL


_TAGS: dict[type, str] = {
    tuple: "t",
    set: "s",
    frozenset: "f",
    dict: "d",
    bytes: "b",
    bytearray: "B",
    complex: "c",
    range: "r",
    slice: "l",
    type(...): "n",
    type(NotImplemented): "n",
}
_NAMED = {"Ellipsis": ..., "NotImplemented": NotImplemented}
_BUILD: dict[str, Callable[[Codec, Any], Any]] = {
    "i": lambda _, parts: int(parts, 16),
    "t": lambda codec, parts: tuple(map(codec.decode, parts)),
    "s": lambda codec, parts: set(map(codec.decode, parts)),
    "f": lambda codec, parts: frozenset(map(codec.decode, parts)),
    "d": lambda codec, parts: {codec.decode(key): codec.decode(one) for key, one in parts},
    "b": lambda _, parts: parts.encode("latin-1"),
    "B": lambda _, parts: bytearray(parts.encode("latin-1")),
    "c": lambda _, parts: complex(*parts),
    "r": lambda codec, parts: range(*map(codec.decode, parts)),
    "l": lambda codec, parts: slice(*map(codec.decode, parts)),
    "n": lambda _, parts: _NAMED[parts],
}


def _of(module: str, name: str) -> Any:
    """A type of the standard library or of numpy, imported when one of its values comes."""
    import importlib

    return getattr(importlib.import_module(module), name)


def _text_type(module: str, name: str) -> tuple[Any, Any]:
    """A type whose values are told by their text."""

    def build(text: Any) -> Any:
        if not isinstance(text, str):
            raise TypeError(text)
        return _of(module, name)(text)

    return str, build


def _pairs_type(name: str) -> tuple[Any, Any]:
    """A kind of dict, told by its items."""
    return dict, lambda items: _of("collections", name)(dict(items))


def _moment_parts(value: Any) -> Any:
    """Only without a time zone or with a fixed one; others are rules, not values."""
    zone = value.tzinfo
    if zone is not None and type(zone).__name__ != "timezone":
        return None
    return [value.isoformat(), value.fold]


def _array_parts(value: Any) -> Any:
    if value.dtype.hasobject or value.dtype.names:
        return None
    return [value.dtype.str, list(value.shape), value.tobytes()]


def _array(parts: Any) -> Any:
    kind, shape, data = parts
    numpy = _of("numpy", "frombuffer")
    dtype = _of("numpy", "dtype")(str(kind))
    return numpy(bytes(data), dtype=dtype).reshape(tuple(map(int, shape))).copy()


def _series_parts(value: Any) -> Any:
    """Of a column of pandas, or an index: numbers as an array, other objects one by one."""
    dtype = str(getattr(value, "dtype", ""))
    array = value.to_numpy()
    if array.dtype.hasobject:
        array = list(array) if dtype in ("object", "str", "string") else None
    elif str(array.dtype) != dtype:
        return None  # types of pandas' own, which may hold anything
    return array if array is None else [dtype, array]


def _column(parts: Any) -> Any:
    dtype, values = parts
    return _of("pandas", "Series")(values, dtype=str(dtype))


def _index(parts: Any) -> Any:
    return _of("pandas", "Index")(_column(parts[0]), name=parts[1])


def _index_parts(value: Any) -> Any:
    values = None if value.nlevels > 1 else _series_parts(value)
    return values and [values, value.name]


def _table_parts(value: Any) -> Any:
    columns, rows = _index_parts(value.columns), _index_parts(value.index)
    found = [_series_parts(value.iloc[:, number]) for number in range(value.shape[1])]
    return [columns, rows, found] if columns and rows and all(found) else None


def _table(parts: Any) -> Any:
    columns, rows, found = parts
    labels, index = _index(columns), _index(rows)
    made = _of("pandas", "DataFrame")(dict(enumerate(map(_column, found))), range(len(index)))
    made.columns, made.index = labels, index
    return made


def _named_parts(value: Any) -> Any:
    values, rows = _series_parts(value), _index_parts(value.index)
    return [values, rows, value.name] if values and rows else None


def _named_column(parts: Any) -> Any:
    values, rows, name = parts
    made = _column(values).rename(name)
    made.index = _index(rows)
    return made


_STANDARD: dict[str, tuple[Any, Any]] = {
    "decimal.Decimal": _text_type("decimal", "Decimal"),
    "fractions.Fraction": _text_type("fractions", "Fraction"),
    "uuid.UUID": _text_type("uuid", "UUID"),
    "pathlib.PosixPath": _text_type("pathlib", "PosixPath"),
    "pathlib.PurePosixPath": _text_type("pathlib", "PurePosixPath"),
    "datetime.date": (
        lambda v: v.isoformat(),
        lambda parts: _of("datetime", "date").fromisoformat(parts),
    ),
    "datetime.datetime": (
        _moment_parts,
        lambda parts: _of("datetime", "datetime").fromisoformat(parts[0]).replace(fold=parts[1]),
    ),
    "datetime.time": (
        _moment_parts,
        lambda parts: _of("datetime", "time").fromisoformat(parts[0]).replace(fold=parts[1]),
    ),
    "datetime.timedelta": (
        lambda v: [v.days, v.seconds, v.microseconds],
        lambda parts: _of("datetime", "timedelta")(*parts),
    ),
    "collections.deque": (
        lambda v: [list(v), v.maxlen],
        lambda parts: _of("collections", "deque")(*parts),
    ),
    "collections.Counter": _pairs_type("Counter"),
    "collections.OrderedDict": _pairs_type("OrderedDict"),
    "collections.defaultdict": (
        lambda v: [v.default_factory, dict(v)],
        lambda parts: _of("collections", "defaultdict")(parts[0], parts[1]),
    ),
    "array.array": (
        lambda v: [v.typecode, v.tolist()],
        lambda parts: _of("array", "array")(*parts),
    ),
    "numpy.ndarray": (_array_parts, _array),
    "numpy.generic": (_array_parts, lambda parts: _array(parts)[()]),
    "pandas.DataFrame": (_table_parts, _table),
    "pandas.Series": (_named_parts, _named_column),
    "pandas.Index": (_index_parts, _index),
    "pandas.RangeIndex": (
        lambda v: [[v.start, v.stop, v.step], v.name],
        lambda parts: _of("pandas", "RangeIndex")(*parts[0], name=parts[1]),
    ),
}
VALUE_MODULES = words(
    "builtins collections datetime decimal enum fractions io numbers numpy pathlib string types "
    "typing uuid"
)
"""Types of these are known to both sides by name."""


def _standard_name(kind: type) -> str:
    """What a type is called in the table above; empty for all that is not exactly of it."""
    # What a program calls its types is its own business: it may also be no text at all.
    module, name = getattr(kind, "__module__", None), getattr(kind, "__name__", None)
    if not isinstance(module, str) or not isinstance(name, str):
        return ""
    # Since Python 3.13 that is where paths are said to be from.
    found = f"{module.partition('.')[0]}.{name}"
    if found not in _STANDARD:
        numpy: Any = sys.modules.get("numpy")
        return "numpy.generic" if module == "numpy" and issubclass(kind, numpy.generic) else ""
    owner = sys.modules.get(found.partition(".")[0])
    return found if getattr(owner, name, None) is kind else ""
