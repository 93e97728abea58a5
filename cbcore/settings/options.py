"""Options: one declaration serves flags, run files, Python, checks, help and the reference.

A field of `RunSettings` made with `option` is a `Setting`: an option of the core, with its names.
An `Option` that an entry point in the group `cb.options` names is an option of a plugin.
"""

from __future__ import annotations

import functools
import operator
import os
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from types import NoneType
from typing import Any, Literal

import attrs

from cbcore.exceptions import CBError, UsageError
from cbcore.specs import Spec

_TYPES: dict[Any, tuple[Any, str]] = {
    int: (Integral, "int"),
    float: (Real, "int or float"),
    Real: (Real, "int or float"),
    bool: (bool, "bool"),
    str: (str, "str"),
    Path: ((str, os.PathLike), "str"),
    dict: (Mapping, "a mapping"),
    object: (object, "spec"),
}
"""For each type of an option: the values it takes, and its name in errors."""


_METAVARS = {object: "SPEC", int: "N", float: "X", str: "TEXT", Path: "FILE"}


def _default_metavar(option: Option) -> str | None:
    if option.choices:
        return f"[{'|'.join(option.choices)}]"
    return _METAVARS.get(option.type)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Option:
    """The values that a setting takes, and what a run does with them.

    The entry point of a plugin's option names it: `my-limit` is the flag `--my-limit`, the key
    `my_limit` of run files, and the keyword `my_limit` of `evaluate`.

    - `type`: `str`, `int`, `float`, `bool` (a flag without a value) or `Path`; `object` for specs
      and ready-made components. With `many`, a list of such values.
    - `at_least`, `above`, `at_most`, `choices`: the values that are allowed.
    - `metavar`: how `--help` shows the value. By default, it follows from the type and the choices.
    - `parse`: makes a value of a text, or raises ValueError that ends the sentence "NAME …".
    - `recorded`: whether the result records its value.
    - `keep_on_rescore`: `cb rescore` uses the value of the run that it scores.
    - `fill`: a parameter of its name, of any component, gets the value unless its spec sets it.
      `name` is that name, if it is not the key.
    """

    help: str
    type: Any = attrs.field(default=str, validator=attrs.validators.in_(_TYPES))
    name: str = ""
    many: bool = False
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    choices: tuple[str, ...] = ()
    metavar: str | None = attrs.field(default=attrs.Factory(_default_metavar, takes_self=True))
    parse: Callable[[str], Any] | None = None
    recorded: bool = True
    keep_on_rescore: bool = False
    fill: bool = False

    def check(self, value: Any, where: str, refuse: Callable[[str], CBError] = UsageError) -> Any:
        """The value as the setting holds it. Refuses another with a message that names `where`."""
        try:
            if not self.many:
                return self._convert(value)
            # A single component may be iterable itself.
            several = value if isinstance(value, list | tuple) else [value]
            if self.type is str and not isinstance(value, str) and hasattr(value, "__iter__"):
                several = value
            return [self._convert(one) for one in several]
        except ValueError as error:
            raise refuse(f"{where} {error}") from None

    def read(self, texts: Sequence[Any], flag: str) -> Any:
        """The value of a flag. Raises `UsageError` if its texts do not make one."""
        if len(texts) > 1 and not self.many and self.type is not dict:
            raise UsageError(f"{flag} is given {len(texts)} times", hint="give it once")
        try:
            values = [self._read_text(text) for text in texts]
        except ValueError as error:
            raise UsageError(f"{flag} {error}") from None
        if self.type is dict:
            return dict(values)
        return self.check(values if self.many else values[0], flag)

    def _read_text(self, text: Any) -> Any:
        if self.parse is not None or not isinstance(text, str) or self.type not in (int, float):
            return text if self.parse is None else self.parse(text)
        try:
            return self.type(text)
        except ValueError:
            raise ValueError(f"must be {_TYPES[self.type][1]}, not {text!r}") from None

    def _convert(self, value: Any) -> Any:
        accepted, name = _TYPES[self.type]
        is_number = self.type in (int, float, Real)
        if isinstance(value, str) and self.parse is not None and self.type is not dict:
            value = self.parse(value)
        if not isinstance(value, accepted) or (is_number and isinstance(value, bool)):
            raise ValueError(f"must be {name}, not {value!r}")
        if self.choices and value not in self.choices:
            raise ValueError(f"must be {' or '.join(map(repr, self.choices))}, not {value!r}")
        for limit, fits, words in (
            (self.at_least, operator.ge, "at least"),
            (self.above, operator.gt, "more than"),
            (self.at_most, operator.le, "at most"),
        ):
            if limit is not None and not fits(value, limit):
                raise ValueError(f"must be {words} {limit}, not {value!r}")
        if self.type is float:
            return float(value)
        return os.fspath(value) if self.type is Path else value


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Setting(Option):
    """An option of the core, with its names.

    - `name`: its field, and how Python code calls it. `keyword`: whether `evaluate` takes it.
    - `key`: how run files call it, by default as its field; None if they cannot set it.
    - `aliases`: further flags, keys and keywords that `--help` does not show.
    - `implied`: the value of a flag that is given without one.
    - `kind`: the kind of component that it names. Texts become specs; a system's, its stages.
    - `affects_rows`: whether finished rows depend on the value. `cb merge` joins shards with
      different values if they do not.
    """

    flags: tuple[str, ...] = ()
    kind: str = ""
    implied: str | None = None
    key: str | None = None
    aliases: tuple[str, ...] = ()
    keyword: bool = True
    affects_rows: bool = True

    @property
    def words(self) -> tuple[str, ...]:
        """Its aliases as run files and Python write them."""
        return tuple(alias.lstrip("-").replace("-", "_") for alias in self.aliases)


def option(*flags: str, help: str = "", default: Any = None, **facts: Any) -> Any:  # noqa: A002
    """A field of an attrs class that is an option. `facts` are further attributes of `Setting`.

    The annotation of the field gives the type, whether there are many, and the choices. Components
    are not recorded. Without a default it is None, or an empty list if the default is an empty
    tuple.
    """
    if default == ():
        default = attrs.Factory(list)
    metadata = {"option": {"help": help, "flags": flags, **facts}}
    return attrs.field(default=default, metadata=metadata)


@functools.cache
def options_of(declaring: type) -> Mapping[str, Setting]:
    """The options that a class declares, by the names of its fields and in their order."""
    annotations = typing.get_type_hints(declaring)
    found = {}
    for field in attrs.fields(declaring):
        if facts := field.metadata.get("option"):
            facts = {"key": field.name, **_read_annotation(annotations[field.name]), **facts}
            kind = facts.get("type", str)
            facts.setdefault("recorded", kind is not object)  # components have their own records
            if named := facts.get("kind"):
                facts["parse"] = functools.partial(parse_spec, named)
            found[field.name] = Setting(name=field.name, **facts)
    return found


def parse_spec(kind: str, text: str) -> Any:
    """The spec of a component of this kind; of a system, the list of its stages."""
    if kind == "system":
        return Spec.parse_chain(text)
    return Spec.parse_dataset(text) if kind == "dataset" else Spec.parse(text)


def _read_annotation(annotation: Any) -> dict[str, Any]:
    """The facts that a field's annotation gives; `| None` gives none."""
    origin = typing.get_origin(annotation)
    arguments = typing.get_args(annotation)
    if origin is types.UnionType:
        return _read_annotation(next(one for one in reversed(arguments) if one is not NoneType))
    if origin is list:
        return {"many": True, **_read_annotation(arguments[0])}
    if origin is Literal:
        return {"choices": arguments}
    if origin is Mapping:
        return {"type": dict}
    return {"type": object if annotation is Any else annotation}


def resolve_words(
    given: Mapping[str, Any],
    names: Mapping[str, str],
    refuse: Callable[..., CBError] = UsageError,
) -> dict[str, Any]:
    """The values by the names that their words mean. Refuses two words that mean the same."""
    found: dict[str, Any] = {}
    words: dict[str, str] = {}
    for word, value in given.items():
        name = names[word]
        if value is not None and words.setdefault(name, word) != word:
            both = f"{words[name]} and {word}"
            raise refuse(f"Both {both} are given, and they are one setting.", hint="Give one.")
        if value is not None or name not in words:
            found[name] = value
    return found
