"""Plain data as JSON bytes, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import repeat
from operator import add, itemgetter
from typing import Any

import orjson

from cbcore.plain._values import LARGEST, class_name, json_safe, members_of, pairs_of

_DEEPEST = 254  # as orjson has it, so that an odd value somewhere inside makes no difference
_NOT_FOR_ORJSON = b" "
LINE_END = b"\n"
"""Of a line: in JSON as it is written here there is none."""
_OPTIONS = (
    orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
_without_end = itemgetter(slice(None, -1))
_SORTED = _OPTIONS | orjson.OPT_SORT_KEYS


def canonical_bytes(value: Any) -> bytes:
    """Plain data as JSON bytes that depend on its content and not on the order of its keys.

    As `plain_bytes` in all else.
    """
    try:
        return orjson.dumps(value, option=_SORTED)
    except TypeError:
        return _odd_bytes(value, _SORTED)


def plain_bytes(value: Any) -> bytes:
    """Plain data as JSON bytes in its own order, NaN and infinity as null.

    Raises TypeError, and nothing else, for what JSON cannot hold: other types, keys that are
    not text, integers of more than 640 digits, and what is nested more than 254 deep or in
    itself.
    """
    try:
        return orjson.dumps(value, option=_OPTIONS)
    except TypeError:
        return _odd_bytes(value, _OPTIONS)


def plain_line(value: Any) -> bytes:
    """As `plain_bytes`, with the end of a line behind it; what is odd is refused by a TypeError."""
    # A copy, as below: what orjson returns lies in a kilobyte, and many that wait there cost the
    # allocator several times what it took to make them.
    return orjson.dumps(value, None, _OPTIONS) + LINE_END


def each_as_bytes(values: Iterable[Any], *, canonical: bool = False) -> list[bytes]:
    """`plain_bytes` or `canonical_bytes` of each value, in half the time.

    Where one of them is odd, that is left to who can do without it: a TypeError.
    """
    option = (_SORTED if canonical else _OPTIONS) | orjson.OPT_APPEND_NEWLINE
    return list(map(_without_end, map(orjson.dumps, values, repeat(None), repeat(option))))


def each_as_line(values: Iterable[Any]) -> list[bytes]:
    """`plain_line` of each value."""
    return list(
        map(add, map(orjson.dumps, values, repeat(None), repeat(_OPTIONS)), repeat(LINE_END))
    )


def from_bytes(data: bytes) -> Any:
    """Read back what `canonical_bytes` or `plain_bytes` wrote. Raises ValueError for the rest."""
    try:
        if data[:1] != _NOT_FOR_ORJSON:
            return orjson.loads(data)
    except ValueError:
        pass
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def _odd_bytes(value: Any, option: int) -> bytes:
    """What orjson refuses and JSON can hold: subclasses, lone surrogates, very large integers."""
    try:
        plain = _strictly_plain(value, _DEEPEST)
        try:
            return orjson.dumps(plain, option=option)
        except TypeError:
            # With a mark that JSON skips: orjson would read large integers as floats.
            text = json.dumps(plain, sort_keys=option == _SORTED, separators=(",", ":"))
            return _NOT_FOR_ORJSON + text.encode()
    except RuntimeError as error:  # no stack is left, or another thread is changing the value
        raise TypeError(f"it cannot be read: {error}") from None


def _strictly_plain(value: Any, depth: int) -> Any:
    """The same data in plain types, without asking any method of a subclass; or TypeError."""
    kind = type(value)
    if value is None or kind is bool:
        return value
    if issubclass(kind, str):
        return str.__str__(value)
    if issubclass(kind, float):
        number = float.__float__(value)
        return number if number - number == 0.0 else None
    if issubclass(kind, int):
        whole = int.__int__(value)
        if -LARGEST <= whole <= LARGEST:
            return whole
        raise TypeError("an integer has more than 640 digits")
    if depth == 0:
        raise TypeError(f"it is nested more than {_DEEPEST} deep, or in itself")
    if issubclass(kind, dict):
        return {_text_key(key): _strictly_plain(item, depth - 1) for key, item in pairs_of(value)}
    if issubclass(kind, list | tuple):
        return [_strictly_plain(item, depth - 1) for item in members_of(value)]
    raise TypeError(f"a value is of type {class_name(value)}")


def _text_key(key: Any) -> str:
    if not issubclass(type(key), str):
        raise TypeError(f"a key is {json_safe(key)!r}, not text")
    return str.__str__(key)
