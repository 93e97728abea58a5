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

import contextlib
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
    """Let a function take the fields of its records as keywords, next to the records themselves.

    A record is a keyword-only parameter with an instance of an attrs class as its default. Fields
    with such instances are records, too. A field wins over the record that is given with it. The
    signature shows the fields in the place of their record. Raises ValueError if two parameters
    would have the same name. The function raises TypeError for another value in the place of a
    record.
    """
    signature = _resolve(function)
    records = {n: p.default for n, p in signature.parameters.items() if _is_record(p.default)}
    parameters: list[inspect.Parameter] = []
    names = set(records)
    for name, parameter in signature.parameters.items():
        if name not in records:
            parameters.append(parameter)
            continue
        for field, value in _walk(records[name]):
            names.add(field.alias)
            if not _is_record(value):
                kind, annotation = parameter.KEYWORD_ONLY, _annotation(field)
                parameters.append(
                    inspect.Parameter(field.alias, kind, default=value, annotation=annotation)
                )

    @functools.wraps(function)
    def take_fields(*arguments: Any, **keywords: Any) -> Any:
        given = {name: keywords.pop(name) for name in [*keywords] if name in names}
        for name, default in records.items():
            keywords[name] = _fill(name, default, given)
        return function(*arguments, **keywords)

    take_fields.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    take_fields.__records__ = tuple(records)  # type: ignore[attr-defined]
    return typing.cast("Callable[_P, _R]", take_fields)


def flatten_records(obj: object, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """An object's attributes with the fields of its records in the place of the records."""
    names = {
        name
        for cls in type(obj).__mro__
        for name in getattr(vars(cls).get("__init__"), "__records__", ())
    }
    flat: dict[str, Any] = {}
    for name, value in attributes.items():
        if name in names and _is_record(value):
            flat.update((f.alias, leaf) for f, leaf in _walk(value) if not _is_record(leaf))
        else:
            flat[name] = value
    return flat


def _is_record(value: Any) -> bool:
    return not isinstance(value, type) and attrs.has(type(value))


def _walk(record: Any) -> Iterator[tuple[Any, Any]]:
    """The fields of a record and of the records in it, with their values."""
    for field in _fields(type(record)):
        value = getattr(record, field.name)
        yield field, value
        if _is_record(value):
            yield from _walk(value)


def _fields(record_type: type) -> list[Any]:
    with contextlib.suppress(NameError):  # a name that only type checkers see
        attrs.resolve_types(record_type, include_extras=True)
    return [field for field in attrs.fields(record_type) if field.init]


def _fill(name: str, default: Any, given: Mapping[str, Any]) -> Any:
    """The given record or the default, with the given fields."""
    record = given.get(name, default)
    if not isinstance(record, type(default)):
        actual, wanted = type(record).__name__, type(default).__name__  # not a value: maybe a key
        raise TypeError(f"{name} is a {actual}: it must be a {wanted}, or be given by its fields")
    fields = {}
    for field in _fields(type(record)):
        value = getattr(record, field.name)
        is_record = _is_record(value)
        fields[field.alias] = (
            _fill(field.alias, value, given) if is_record else given.get(field.alias, value)
        )
    return attrs.evolve(record, **fields)


def _annotation(field: Any) -> Any:
    """The type of a field's values: of its converter's parameter, if it has a converter."""
    if inspect.isfunction(field.converter):
        return next(iter(_resolve(field.converter).parameters.values())).annotation
    return field.type


def _resolve(function: Callable[..., Any]) -> inspect.Signature:
    """A signature with its annotations as types, or as text if only type checkers see a name."""
    try:
        return inspect.signature(function, eval_str=True)
    except NameError:
        return inspect.signature(function)
