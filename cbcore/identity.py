"""What makes two components the same one, so that stored results can be trusted.

The identity of a component covers everything that can change what it returns: its class and
that class's source, its owner and version, and its parameters. It never holds a secret. An
object can declare its own, as an attribute `identity`.
"""

from __future__ import annotations

import enum
import functools
import inspect
import json
import types
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson

from cbcore.chains import Chain, Renamed
from cbcore.introspection import public_attributes, type_path
from cbcore.secrets import visible

_MAX_DEPTH = 6
_OPTIONS = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)


class UnidentifiableError(ValueError):
    """Nothing tells this object from another of its kind; the message says why."""


def identity_of(obj: Any, *, record: Mapping[str, Any] | None = None) -> bytes:
    """A digest of all that can change what a component returns.

    `record` is what a result says of the component (owner, version, parameters). Raises
    `UnidentifiableError` when no identity can be had.
    """
    if isinstance(obj, Renamed):
        return identity_of(obj.system, record=record)
    if isinstance(obj, Chain):
        records = (record or {}).get("stages") or [None] * len(obj.stages)
        stages = [identity_of(s, record=r) for s, r in zip(obj.stages, records, strict=True)]
        return content_key(b"chain" + b"".join(stages))
    facts: dict[str, Any] = {"object": _described(obj, 0)}
    if record is not None:
        facts |= {key: record.get(key) for key in ("component", "plugin", "version", "params")}
    return content_key(canonical_bytes(facts))


def canonical_bytes(value: Any) -> bytes:
    """Plain data as JSON bytes that depend on its content and not on the order of its keys.

    Raises TypeError for what JSON cannot hold.
    """
    try:
        return orjson.dumps(value, option=_OPTIONS)
    except TypeError:
        # What orjson refuses and JSON can hold: lone surrogates and very large integers.
        _check_plain(value)
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def plain_bytes(value: Any) -> bytes:
    """Plain data as JSON bytes in its own order. Raises TypeError for what JSON cannot hold."""
    try:
        return orjson.dumps(value, option=_OPTIONS & ~orjson.OPT_SORT_KEYS)
    except TypeError:
        _check_plain(value)
        return json.dumps(value, separators=(",", ":")).encode()


def from_bytes(data: bytes) -> Any:
    """Read back what `canonical_bytes` or `plain_bytes` wrote."""
    try:
        return orjson.loads(data)
    except ValueError:
        return json.loads(data)


def _check_plain(value: Any) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"a key is {key!r}, not text")
            _check_plain(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_plain(item)
    elif value is not None and not isinstance(value, bool | int | float | str):
        raise TypeError(f"a value is of type {type(value).__name__}")


def content_key(content: bytes) -> bytes:
    """The address of something in the store: a digest of its content."""
    return blake2b(content, digest_size=16).digest()


def _described(obj: Any, depth: int) -> Any:
    declared = getattr(obj, "identity", None)
    if declared is not None:
        return {
            "declared": _plain("identity", declared() if callable(declared) else declared, depth)
        }
    return {
        "type": type_path(obj),
        "source": _source_of(type(obj)),  # type: ignore[arg-type]
        "attributes": {
            key: _plain(key, value, depth + 1)
            for key, value in public_attributes(obj).items()
            if key != "name"
        },
    }


def _plain(name: str, value: Any, depth: int) -> Any:
    """A value as plain data, secrets replaced, functions and objects by what defines them."""
    if depth > _MAX_DEPTH:
        raise UnidentifiableError(f"{name!r} is nested too deeply to be compared")
    value = visible(name, value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(name, item, depth + 1) for item in value]
    if isinstance(value, Mapping):
        return {str(k): _plain(str(k), v, depth + 1) for k, v in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((_plain(name, item, depth + 1) for item in value), key=repr)
    if isinstance(value, bytes | Path | type | enum.Enum):
        return repr(value)
    if isinstance(value, functools.partial):
        return [_plain(name, part, depth + 1) for part in (value.func, value.args, value.keywords)]
    if isinstance(value, types.MethodType):
        function = _plain(name, value.__func__, depth + 1)
        return [function, _described(value.__self__, depth + 1)]
    if isinstance(value, types.FunctionType):
        return _function(value, depth)
    if isinstance(value, types.BuiltinFunctionType | types.ModuleType):
        return repr(value).partition(" at 0x")[0]
    return _described(value, depth + 1)


def _function(function: types.FunctionType, depth: int) -> Any:
    captured = [cell.cell_contents for cell in function.__closure__ or ()]
    # Settings at module level, as in notebooks; what else is global has code of its own.
    used = {n: function.__globals__.get(n) for n in function.__code__.co_names}
    settings = {n: value for n, value in used.items() if isinstance(value, str | int | float)}
    return {
        "function": f"{function.__module__}.{function.__qualname__}",
        "code": [function.__code__.co_code.hex(), list(map(repr, function.__code__.co_names))],
        "constants": [repr(c).partition(" at 0x")[0] for c in function.__code__.co_consts],
        "defaults": _plain("defaults", function.__defaults__, depth + 1),
        "captured": [_plain("captured", value, depth + 1) for value in captured],
        "settings": _plain("settings", settings, depth + 1),
    }


@functools.lru_cache(maxsize=256)
def _source_of(cls: type) -> str:
    """A digest of the class's module; for classes typed at a prompt, of their own source."""
    if cls.__module__ == "builtins":
        return "builtin"
    try:
        path = inspect.getsourcefile(cls)
        if path is not None and Path(path).is_file():
            return content_key(Path(path).read_bytes()).hex()
        return content_key(inspect.getsource(cls).encode()).hex()
    except (OSError, TypeError) as error:
        raise UnidentifiableError(f"the source of {cls.__qualname__} cannot be read") from error
