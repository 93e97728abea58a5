"""Parameters in groups: a constructor takes records, and users write the fields of them.

    @attrs.frozen(kw_only=True)
    class Retry:
        max_retries: int = 5
        backoff_s: float = 0.5

    class Endpoint:
        @by_field
        def __init__(self, url: str, *, retry: Retry = Retry()) -> None:
            self.retry = retry

`Endpoint(url, retry=Retry(max_retries=3))` and `Endpoint(url, max_retries=3)` are the same. Spec
strings, run files, `cb info` and what a result records have the fields only. A record that is
kept in an attribute of its parameter's name is recorded field by field.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ParamSpec, TypeVar

import attrs

__all__ = ("by_field",)

_P = ParamSpec("_P")
_R = TypeVar("_R")


def by_field(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let a function take the fields of its records as keywords, beside the records themselves.

    A record is a keyword-only parameter whose default is an instance of an attrs class; fields
    that are such instances are records in turn. What is given by field goes before what a
    record given beside it says. The signature shows the fields in the place of their record.
    Raises TypeError where two parameters would have the same name; the function does where
    something else is given for a record.
    """
    signature = _resolved(function)
    records = {
        name: parameter.default
        for name, parameter in signature.parameters.items()
        if _is_record(parameter.default)
    }
    _check(function.__qualname__, signature, records)
    known = {*records, *_names_in(records)}

    @functools.wraps(function)
    def taking_fields(*arguments: Any, **keywords: Any) -> Any:
        given = {name: keywords.pop(name) for name in [*keywords] if name in known}
        for name, default in records.items():
            keywords[name] = _filled(name, default, given)
        return function(*arguments, **keywords)

    taking_fields.__signature__ = _flat_signature(signature, records)  # type: ignore[attr-defined]
    taking_fields.__records__ = tuple(records)  # type: ignore[attr-defined]
    return typing.cast("Callable[_P, _R]", taking_fields)


def flattened(obj: object, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """An object's attributes with those that hold its records replaced by the records' fields."""
    names = {
        name
        for cls in type(obj).__mro__
        for name in getattr(vars(cls).get("__init__"), "__records__", ())
    }
    found: dict[str, Any] = {}
    for name, value in attributes.items():
        if name in names and _is_record(value):
            found.update(_leaves(value))
        else:
            found[name] = value
    return found


def _is_record(value: Any) -> bool:
    return not isinstance(value, type) and attrs.has(type(value))


def _own_fields(record: Any) -> Iterator[tuple[str, Any]]:
    for field in attrs.fields(type(record)):
        if field.init:
            yield field.alias, getattr(record, field.name)


def _leaves(record: Any) -> Iterator[tuple[str, Any]]:
    """The fields of a record and of those in it, without the records in it."""
    for name, value in _own_fields(record):
        if _is_record(value):
            yield from _leaves(value)
        else:
            yield name, value


def _names_in(records: Mapping[str, Any]) -> Iterator[str]:
    """The names of all fields, the records in records among them."""
    for record in records.values():
        fields = dict(_own_fields(record))
        yield from fields
        yield from _names_in({name: value for name, value in fields.items() if _is_record(value)})


def _check(function: str, signature: inspect.Signature, records: Mapping[str, Any]) -> None:
    for name in records:
        parameter = signature.parameters[name]
        if parameter.kind is not parameter.KEYWORD_ONLY:
            raise TypeError(f"{function}: the record {name!r} must be keyword-only")
    seen = set(signature.parameters)
    for name in _names_in(records):
        if name in seen:
            raise TypeError(f"{function} would have {name!r} twice")
        seen.add(name)


def _filled(name: str, default: Any, given: Mapping[str, Any]) -> Any:
    """The record that is given, or the default, with what is given of its fields."""
    record = given.get(name, default)
    if not isinstance(record, type(default)):
        told, wanted = type(record).__name__, type(default).__name__  # never a value: a key, say
        raise TypeError(f"{name} is a {told}: it must be a {wanted}, or be given by its fields")
    changes = {}
    for field, kept in _own_fields(record):
        value = _filled(field, kept, given) if _is_record(kept) else given.get(field, kept)
        if value is not kept:
            changes[field] = value
    return attrs.evolve(record, **changes) if changes else record


def _flat_signature(signature: inspect.Signature, records: Mapping[str, Any]) -> inspect.Signature:
    found: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        found += _parameters(records[name]) if name in records else [parameter]
    return signature.replace(parameters=found)


def _parameters(record: Any) -> Iterator[inspect.Parameter]:
    types = _types(type(record))
    for name, value in _own_fields(record):
        if _is_record(value):
            yield from _parameters(value)
        else:
            kind, annotation = inspect.Parameter.KEYWORD_ONLY, types[name]
            yield inspect.Parameter(name, kind, default=value, annotation=annotation)


def _types(record_type: type) -> dict[str, Any]:
    """What each field may be given: what its converter takes, where it has one."""
    try:
        hints = typing.get_type_hints(record_type, include_extras=True)
    except NameError:
        hints = {}
    found = {}
    for field in attrs.fields(record_type):
        found[field.alias] = hints.get(field.name, field.type)
        if inspect.isfunction(field.converter):
            (taken, *_) = _resolved(field.converter).parameters.values()
            found[field.alias] = taken.annotation
    return found


def _resolved(function: Callable[..., Any]) -> inspect.Signature:
    """A signature with its annotations as types, or as text where a name is for checkers only."""
    try:
        return inspect.signature(function, eval_str=True)
    except NameError:
        return inspect.signature(function)
