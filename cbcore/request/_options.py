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
    """One setting: how it is given, what it may be, and whether a result says what it was.

    `many` takes several values. `least` is the smallest number allowed, `above` one that has to
    be exceeded. `key` is its name in run files, None where it cannot stand there. `recorded`
    ones stand in `EvalResult.config` as they were given; `kept` ones are taken over when a run
    is scored anew. `after` names the option behind which `--help` shows it.
    """

    name: str = ""
    kind: ValueKind
    flags: tuple[str, ...] = ()
    help: str
    key: str | None = ""
    metavar: str | None = None
    many: bool = False
    least: int | None = None
    above: int | None = None
    choices: tuple[str, ...] = ()
    recorded: bool = True
    kept: bool = False
    after: str = ""

    def problem(self, value: Any, *, written: bool = False) -> str | None:
        """What is wrong with a value, as the end of a sentence; None when it can be used.

        `written` ones come from a run file, where several values are a list.
        """
        kinds: Any = self.kind.written if written and self.kind.written else self.kind.accepts
        if self.many and isinstance(value, list | tuple):
            fits = all(isinstance(item, kinds) for item in value)
            return None if fits else f"must hold strings only, not {list(value)!r}"
        mistaken = isinstance(value, bool) and self.kind in (INTEGER, NUMBER, LIMIT)
        if mistaken or not isinstance(value, kinds):
            return f"must be {self.kind.called}{' or list' if self.many else ''}, not {value!r}"
        if self.kind.problem_of is not None and (reason := self.kind.problem_of(value)):
            return reason
        if self.choices and value not in self.choices:
            return f"must be {' or '.join(map(repr, self.choices))}, not {value!r}"
        if self.least is not None and not value >= self.least:
            return f"must be at least {self.least}, not {value!r}"
        if self.above is not None and not value > self.above:
            return f"must be more than {self.above}, not {value!r}"
        return None

    def read(self, values: Sequence[Any], flag: str) -> Any:
        """What the values given to a flag mean: texts as its kind has them, checked."""
        found = tuple(self._converted(value, flag) for value in values)
        if not self.many and len(found) > 1:
            raise UsageError(f"{flag} is given {len(found)} times", hint="give it once")
        value: Any = found if self.many else found[0]
        if reason := self.problem(value):
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

    @property
    def described(self) -> str:
        """What it may be, for the reference."""
        if self.choices:
            return " or ".join(f"`{choice}`" for choice in self.choices)
        bound = "" if self.least is None else f", at least {self.least}"
        bound += "" if self.above is None else f", more than {self.above}"
        return f"{self.kind.described}{bound}{', or a list' if self.many else ''}"


def option(kind: ValueKind, *flags: str, help: str, default: Any = None, **declared: Any) -> Any:  # noqa: A002
    """A field of an attrs class that is an `Option`; `declared` are further facts of it.

    A value that is not given is None unless there is another default; `attrs.NOTHING` makes
    it required. One value for an option that takes `many` stands for a list of it.
    """
    said = Option(kind=kind, flags=flags, help=help, **declared)
    convert = {TEXT: _texts}.get(kind, _listed) if said.many else {NUMBER: _float}.get(kind)
    return attrs.field(
        default=default, converter=convert, validator=_check, metadata={"option": said}
    )


def options_of(declaring: type) -> Mapping[str, Option]:
    """The options a class declares, by the names of its fields and in their order."""
    return _declared_by(declaring)


@functools.cache
def _declared_by(declaring: type) -> Mapping[str, Option]:
    found = {}
    for field in attrs.fields(declaring):
        said: Option | None = field.metadata.get("option")
        if said is not None:
            key = field.name if said.key == "" else said.key
            found[field.name] = attrs.evolve(said, name=field.name, key=key)
    return found


def by_key(*declaring: type) -> dict[str, Option]:
    """The options that run files may hold, by their keys."""
    options = [option for each in declaring for option in options_of(each).values()]
    return {option.key: option for option in options if option.key is not None}


def in_order_of_help(first: type, beside: type) -> list[Option]:
    """The options of two classes, those of the second where they say they belong."""
    others = options_of(beside).values()
    placed: list[Option] = []
    for option in options_of(first).values():
        placed += [option, *(other for other in others if other.after == option.name)]
    return placed


def _check(_: Any, field: attrs.Attribute[Any], value: Any) -> None:
    if value is None and field.default is None:
        return
    if reason := field.metadata["option"].problem(value):
        raise UsageError(f"{field.name} {reason}")


def _listed(value: Any) -> tuple[Any, ...] | None:
    """Several things, or one: what can be iterated over may be one thing all the same."""
    if value is None:
        return None
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _texts(value: Any) -> tuple[Any, ...] | None:
    if value is None:
        return None
    return tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (value,)


def _float(value: Any) -> Any:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
