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

_P = ParamSpec("_P")
_R = TypeVar("_R")


def by_field(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let a function take the fields of its records as keywords, beside the records themselves.

    A record is a keyword-only parameter whose default is an instance of an attrs class; fields
    that are such instances are records in turn. What is given by field goes before what a
    record given beside it says. The signature shows the fields in the place of their record.
    Raises TypeError where two parameters would have the same name.
    """
    signature = _resolved(function)
    records = {
        name: parameter.default
        for name, parameter in signature.parameters.items()
        if _is_record(parameter.default)
    }
    takers = {
        field: name for name, record in records.items() for field, _ in _fields(record, inner=True)
    }

    @functools.wraps(function)
    def taking_fields(*arguments: Any, **keywords: Any) -> Any:
        given = {field: keywords.pop(field) for field in [*keywords] if field in takers}
        for name in {takers[field] for field in given}:
            keywords[name] = _changed(keywords.get(name, records[name]), given)
        return function(*arguments, **keywords)

    taking_fields.__signature__ = _flat_signature(function, signature, records)  # type: ignore[attr-defined]
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
            found.update(_fields(value))
        else:
            found[name] = value
    return found


def _is_record(value: Any) -> bool:
    return not isinstance(value, type) and attrs.has(type(value))


def _fields(record: Any, *, inner: bool = False) -> Iterator[tuple[str, Any]]:
    """The fields of a record and of those in it; with `inner` also the records in it."""
    for name, value in _own_fields(record):
        if _is_record(value):
            yield from _fields(value, inner=inner)
        if inner or not _is_record(value):
            yield name, value


def _own_fields(record: Any) -> Iterator[tuple[str, Any]]:
    for field in attrs.fields(type(record)):
        if field.init:
            yield field.alias, getattr(record, field.name)


def _changed(record: Any, given: Mapping[str, Any]) -> Any:
    """A record with what is given in the place of its fields, and of those of records in it."""
    changes = {}
    for name, kept in _own_fields(record):
        value = given.get(name, kept)
        if _is_record(value):
            value = _changed(value, given)
        if value is not kept:
            changes[name] = value
    return attrs.evolve(record, **changes) if changes else record


def _flat_signature(
    function: Callable[..., Any], signature: inspect.Signature, records: Mapping[str, Any]
) -> inspect.Signature:
    found: dict[str, inspect.Parameter] = {}
    for name, parameter in signature.parameters.items():
        if name in records and parameter.kind is not parameter.KEYWORD_ONLY:
            raise TypeError(f"{function.__qualname__}: the record {name!r} must be keyword-only")
        shown = _parameters(records[name]) if name in records else [parameter]
        for one in shown:
            if one.name in found:
                raise TypeError(f"{function.__qualname__} would have {one.name!r} twice")
            found[one.name] = one
    return signature.replace(parameters=list(found.values()))


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
    hints = typing.get_type_hints(record_type)
    found = {}
    for field in attrs.fields(record_type):
        found[field.alias] = hints.get(field.name, inspect.Parameter.empty)
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
