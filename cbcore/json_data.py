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
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import orjson

__all__ = ("to_json", "to_json_safe")

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


Replace: TypeAlias = Callable[[str, Any], Any]
"""A function that replaces a value, by the name that the value has in a mapping."""


def to_json_safe(value: Any, *, name: str = "", replace: Replace | None = None) -> Any:
    """Plain JSON data as near to `value` as JSON allows. Never raises.

    Non-finite numbers become None, arrays lists, paths and other objects text, integers of more
    than 640 digits hexadecimal text. An object whose methods raise becomes `<its class>`. A value
    that contains itself, or is nested more than 100 deep, is cut off with `…`. The text of an
    object leaves out its address in memory, so that it is the same in every run. `replace` changes
    each value before it is converted, and each text after that.
    """
    return _convert(value, (), name, replace)


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


def _convert(
    value: Any,
    above: tuple[int, ...],
    name: str = "",
    replace: Replace | None = None,
    *,
    is_strict: bool = False,
) -> Any:
    """`value` as plain data; `above` has the ids of the containers around it."""
    own = id(value)
    if replace is not None:
        value = replace(name, value)
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value
    try:
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, float):
            return float.__float__(value) if math.isfinite(value) else None
        if isinstance(value, int):
            return _convert_integer(value, is_strict=is_strict)
        if is_strict:
            _check_container(value, above)
        elif own in above or len(above) == MAX_DEPTH:
            return CUT
        above = (*above, own)
        if isinstance(value, list | tuple):
            return [_convert(item, above, name, replace, is_strict=is_strict) for item in value]
        if isinstance(value, Mapping):
            plain = {}
            for key, item in value.items():
                text = _convert_key(key, replace, is_strict=is_strict)
                plain[text] = _convert(item, above, text, replace, is_strict=is_strict)
            return plain
        return _convert_object(value, above, name, replace)
    except (Exception, SystemExit):  # methods of other people's objects
        if is_strict:
            raise
        return f"<{kind.__qualname__}>"


def _convert_integer(value: int, *, is_strict: bool) -> int | str:
    if -_LARGEST <= value <= _LARGEST:
        return int.__int__(value)
    if is_strict:
        raise TypeError("an integer has more than 640 digits")
    return hex(value)


def _check_container(value: Any, above: tuple[int, ...]) -> None:
    if not isinstance(value, dict | list | tuple):
        raise TypeError(f"a value is of type {type(value).__qualname__}")
    if id(value) in above or len(above) == _DEEPEST:
        raise TypeError(f"it is nested more than {_DEEPEST} deep, or in itself")


def _convert_key(key: Any, replace: Replace | None, *, is_strict: bool) -> str:
    text = _convert(key, (), "", replace)
    if is_strict and not isinstance(key, str):
        raise TypeError(f"a key is {text!r}, not text")
    return text if isinstance(text, str) else str(key)


def _convert_object(value: Any, above: tuple[int, ...], name: str, replace: Replace | None) -> Any:
    """An object that JSON has no form for, as near as it gets."""
    if isinstance(value, set | frozenset):
        return sorted((_convert(item, above, name, replace) for item in value), key=repr)
    if isinstance(value, os.PathLike):
        return _convert(os.fspath(value), above, name, replace)
    if hasattr(value, "tolist"):  # a numpy or torch scalar or array
        return _convert(value.tolist(), above, name, replace)
    return _convert(str.__str__(_ADDRESS.sub("", str(value))), above, name, replace)
