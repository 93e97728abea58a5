"""Making a component from a spec: parameters checked and given the types they ask for."""

from __future__ import annotations

import contextlib
import inspect
import math
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from cbcore.exceptions import CBError, ParameterError, SpecError
from cbcore.introspection import signature_of
from cbcore.names import hint
from cbcore.specs import RANGE, Spec, split_list
from cbcore.trust import Stranger, may_set
from cbcore.usercode import import_attribute

__all__ = ("make",)

_TRUE, _FALSE, _NONE = {"true", "yes", "on", "1"}, {"false", "no", "off", "0"}, {"none", "null"}


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
    stranger: Stranger | None = None,
) -> Bound:
    """Arguments for `target`: the config first, then the parameters, converted to their types.

    `extra` holds values the core offers (`n`, `seed`); they are passed only where the target
    has a parameter of that name and the spec does not set it. A `stranger` who wrote the spec
    sets values only: what would run or reach something is refused.
    """
    signature = signature_of(target)
    if signature is None:
        if stranger is not None:
            stranger.check_all(spec.name, {"config": spec.config, **spec.params})
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
        keywords[name] = _converted(spec, name, value, annotation, stranger)
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
        positional.append(_converted(spec, first.name, spec.config, first.annotation, stranger))
    return Bound(spec, target, signature, positional, keywords)


def make(
    spec: Spec,
    target: Callable[..., Any],
    *,
    extra: Mapping[str, Any] | None = None,
    stranger: Stranger | None = None,
) -> Any:
    """Bind and call: a component from a spec. What its factory refuses is a `ParameterError`."""
    return bind(spec, target, extra=extra, stranger=stranger).make()


def _unknown_parameter(spec: Spec, name: str, known: Collection[str]) -> ParameterError:
    takes = f"it takes {', '.join(known)}" if known else "it takes no parameters"
    return ParameterError(spec.name, f"has no parameter {name!r}", hint=hint(name, known, takes))


def _converted(
    spec: Spec, name: str, value: Any, annotation: Any, stranger: Stranger | None
) -> Any:
    theirs = stranger is not None and may_set(stranger, spec.name, name, value, annotation)
    try:
        if isinstance(value, list) and annotation in (int, float, bool, str):
            raise ValueError(f"{value!r} is a list, not a single value")
        return convert(value, annotation, importing=not theirs)
    except ValueError as error:
        raise ParameterError(spec.name, f"parameter {name!r}: {error}") from error


def convert(value: Any, annotation: Any, *, importing: bool = True) -> Any:
    """Give a value from a spec the type a parameter asks for. Only strings are converted.

    Without `importing`, a text does not stand for a function. Raises ValueError.
    """
    if not isinstance(value, str):
        return value
    if hasattr(annotation, "__metadata__"):
        annotation = annotation.__origin__
    origin, arguments = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        return _convert_union(value, arguments, importing)
    if origin in (list, tuple, set, frozenset, Sequence, Collection, Iterable):
        return _convert_list(value, origin, arguments, importing)
    if origin is Callable:
        if not importing:
            raise ValueError(f"{value!r} would be imported")
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


def _convert_union(value: str, members: tuple[Any, ...], importing: bool) -> Any:
    if type(None) in members and value.lower() in _NONE:
        return None
    # A text fits every str, so that comes last.
    for member in sorted(members, key=lambda m: m is str):
        try:
            if member is not type(None):
                return convert(value, member, importing=importing)
        except ValueError as error:
            last = error
    raise last


def _convert_list(value: str, origin: Any, arguments: tuple[Any, ...], importing: bool) -> Any:
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
    items = [convert(text, item_type, importing=importing) for text, item_type in pairs]
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
