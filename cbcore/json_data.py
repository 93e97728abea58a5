"""Plain data: what JSON can hold.

`to_json_safe` takes any value and never fails: use it for what has to be written down. `to_json`
refuses what is not plain data: `from_json` reads equal data back, and two different contents never
have the same bytes.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from typing import Any

import orjson

__all__ = ("from_json", "to_json", "to_json_safe")

MAX_DEPTH = 100
"""How deep `to_json_safe` looks into a value."""

CUT = "…"
"""Replaces what is deeper."""

_DEEPEST = 254  # the limit of orjson
_LARGEST = 10**640 - 1
"""Every Python reads and writes integers of 640 digits, however it is set up."""

_NOT_FOR_ORJSON = b" "
_PLAIN = (
    orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
_SORTED = _PLAIN | orjson.OPT_SORT_KEYS
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def to_json_safe(value: Any) -> Any:
    """Plain JSON data as near to `value` as JSON allows. Never raises.

    Non-finite numbers become None, arrays lists, paths and other objects text, integers of more
    than 640 digits hexadecimal text. An object whose methods raise becomes `<its class>`. A value
    that contains itself, or is nested more than 100 deep, is cut off with `…`. The text of an
    object leaves out its address in memory, so that it is the same in every run.
    """
    return _convert(value, (), is_strict=False)


def to_json(value: Any, *, sort_keys: bool = False) -> bytes:
    """Plain data as JSON bytes, NaN and infinity as null.

    With `sort_keys` the bytes do not depend on the order of keys. Raises TypeError, and no other
    exception, for what JSON cannot hold: other types, keys that are not text, integers of more
    than 640 digits, and what is nested more than 254 deep or in itself.
    """
    option = _SORTED if sort_keys else _PLAIN
    try:
        return orjson.dumps(value, option=option)
    except TypeError:
        pass  # subclasses, lone surrogates, and integers of more than 64 bits
    try:
        plain = _convert(value, (), is_strict=True)
        try:
            return orjson.dumps(plain, option=option)
        except TypeError:
            # With a mark that JSON skips: orjson would read large integers as floats.
            text = json.dumps(plain, sort_keys=sort_keys, separators=(",", ":"))
            return _NOT_FOR_ORJSON + text.encode()
    except RuntimeError as error:  # the stack is exhausted, or another thread changes the value
        raise TypeError(f"it cannot be read: {error}") from None


def from_json(data: bytes) -> Any:
    """The data that `to_json` wrote. Raises ValueError for bytes that are not JSON."""
    try:
        if data[:1] != _NOT_FOR_ORJSON:
            return orjson.loads(data)
    except ValueError:
        pass
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply") from None


def _convert(value: Any, above: tuple[int, ...], *, is_strict: bool) -> Any:
    """`value` as plain data; `above` has the ids of the containers around it."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value
    try:
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, float):
            return float.__float__(value) if math.isfinite(value) else None
        if isinstance(value, int):
            if -_LARGEST <= value <= _LARGEST:
                return int.__int__(value)
            if is_strict:
                raise TypeError("an integer has more than 640 digits")
            return hex(value)
        if is_strict:
            _check_container(value, above)
        elif id(value) in above or len(above) == MAX_DEPTH:
            return CUT
        above = (*above, id(value))
        if isinstance(value, list | tuple):
            return [_convert(item, above, is_strict=is_strict) for item in value]
        if isinstance(value, Mapping):
            return {
                _convert_key(key, is_strict=is_strict): _convert(item, above, is_strict=is_strict)
                for key, item in value.items()
            }
        return _convert_object(value, above)
    except (Exception, SystemExit):  # methods of other people's objects
        if is_strict:
            raise
        return f"<{kind.__qualname__}>"


def _check_container(value: Any, above: tuple[int, ...]) -> None:
    if not isinstance(value, dict | list | tuple):
        raise TypeError(f"a value is of type {type(value).__qualname__}")
    if id(value) in above or len(above) == _DEEPEST:
        raise TypeError(f"it is nested more than {_DEEPEST} deep, or in itself")


def _convert_key(key: Any, *, is_strict: bool) -> str:
    text = _convert(key, (), is_strict=False)
    if is_strict and not isinstance(key, str):
        raise TypeError(f"a key is {text!r}, not text")
    return text if isinstance(text, str) else str(key)


def _convert_object(value: Any, above: tuple[int, ...]) -> Any:
    """An object that JSON has no form for, as near as it gets."""
    if isinstance(value, set | frozenset):
        return sorted((_convert(item, above, is_strict=False) for item in value), key=repr)
    if isinstance(value, os.PathLike):
        return _convert(os.fspath(value), above, is_strict=False)
    if hasattr(value, "tolist"):  # a numpy or torch scalar or array
        return _convert(value.tolist(), above, is_strict=False)
    return str.__str__(_ADDRESS.sub("", str(value)))
