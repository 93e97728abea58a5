"""Anything as plain data, whatever it is and does."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

MAX_DEPTH = 100
"""How deep `json_safe` looks into a value."""

CUT = "…"
"""What stands for all that is deeper."""

LARGEST = 10**640 - 1
"""Every Python reads and writes integers of 640 digits, however it is set up."""

UNORDERED = (set, frozenset)
COLLECTIONS: tuple[Any, ...] = (list, tuple, *UNORDERED)

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_name_of = type.__dict__["__qualname__"].__get__  # which no metaclass can replace


def json_safe(value: Any) -> Any:
    """Plain JSON data equal to `value`; what JSON cannot hold, as near as it gets. Never raises.

    Non-finite numbers become None, arrays lists, paths and strange objects text, integers of
    more than 640 digits hexadecimal text. An object that cannot say what it is becomes
    `<its class>`; what is nested in itself, or more than 100 deep, is cut off with `…`.
    The text of an object leaves out its address in memory, so that it is the same in every run.
    """
    try:
        return _plain(value, ())
    except RuntimeError:  # no stack is left, or another thread is changing the value
        return f"<{class_name(value)}>"


def _plain(value: Any, above: tuple[int, ...]) -> Any:
    """`value` as plain data; `above` are the ids of what it is nested in."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value
    if kind is float:
        return value if value - value == 0.0 else None
    if kind is int:
        return value if -LARGEST <= value <= LARGEST else hex(value)
    if id(value) in above or len(above) == MAX_DEPTH:
        return CUT
    above = (*above, id(value))
    if kind is dict:
        return {
            key if type(key) is str else key_text(key): _plain(item, above)
            for key, item in value.items()
        }
    if kind is list or kind is tuple:
        return [_plain(item, above) for item in value]
    try:
        return _foreign(value, kind, above)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - somebody else's methods must not cost a finished run
        return f"<{class_name(value)}>"


def _foreign(value: Any, kind: type, above: tuple[int, ...]) -> Any:
    """A value of another type, whose methods may do anything."""
    # Asked of the type, as an object can say what it likes of its class.
    if issubclass(kind, str):
        return str.__str__(value)
    if issubclass(kind, int):
        return _plain(int.__int__(value), above)
    if issubclass(kind, float):
        return _plain(float.__float__(value), above)
    if issubclass(kind, Mapping):
        return {key_text(key): _plain(item, above) for key, item in pairs_of(value)}
    if issubclass(kind, COLLECTIONS):
        found = [_plain(item, above) for item in members_of(value)]
        return sorted(found, key=repr) if issubclass(kind, UNORDERED) else found
    if issubclass(kind, os.PathLike):
        return _plain(os.fspath(value), above)
    if hasattr(value, "tolist"):  # a numpy or torch scalar or array
        listed = value.tolist()
        if type(listed) is kind:  # a long double, which has no other form of itself
            return _plain(float(value), above)
        return _plain(listed, above)
    return _text(value)


def pairs_of(value: Any) -> Any:
    """The keys and items of a mapping: of a dict those it holds, whatever its class says."""
    return dict.items(value) if issubclass(type(value), dict) else value.items()


def members_of(value: Any) -> Any:
    """What a list, tuple or set holds, whatever its class says."""
    return next(base for base in COLLECTIONS if issubclass(type(value), base)).__iter__(value)


def key_text(key: Any) -> str:
    """A key of a mapping as text."""
    kind = type(key)
    if issubclass(kind, str):
        return str.__str__(key)
    if kind is int and not -LARGEST <= key <= LARGEST:
        return hex(key)
    try:
        return _text(key)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - as above
        return f"<{class_name(key)}>"


def _text(value: Any) -> str:
    return str.__str__(_ADDRESS.sub("", str(value)))


def class_name(value: Any) -> str:
    """How the class of a value is called, for which nothing of either is asked."""
    return str(_name_of(type(value)))
