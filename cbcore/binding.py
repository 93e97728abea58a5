"""Making a component from a spec: parameters checked and given the types they ask for.

A parameter that would start a program, send a key or read a variable is marked as `Trusted`, one
that may name a file as `FileName`. Files and results of other people cannot set the former:

    def __init__(self, python: Trusted[str | None] = None, rubric: FileName[str] = "fair") -> None:

A constructor may take its parameters in groups, whose fields users write: see `by_field`.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import re
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeAlias, TypeVar

import attrs

from cbcore.exceptions import CBError, ParameterError, SpecError
from cbcore.introspection import is_record, record_fields, signature_of, walk_record
from cbcore.names import hint
from cbcore.secrets import is_secret_name
from cbcore.specs import RANGE, Spec, split_list
from cbcore.usercode import import_attribute

__all__ = (
    "FileName",
    "Trusted",
    "by_field",
    "convert",
    "is_for_the_user",
    "make",
    "parts_of",
)

Check: TypeAlias = Callable[[str, str, Any, Any], None]
"""Gets a component, the name of a parameter, its value and its annotation before it is bound.

It raises a `CBError` to refuse the value.
"""

_P = ParamSpec("_P")
_T = TypeVar("_T")
_FOR_THE_USER = "only the user may set it"
NAMES_A_FILE = "may name a file"
"""The mark of a `FileName` among the parts of an annotation."""

Trusted = Annotated[_T, _FOR_THE_USER]
"""A parameter that only the user may set: a program, an address, a key, a variable."""

FileName = Annotated[_T, NAMES_A_FILE]
"""A text that may name a file."""

_RESERVED = re.compile(
    r"(?:^|_)(?:env|environ|command|cmd|shell|program|executable|interpreter|python|module"
    r"|urls?|uri|endpoint|proxy|host|headers?|trust)$"
)
_ANY = inspect.Parameter("any", inspect.Parameter.KEYWORD_ONLY)
_TRUE = {"true", "yes", "on", "1"}
_FALSE = {"false", "no", "off", "0"}
_NONE = {"none", "null"}


@attrs.frozen(eq=False, repr=False)
class Bound:
    """A factory with its arguments by the names of its parameters.

    The config, under the name in `first`, is passed by position.
    """

    spec: Spec
    target: Callable[..., Any]
    arguments: dict[str, Any]
    first: str | None

    def make(self) -> Any:
        """Call the factory. What it refuses becomes a `ParameterError`."""
        keywords = dict(self.arguments)
        positional = [] if self.first is None else [keywords.pop(self.first)]
        try:
            return self.target(*positional, **keywords)
        except CBError:
            raise
        except (ValueError, TypeError) as error:  # how constructors say that a value is wrong
            hint = f"`cb info {self.spec.name}` shows its parameters"
            raise ParameterError(self.spec.name, str(error), hint=hint) from error


def bind(
    spec: Spec,
    target: Callable[..., Any],
    *,
    extra: Mapping[str, Any] | None = None,
) -> Bound:
    """Arguments for `target`, converted to the types of its parameters: config and parameters.

    `extra` holds values the core offers (`n`, `seed`); they are passed only where the target
    has a parameter of that name and the spec does not set it.
    """
    accepted = signature_of(target).parameters
    by_keyword = [
        name for name, p in accepted.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in accepted.values())
    for name in spec.params:
        if name not in by_keyword and not takes_any:
            raise _unknown_parameter(spec, name, by_keyword)
    given = dict(spec.params)
    first = None
    if spec.config is not None:
        parameter = next(iter(accepted.values()), None)
        if parameter is None or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD):
            raise ParameterError(spec.name, f"takes no config, but {spec.config!r} was given")
        first = parameter.name
        if first in given:
            raise ParameterError(
                spec.name, f"{first!r} is given twice: as {spec.config!r} and by name"
            )
        given[first] = spec.config
    arguments = {
        name: _convert_given(spec, name, value, accepted.get(name, _ANY).annotation)
        for name, value in given.items()
    }
    offered = {name: value for name, value in (extra or {}).items() if name in by_keyword}
    return Bound(spec, target, {**offered, **arguments}, first)


def make(
    spec: Spec,
    target: Callable[..., Any],
    *,
    extra: Mapping[str, Any] | None = None,
    check: Check | None = None,
) -> Any:
    """A component from a spec, whose parameters `check` may refuse.

    If its factory refuses one, raises `ParameterError`.
    """
    if check is not None:
        check_parameters(spec, target, check)
    return bind(spec, target, extra=extra).make()


def check_parameters(spec: Spec, target: Any, check: Check) -> None:
    """Let a check refuse what a spec gives `target`."""
    accepted = signature_of(target).parameters
    config = {} if spec.config is None else {next(iter(accepted), "config"): spec.config}
    for name, value in [*config.items(), *spec.params.items()]:
        check(spec.name, name, value, accepted[name].annotation if name in accepted else Any)


def is_for_the_user(name: str, annotation: Any) -> bool:
    """Whether only the user may set a parameter: it is marked, or named like an address or key."""
    is_named = bool(_RESERVED.search(name)) or is_secret_name(name)
    return is_named or _FOR_THE_USER in parts_of(annotation)


def parts_of(annotation: Any) -> list[Any]:
    """The types and marks that an annotation is made of."""
    origin = typing.get_origin(annotation)
    if origin is None or origin is Callable:
        return [origin or annotation]
    arguments = typing.get_args(annotation)
    return [origin, *(part for argument in arguments for part in parts_of(argument))]


def _unknown_parameter(spec: Spec, name: str, known: Collection[str]) -> ParameterError:
    takes = f"it takes {', '.join(known)}" if known else "it takes no parameters"
    return ParameterError(spec.name, f"has no parameter {name!r}", hint=hint(name, known, takes))


def _convert_given(spec: Spec, name: str, value: Any, annotation: Any) -> Any:
    try:
        if isinstance(value, list) and annotation in (int, float, bool, str):
            raise ValueError(f"{value!r} is a list, not a single value")
        return convert(value, annotation)
    except ValueError as error:
        raise ParameterError(spec.name, f"parameter {name!r}: {error}") from error


def convert(value: Any, annotation: Any) -> Any:
    """Give a value from a spec the type a parameter asks for. Only strings are converted.

    Raises ValueError.
    """
    if not isinstance(value, str):
        return value
    if hasattr(annotation, "__metadata__"):
        annotation = annotation.__origin__
    origin = typing.get_origin(annotation) or annotation
    arguments = typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return _convert_union(value, arguments)
    if origin in (list, tuple, set, frozenset, Sequence, Collection, Iterable):
        return _convert_list(value, origin, arguments)
    if origin is Callable:
        return import_attribute(value)
    if origin is typing.Literal:
        by_text = {str(choice): choice for choice in arguments}
        if value not in by_text:
            raise ValueError(f"{value!r} is not one of {', '.join(by_text)}")
        return by_text[value]
    if origin in (bool, int, float):
        return _convert_number(value, origin)
    if isinstance(origin, type) and issubclass(origin, Path):
        return origin(value)
    if origin is str:
        return value
    if RANGE.match(value):
        raise ValueError(f"{value!r} is a range, not a single value")
    return guess(value)


def _convert_number(value: str, kind: Callable[[str], Any]) -> Any:
    if kind is bool:
        if value.lower() not in _TRUE | _FALSE:
            raise ValueError(f"{value!r} is neither true nor false")
        return value.lower() in _TRUE
    try:
        return kind(value.replace("_", ""))
    except ValueError:
        noun = "a whole number" if kind is int else "a number"
        raise ValueError(f"{value!r} is not {noun}") from None


def _convert_union(value: str, members: tuple[Any, ...]) -> Any:
    if type(None) in members and value.lower() in _NONE:
        return None
    # A text fits every str, so that comes last.
    for member in sorted(members, key=lambda m: m is str):
        is_text = str in members and not value.startswith("py:")
        if member is type(None) or (is_text and typing.get_origin(member) is Callable):
            continue
        try:
            return convert(value, member)
        except ValueError as error:
            last = error
    raise last


def _convert_list(value: str, origin: Any, arguments: tuple[Any, ...]) -> Any:
    try:
        texts = split_list(value)
    except SpecError as error:
        raise ValueError(f"{value!r} is not a list: {error.reason}") from error
    item_types = [arguments[0] if arguments else Any] * len(texts)
    if origin is tuple and arguments and arguments[-1] is not Ellipsis:
        item_types = list(arguments)
        if len(texts) != len(arguments):
            raise ValueError(f"{value!r} does not have {len(arguments)} items")
    pairs = zip(texts, item_types, strict=True)
    items = [convert(text, item_type) for text, item_type in pairs]
    return origin(items) if origin in (list, tuple, set, frozenset) else items


def guess(value: str) -> Any:
    """The type a bare word most likely has: number, true/false, none, list, else text."""
    lowered = value.lower()
    if lowered in _NONE:
        return None
    if lowered in ("true", "false"):
        return lowered == "true"
    for number in (int, float):
        with contextlib.suppress(ValueError):
            found = number(value)
            return found if math.isfinite(found) else value
    if value.startswith("[") and value.endswith("]"):
        with contextlib.suppress(SpecError):
            return [guess(item) for item in split_list(value)]
    return value


# -- parameters in groups --------------------------------------------------------------------------


def by_field(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Let a function take the fields of its records as keywords, next to the records themselves.

    A record is a keyword-only parameter with an instance of an attrs class as its default. Fields
    with such instances are records, too. A field wins over the record that is given with it. The
    signature shows the fields in the place of their record. Raises ValueError if two parameters
    would have the same name. The function raises TypeError for another value in the place of a
    record.

        @attrs.frozen(kw_only=True)
        class Retry:
            max_retries: int = 5
            backoff_s: float = 0.5

        class Endpoint:
            @by_field
            def __init__(self, url: str, *, retry: Retry = Retry()) -> None:
                self.retry = retry

    `Endpoint(url, retry=Retry(max_retries=3))` and `Endpoint(url, max_retries=3)` are the same.
    Spec strings, run files, `cb info` and what a result records have the fields only. A record
    that is kept in an attribute of its parameter's name is recorded field by field.
    """
    signature = signature_of(function)
    records = {n: p.default for n, p in signature.parameters.items() if is_record(p.default)}
    parameters: list[inspect.Parameter] = []
    names = set(records)
    for name, parameter in signature.parameters.items():
        if name not in records:
            parameters.append(parameter)
            continue
        for field, value in walk_record(records[name]):
            names.add(field.alias)
            if not is_record(value):
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
    return typing.cast("Callable[_P, _T]", take_fields)


def _fill(name: str, default: Any, given: Mapping[str, Any]) -> Any:
    """The given record or the default, with the given fields."""
    record = given.get(name, default)
    if not isinstance(record, type(default)):
        actual, wanted = type(record).__name__, type(default).__name__  # not a value: maybe a key
        raise TypeError(f"{name} is a {actual}: it must be a {wanted}, or be given by its fields")
    fields = {}
    for field in record_fields(type(record)):
        value = getattr(record, field.name)
        name = field.alias
        fields[name] = _fill(name, value, given) if is_record(value) else given.get(name, value)
    return attrs.evolve(record, **fields)


def _annotation(field: Any) -> Any:
    """The type of a field's values: of its converter's parameter, if it has a converter."""
    if inspect.isfunction(field.converter):
        return next(iter(signature_of(field.converter).parameters.values())).annotation
    return field.type
