"""Making a component from a spec: parameters checked and given the types they ask for.

A parameter that would start a program, send a key or read a variable is marked as `Trusted`, one
that may name a file as `FileName`. Files and results of other people cannot set the former:

    def __init__(self, python: Trusted[str | None] = None, rubric: FileName[str] = "fair") -> None:
"""

from __future__ import annotations

import contextlib
import inspect
import math
import re
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

import attrs

from cbcore.exceptions import CBError, ParameterError, SpecError
from cbcore.introspection import signature_of
from cbcore.names import hint
from cbcore.secrets import is_secret_name
from cbcore.specs import RANGE, Spec, split_list
from cbcore.usercode import import_attribute

__all__ = (
    "FileName",
    "Trusted",
    "convert",
    "is_for_the_user",
    "make",
    "parts_of",
)

Check: TypeAlias = Callable[[str, str, Any, Any], None]
"""Gets a component, the name of a parameter, its value and its annotation before it is bound.

It raises a `CBError` to refuse the value.
"""

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
_TRUE = {"true", "yes", "on", "1"}
_FALSE = {"false", "no", "off", "0"}
_NONE = {"none", "null"}


@attrs.frozen(eq=False, repr=False)
class Bound:
    """A factory with its arguments. `signature` is None for factories without a readable one."""

    spec: Spec
    target: Callable[..., Any]
    signature: inspect.Signature | None
    positional: list[Any]
    keywords: dict[str, Any]

    @property
    def named_arguments(self) -> dict[str, Any]:
        """What the factory is given, by parameter name: how a component came to be what it is."""
        first = next(iter(self.signature.parameters), "config") if self.signature else "config"
        return {**dict.fromkeys([first][: len(self.positional)], *self.positional), **self.keywords}

    def make(self) -> Any:
        """Call the factory. What it refuses becomes a `ParameterError`."""
        try:
            return self.target(*self.positional, **self.keywords)
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
    """Arguments for `target`: the config first, then the parameters, converted to their types.

    `extra` holds values the core offers (`n`, `seed`); they are passed only where the target
    has a parameter of that name and the spec does not set it.
    """
    signature = signature_of(target)
    if signature is None:
        return Bound(
            spec, target, None, [] if spec.config is None else [spec.config], dict(spec.params)
        )
    accepted = signature.parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in accepted.values())
    by_keyword = [
        name for name, p in accepted.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    keywords: dict[str, Any] = {}
    for name, value in spec.params.items():
        if name not in by_keyword and not takes_any:
            raise _unknown_parameter(spec, name, by_keyword)
        annotation = accepted[name].annotation if name in by_keyword else inspect.Parameter.empty
        keywords[name] = _converted(spec, name, value, annotation)
    for name, value in (extra or {}).items():
        if name in by_keyword:
            keywords.setdefault(name, value)
    positional: list[Any] = []
    if spec.config is not None:
        first = next(iter(accepted.values()), None)
        if first is None or first.kind in (first.KEYWORD_ONLY, first.VAR_KEYWORD):
            raise ParameterError(spec.name, f"takes no config, but {spec.config!r} was given")
        if first.name in spec.params:
            raise ParameterError(
                spec.name, f"{first.name!r} is given twice: as {spec.config!r} and by name"
            )
        keywords.pop(first.name, None)
        positional.append(_converted(spec, first.name, spec.config, first.annotation))
    return Bound(spec, target, signature, positional, keywords)


def make(spec: Spec, target: Callable[..., Any], *, extra: Mapping[str, Any] | None = None) -> Any:
    """Bind and call: a component from a spec. What its factory refuses is a `ParameterError`."""
    return bind(spec, target, extra=extra).make()


def check_parameters(spec: Spec, target: Any, check: Check) -> None:
    """Let a check refuse what a spec gives `target`."""
    signature = signature_of(target)
    accepted = signature.parameters if signature is not None else {}
    config = {} if spec.config is None else {next(iter(accepted), "config"): spec.config}
    for given in (config, spec.params):
        for name, value in given.items():
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


def _converted(spec: Spec, name: str, value: Any, annotation: Any) -> Any:
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
