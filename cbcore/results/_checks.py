"""What a saved result must be made of, before anything is computed from it: it may be a stranger's."""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, Literal

from cbcore.exceptions import ResultError
from cbcore.json_data import MAX_DEPTH
from cbcore.results._config import RunConfig

__all__ = ()

_DEEPEST = 2 * MAX_DEPTH
"""What is written is cut off at `MAX_DEPTH` within each row, example and part."""

_LARGEST = 2**63
"""What tables, databases and floats can hold."""

_PARTS: dict[str, Any] = {
    "summary": dict[str, dict[str, float]],
    "timing": dict[str, float],
    "undecided": dict[str, list[str]],
    "estimates": dict[str, dict[str, dict[str, float | str]]],
    "problems": list[str],
    "verdicts": list[dict[str, Any]],
}
_RECORD: dict[str, Any] = {
    "name": str,
    "plugin": str,
    "version": str,
    "params": dict[str, Any],
    "stages": list[dict[str, Any]],
    **dict.fromkeys(("component", "digest", "record_digest", "source_commit"), str),
}


def check_depth(data: Any) -> None:
    """Raise `ResultError` if data is nested more deeply than any result that was written."""
    level = [data]
    for _ in range(_DEEPEST):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise ResultError("this result is nested too deeply")


def check_parts(document: Mapping[str, Any]) -> None:
    """Raise `ResultError` unless what a result says beside its rows is of the declared types."""
    for name, kind in _PARTS.items():
        part = document.get(name)
        if not isinstance(part, typing.get_origin(kind) | None):
            raise ResultError(f"{name!r} of this result is a {type(part).__name__}")
        if not fits(part, kind):
            raise ResultError(f"{name!r} of this result has a value of another type than it should")


def check_fields(what: str, given: Mapping[str, Any], kind: type) -> None:
    """Raise `ResultError` unless the fields of a class are given values of their types."""
    for name, expected in typing.get_type_hints(kind).items():
        if not fits(given.get(name), expected):
            raise ResultError(f"{name!r} of {what} cannot be {given[name]!r:.80}")


def check_config(config: Any) -> None:
    """Raise `ResultError` unless each value of a config has the type that `RunConfig` declares."""
    if not isinstance(config, dict):
        raise ResultError(f"'config' of this result is a {type(config).__name__}")
    declared = typing.get_type_hints(RunConfig)
    brought = {key: declared["systems"] for key in config if key.endswith("_plugins")}
    for key, kind in {**brought, **declared}.items():
        if not fits(config.get(key), kind):
            raise ResultError(f"{key!r} of this result cannot be {config[key]!r:.80}")
        if typing.get_origin(kind) is Sequence:
            for record in config.get(key) or ():
                check_record(record)
    check_settings(config.get("settings") or {})


def check_settings(settings: Mapping[str, Any]) -> None:
    """Raise `ResultError` unless each setting has a value that a run could have been given."""
    from cbcore.settings.options import options_of
    from cbcore.settings.run_settings import RunSettings

    declared = options_of(RunSettings)
    for name, value in settings.items():
        if name not in declared or value is None:
            continue
        try:
            declared[name].convert(value)
            is_usable = isinstance(value, bool) or not isinstance(value, Real) or is_number(value)
        except ValueError:
            is_usable = False
        if not is_usable:
            raise ResultError(f"{name!r} of this result cannot be {value!r:.80}")


def check_record(record: Mapping[str, Any]) -> None:
    """Raise `ResultError` unless this can be the record of a component."""
    if not isinstance(record, Mapping):
        raise ResultError(f"a component of this result cannot be {record!r:.80}")
    for key, kind in _RECORD.items():
        if not fits(record.get(key), kind):
            raise ResultError(f"{key!r} of a component cannot be {record[key]!r:.80}")
    for stage in record.get("stages") or ():
        check_record(stage)


def is_number(value: Any) -> bool:
    """Whether a value is a number that everything can hold."""
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return -_LARGEST <= value < _LARGEST
    return isinstance(value, float) and math.isfinite(value)


def fits(value: Any, kind: Any) -> bool:
    """Whether plain data is of a type; None fits every type."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if value is None or kind is Any:
        return True
    if origin in (typing.Union, types.UnionType):
        return any(part is not type(None) and fits(value, part) for part in parts)
    if origin is Literal or kind is str:
        return isinstance(value, str)
    if kind in (int, float):
        return is_number(value) and (kind is float or isinstance(value, int))
    if origin in (dict, Mapping):
        return isinstance(value, dict) and all(fits(item, parts[1]) for item in value.values())
    if origin in (list, Sequence):
        return isinstance(value, list) and all(fits(item, parts[0]) for item in value)
    return isinstance(value, kind)
