"""Options declared once: what a class says of its fields serves every place that takes them.

A field made with `option` knows its flags, its key in run files, its bounds and its help. The
command line, the reader of run files and the reference are made from that, and whoever makes an
instance in Python passes the same checks.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import attrs

from cbcore.exceptions import UsageError


@attrs.frozen(eq=False, repr=False)
class ValueKind:
    """A type of values: what Python may give, and what it is called in messages and in docs.

    A run file can hold less than Python can give: `written` says what, where that is so.
    `problem_of` says what is wrong with a value of the right type, if anything is.
    """

    accepts: tuple[type, ...]
    called: str
    described: str
    written: tuple[type, ...] | None = None
    problem_of: Callable[[Any], str | None] | None = None


INTEGER = ValueKind((Integral,), "int", "integer")
NUMBER = ValueKind((Real,), "int or float", "number")
LIMIT = ValueKind((Real,), "int or float", "number of rows, or a share such as 0.05")
FLAG = ValueKind((bool,), "bool", "true or false")
TEXT = ValueKind((str,), "str", "string")
PATH = ValueKind((str, os.PathLike), "str", "path", written=(str,))
FOLDER = ValueKind((str, os.PathLike), "str", "path", written=(str,))
SPEC = ValueKind((object,), "str", "spec", written=(str,))
COLUMNS = ValueKind((Mapping,), "a mapping", "fields with their columns", written=(Mapping,))
COMPONENT = ValueKind((object,), "spec", "[spec](#a-spec-in-a-list)")
"""As `SPEC`, and in a run file also a name with its parameters."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Option:
    """One setting: what it may be, and what is said of it.

    `many` takes several values. `least` is the smallest number allowed, `most` the largest,
    `above` one that has to be exceeded.
    """

    name: str = ""
    kind: ValueKind
    help: str
    metavar: str | None = None
    many: bool = False
    least: int | None = None
    above: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()

    def read(self, values: Sequence[Any], flag: str) -> Any:
        """What the values given to a flag mean: texts as its kind has them, checked."""
        found = tuple(self._converted(value, flag) for value in values)
        if not self.many and len(found) > 1:
            raise UsageError(f"{flag} is given {len(found)} times", hint="give it once")
        value: Any = found if self.many else found[0]
        if reason := problem_of(self, value):
            raise UsageError(f"{flag} {reason}")
        return value

    def _converted(self, value: Any, flag: str) -> Any:
        convert: Any = {INTEGER: int, NUMBER: float}.get(self.kind)
        if convert is None or not isinstance(value, str):
            return value
        try:
            return convert(value)
        except ValueError:
            raise UsageError(f"{flag} must be {self.kind.called}, not {value!r}") from None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Declared(Option):
    """An option of the core: also how it is given, and whether a result says what it was.

    Those of plugins have their flags and keys from entry points. `key` is its name in run files,
    None where it cannot stand there. `recorded` ones stand in `EvalResult.config` as they were
    given; `kept` ones are taken over when a run is scored anew. `after` names the option behind
    which `--help` shows it.
    """

    flags: tuple[str, ...] = ()
    key: str | None = ""
    recorded: bool = True
    kept: bool = False
    after: str = ""


def problem_of(said: Option, value: Any, *, written: bool = False) -> str | None:
    """What is wrong with a value, as the end of a sentence; None when it can be used.

    `written` ones come from a run file, where several values are a list.
    """
    kinds: Any = said.kind.written if written and said.kind.written else said.kind.accepts
    if said.many and isinstance(value, list | tuple):
        fits = all(isinstance(item, kinds) for item in value)
        return None if fits else f"must hold strings only, not {list(value)!r}"
    mistaken = isinstance(value, bool) and said.kind in (INTEGER, NUMBER, LIMIT)
    if mistaken or not isinstance(value, kinds):
        return f"must be {said.kind.called}{' or list' if said.many else ''}, not {value!r}"
    if said.kind.problem_of is not None and (reason := said.kind.problem_of(value)):
        return reason
    if said.choices and value not in said.choices:
        return f"must be {' or '.join(map(repr, said.choices))}, not {value!r}"
    if said.least is not None and not value >= said.least:
        return f"must be at least {said.least}, not {value!r}"
    if said.above is not None and not value > said.above:
        return f"must be more than {said.above}, not {value!r}"
    if said.most is not None and not value <= said.most:
        return f"must be at most {said.most}, not {value!r}"
    return None


def described(said: Option) -> str:
    """What it may be, for the reference."""
    if said.choices:
        return " or ".join(f"`{choice}`" for choice in said.choices)
    bound = "" if said.least is None else f", at least {said.least}"
    bound += "" if said.above is None else f", more than {said.above}"
    bound += "" if said.most is None else f", at most {said.most}"
    return f"{said.kind.described}{bound}{', or a list' if said.many else ''}"


def option(kind: ValueKind, *flags: str, help: str, default: Any = None, **declared: Any) -> Any:  # noqa: A002
    """A field of an attrs class that is an option; `declared` are further facts of it.

    A value that is not given is None unless there is another default; `attrs.NOTHING` makes
    it required. One value for an option that takes `many` stands for a list of it.
    """
    said = Declared(kind=kind, flags=flags, help=help, **declared)
    return attrs.field(
        default=default,
        converter=_converter(said, optional=default is None),
        validator=_check,
        metadata={"option": said},
    )


def _converter(said: Option, *, optional: bool) -> Callable[[Any], Any] | None:
    """What makes a value what the field holds; its annotation is what a caller is told."""
    if said.many:
        if said.kind is TEXT:
            return _texts
        return _listed_if_any if optional else _listed
    if said.kind is NUMBER:
        return _float_if_any if optional else _float
    return None


def options_of(declaring: type) -> Mapping[str, Declared]:
    """The options a class declares, by the names of its fields and in their order."""
    return _declared_by(declaring)


@functools.cache
def _declared_by(declaring: type) -> Mapping[str, Declared]:
    found = {}
    for field in attrs.fields(declaring):
        said: Declared | None = field.metadata.get("option")
        if said is not None:
            key = field.name if said.key == "" else said.key
            found[field.name] = attrs.evolve(said, name=field.name, key=key)
    return found


def by_key(*declaring: type) -> dict[str, Declared]:
    """The options that run files may hold, by their keys."""
    options = [option for each in declaring for option in options_of(each).values()]
    return {option.key: option for option in options if option.key is not None}


def in_order_of_help(first: type, beside: type) -> list[Declared]:
    """The options of two classes, those of the second where they say they belong."""
    others = options_of(beside).values()
    placed: list[Declared] = []
    for option in options_of(first).values():
        placed += [option, *(other for other in others if other.after == option.name)]
    return placed


def _check(_: Any, field: attrs.Attribute[Any], value: Any) -> None:
    if value is None and field.default is None:
        return
    if reason := problem_of(field.metadata["option"], value):
        raise UsageError(f"{field.name} {reason}")


def _listed(value: Sequence[Any]) -> tuple[Any, ...]:
    """Several things, or one: what can be iterated over may be one thing all the same."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _listed_if_any(value: Sequence[Any] | None) -> tuple[Any, ...] | None:
    return None if value is None else _listed(value)


def _texts(value: Iterable[str] | None) -> tuple[Any, ...] | None:
    if value is None:
        return None
    return tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (value,)


def _float(value: float) -> float:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _float_if_any(value: float | None) -> float | None:
    return None if value is None else _float(value)
