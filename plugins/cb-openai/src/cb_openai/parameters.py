"""Values that users give, checked before anything is sent. Messages never tell a secret."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import attrs

from cbcore.secrets import Secret

_RESERVED = frozenset({"messages", "input", "prompt"})
"""Fields that `extra_body` may not set: the question itself."""


def positive(record: Any, field: attrs.Attribute[Any], value: float | None) -> None:
    """Refuse a number that is too small, endless or none, by its name. Raises ValueError."""
    if value is not None and not 0 < value < float("inf"):
        raise ValueError(f"{field.name} is {value!r}: it must be greater than 0")


def not_negative(record: Any, field: attrs.Attribute[Any], value: float | None) -> None:
    """Refuse a number below 0, or an endless one. Raises ValueError."""
    if value is not None and not 0 <= value < float("inf"):
        raise ValueError(f"{field.name} is {value!r}: it must be 0 or more")


def at_least_one(record: Any, field: attrs.Attribute[Any], value: int | None) -> None:
    """Refuse a count of nothing. Raises ValueError."""
    if value is not None and value < 1:
        raise ValueError(f"{field.name} is {value!r}: it must be 1 or more")


def as_headers(headers: Mapping[str, str] | str | None) -> dict[str, str] | None:
    """Headers as they are given, checked."""
    return None if headers is None else check_headers(as_mapping("headers", headers))


def as_extra_body(extra_body: Mapping[str, Any] | str | None) -> dict[str, Any] | None:
    """More fields of a request as they are given, checked."""
    if extra_body is None:
        return None
    return dict(check_extra_body(as_mapping("extra_body", extra_body)))


def check_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers that can be sent. Raises ValueError or TypeError, which never tell a value."""
    for name, value in headers.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"headers: {name!r} must be a text with a text as its value")
        if not f"{name}{value}".isprintable():
            raise ValueError(f"headers: {name!r} holds a line break or another control character")
    return dict(headers)


def check_extra_body(extra_body: Mapping[str, Any]) -> Mapping[str, Any]:
    """More parameters of the request, which may not touch what is asked. Raises ValueError."""
    for name in extra_body:
        if name == "stream":
            raise ValueError("extra_body cannot set 'stream': the parameter stream=true does")
        if name in _RESERVED:
            raise ValueError(f"extra_body cannot set {name!r}: it belongs to the system itself")
    return extra_body


def as_mapping(name: str, value: Mapping[str, Any] | str) -> Mapping[str, Any]:
    """A mapping, which on the command line is written as a JSON object."""
    if isinstance(value, str):
        secret = isinstance(value, Secret)
        try:
            value = json.loads(value)
        except ValueError:
            raise ValueError(f'{name} is not a JSON object such as {{"key": "value"}}') from None
        if secret and isinstance(value, dict):
            value = {k: Secret(v) if isinstance(v, str) else v for k, v in value.items()}
    if not isinstance(value, Mapping):
        raise TypeError(f"{name} is a {type(value).__name__}, not a mapping")
    return value
