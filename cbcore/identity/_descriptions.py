"""What an object is made of, as plain data: to tell it from another of its kind.

Objects of the user's own code are described by all they keep, private attributes too; those of
plugins and other packages by what they show. Functions are described by their code, secrets by
where they came from.
"""

from __future__ import annotations

import copyreg
import enum
import functools
import sys
import types
import weakref
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from cbcore import records
from cbcore.boundary import contained
from cbcore.identity._code import captured, compiled, members, unwrapped
from cbcore.identity._sources import (
    UnidentifiableError,
    digest_of,
    digest_of_class,
    digests_of_files,
    file_of_class,
    is_own,
    own_code_digest,
)
from cbcore.introspection import (
    instance_attributes,
    parameters_of,
    public_attributes,
    type_path,
)
from cbcore.secrets import HIDDEN, is_secret_name, visible, without_credentials

Record: TypeAlias = Mapping[str, Any] | None
"""What a result records of a component, if anything."""

_MAX_DEPTH = 6
_WITHOUT_SETTINGS = {
    "_asyncio",
    "_contextvars",
    "_queue",
    "_thread",
    "_weakref",
    "asyncio",
    "concurrent",
    "contextvars",
    "logging",
    "queue",
    "threading",
    "weakref",
}
"""Modules of Python whose objects say how something is done, never what comes of it."""


def described(obj: Any, record: Record = None) -> tuple[Any, list[Seen]]:
    """All that an object says of itself: what it declares, or its class, code and attributes.

    With it come the objects it is made of, as they are now. Raises `UnidentifiableError` where
    nothing can tell it from another.
    """
    at = _At.start(record)
    return _described(obj, at, record), at.seen


@attrs.frozen(eq=False, repr=False)
class _At:
    """Where a description has got to, and how far it may look.

    Under a private attribute only own objects are looked into (`own_only`): those of other
    packages hold connections and caches there. A plugin answers for its private attributes
    itself (`public_only`). `seen` collects every object whose attributes were described, and
    `classes` are those under way, which their own methods may name.
    """

    depth: int = 0
    own_only: bool = False
    public_only: bool = False
    seen: list[Seen] = attrs.Factory(list)
    classes: tuple[type, ...] = ()

    @classmethod
    def start(cls, record: Record) -> _At:
        return cls(public_only=record is not None and record.get("plugin") != "python")

    def below(self, name: str) -> _At:
        if self.depth >= _MAX_DEPTH:
            raise UnidentifiableError(f"{name!r} is nested too deeply to be compared")
        return _At(self.depth + 1, self.own_only, self.public_only, self.seen, self.classes)

    def in_private(self) -> _At:
        return _At(self.depth, True, self.public_only, self.seen, self.classes)


@attrs.frozen(eq=False, repr=False)
class Seen:
    """An object, with how and as what its attributes were described."""

    obj: Any
    at: _At
    record: Record
    attributes: dict[str, Any]


class _OpaqueError(UnidentifiableError):
    """An object of another package shows nothing of what it was made with."""


# -- objects -----------------------------------------------------------------------------------


def _described(obj: Any, at: _At, record: Record = None) -> Any:
    facts: dict[str, Any] = {}
    cls = type(obj)
    declared = getattr(obj, "identity", None)
    if declared is not None:
        if callable(declared):
            declared = declared()
        facts["declared"] = _plain("identity", declared, at)
    else:
        facts["type"] = type_path(obj)
        facts["source"] = digest_of_class(cls)
        facts["classes"] = []
        if not at.public_only:
            facts["classes"] = _own_classes(cls, at)
        facts["attributes"] = _attributes(obj, at, record)
    files = getattr(obj, "identity_files", None)
    if files:
        facts["files"] = digests_of_files(files, cls)
    return facts


def _attributes(obj: Any, at: _At, record: Record) -> dict[str, Any]:
    """What an object keeps, described; where that cannot tell how it was made, an error."""
    cls = type(obj)
    ignored = _ignored_names(cls)
    ignored.update(left_out(cls))
    parameters = [p.name for p in parameters_of(cls)]
    users_own = not at.public_only and _is_own_class(cls)
    described: dict[str, Any] = {}
    readable: dict[str, Any] = {}
    opaque: list[str] = []
    for key, value in instance_attributes(obj).items():
        if key in ignored:
            continue
        is_public = not key.startswith("_") or key[1:] in parameters
        if not is_public and (not users_own or key.startswith("__")):
            continue
        inside = at if is_public else at.in_private()
        try:
            described[key] = _plain(key, value, inside)
            readable[key] = value
        except UnidentifiableError as error:
            if is_public and not isinstance(error, _OpaqueError):
                raise
            described[key] = type_path(value)
            opaque.append(key)
    if users_own and opaque and not _is_made_by_name(obj, record):
        known = records.flatten_records(obj, readable)
        _check_parameters(obj, parameters, known, opaque[0])
    described = _as_before_use(obj, described)
    at.seen.append(Seen(obj, at, record, described))
    return described


def _ignored_names(cls: type) -> set[str]:
    """Attributes that are not described. A subclass does not inherit `name_is_label`."""
    if vars(cls).get("name_is_label") is True:
        return {"identity_files", "name"}
    return {"identity_files"}


def left_out(cls: type) -> tuple[str, ...]:
    """The attributes that a class declares irrelevant. A subclass does not inherit them."""
    return tuple(vars(cls).get("identity_without") or ())


def _check_parameters(obj: Any, parameters: list[str], known: Any, opaque: str) -> None:
    """Refuse an object of which a parameter may be hidden where nobody can look."""
    for name in parameters:
        if name != "name" and name not in known and f"_{name}" not in known:
            raise UnidentifiableError(
                f"nothing tells what {name!r} of {type(obj).__qualname__} was, and {opaque!r} "
                "cannot be looked into: keep it in an attribute, or declare `identity`"
            )


def _is_made_by_name(obj: Any, record: Record) -> bool:
    """Whether an object was made from a spec, so that its record has all it was given."""
    return record is not None and record.get("component") != type_path(obj)


def _own_classes(cls: type, at: _At) -> list[dict[str, Any]]:
    """What a class and those it inherits from hold, as far as they are somebody's own."""
    bases = [base for base in cls.__mro__ if _is_own_class(base)]
    return [_class_members(base, at) for base in bases]


def _is_own_class(cls: type) -> bool:
    file = file_of_class(cls)
    return file is not None and is_own(file)


def _class_members(cls: type, at: _At) -> dict[str, Any]:
    described: dict[str, Any] = {}
    is_local = _is_local(cls)
    inside = attrs.evolve(at, classes=(*at.classes, cls), own_only=not is_local)
    ignored = {"identity_without", "name_is_label"} | _ignored_names(cls)
    for name, value in members(cls):
        if name in ignored:
            continue
        try:
            described[name] = _plain(name, value, inside)
        except UnidentifiableError:
            if is_local and isinstance(value, types.FunctionType):
                raise
            described[name] = type_path(value)
    described = _as_before_use(cls, described)
    at.seen.append(Seen(cls, at, None, described))
    return described


def _is_local(cls: type) -> bool:
    """Whether a class was made in a function, whose values may be in it."""
    return "<locals>" in cls.__qualname__


def _object(value: Any, at: _At, name: str) -> Any:
    """An object that something is made of."""
    cls: type = type(value)
    if getattr(value, "identity", None) is not None or _is_own_class(cls):
        return _described(value, at.below(name))
    package = cls.__module__.partition(".")[0]
    if package in _WITHOUT_SETTINGS:
        return type_path(value)
    if package == "builtins" or package in sys.stdlib_module_names:
        return _reduced(value, at.below(name), name)
    if at.own_only and instance_attributes(value):
        raise _OpaqueError(f"{name!r} is an object of {package}")
    if public_attributes(value):
        return _described(value, at.below(name))
    source = None
    if file_of_class(cls) is not None:
        source = digest_of_class(cls)
    return [source, _reduced(value, at.below(name), name)]


def _reduced(value: Any, at: _At, name: str) -> Any:
    """An object by what it would be made from again, as a copy would be."""
    with contained() as tried:
        reduce = copyreg.dispatch_table.get(type(value))
        made = value.__reduce_ex__(2) if reduce is None else reduce(value)
        if isinstance(made, str):
            return [type_path(value), made]
        facts = [type_path(value)]
        for part in made:
            data = list(part) if isinstance(part, Iterator) else part
            facts.append(_plain(name, data, at))
        return facts
    raise _OpaqueError(f"{name!r} is a {type_path(value)}") from tried.error


# -- what changes while it is used ---------------------------------------------------------------

_used: list[tuple[weakref.ref[Any], dict[str, tuple[Any, Any]]]] = []
"""Objects that were used, with the attributes that this changed, as they were before and after.

They are few, and looked for one by one: some cannot be hashed."""
_ABSENT = object()


def note_use(parts: list[Seen]) -> None:
    """Remember what changed since: counters and caches are state, and no part of what it is."""
    for part in parts:
        obj = part.obj
        before = part.attributes
        at = attrs.evolve(part.at, seen=[])
        try:
            if isinstance(obj, type):
                after = _class_members(obj, at)
            else:
                after = _attributes(obj, at, part.record)
            reference = weakref.ref(obj, _forget)
        except (UnidentifiableError, TypeError):
            continue
        earlier = _changed_by_use(obj)
        changed = dict(earlier)
        for key in before | after:
            pair = before.get(key, _ABSENT), after.get(key, _ABSENT)
            if pair[0] != pair[1]:
                changed[key] = pair
        if changed != earlier:
            _used[:] = [used for used in _used if used[0]() is not obj]
            _used.append((reference, changed))


def _forget(gone: weakref.ref[Any]) -> None:
    _used[:] = [used for used in _used if used[0] is not gone]


def _changed_by_use(obj: Any) -> dict[str, tuple[Any, Any]]:
    for reference, changed in _used:
        if reference() is obj:
            return changed
    return {}


def _as_before_use(obj: Any, described: dict[str, Any]) -> dict[str, Any]:
    """The attributes, with the earlier value of each that is still as the last use left it."""
    restored = dict(described)
    for key, (before, after) in _changed_by_use(obj).items():
        if described.get(key, _ABSENT) == after:
            restored[key] = before
            if before is _ABSENT:
                del restored[key]
    return restored


# -- values ----------------------------------------------------------------------------------------


def _plain(name: str, value: Any, at: _At) -> Any:
    """A value as plain data, secrets replaced, functions and objects by what defines them."""
    if isinstance(value, str):
        # A known secret under another name, such as an address, may change what is returned.
        # Nobody sees it: descriptions are only ever digested.
        if is_secret_name(name):
            return visible(name, value)
        return without_credentials(str.__str__(value))
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, list | tuple):
        return [_plain(name, item, at.below(name)) for item in value]
    if is_secret_name(name):
        return HIDDEN
    if isinstance(value, int | float):
        return value if value - value == 0 else repr(value)  # JSON has no infinity
    at = at.below(name)
    if isinstance(value, Mapping):
        return {_key(k): _plain(str(k), v, at) for k, v in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((_plain(name, item, at) for item in value), key=repr)
    if isinstance(value, bytes | bytearray):
        return [type(value).__name__, digest_of(bytes(value))]
    if isinstance(value, Path | enum.Enum):
        return repr(value)
    if isinstance(value, type):
        return _class(value, at)
    inside = unwrapped(value)
    if inside is not value:
        return _plain(name, inside, at)
    return _code_or_object(name, value, at)


def _class(cls: type, at: _At) -> Any:
    # The imports cover every class that is not made in a function.
    if cls in at.classes or not _is_local(cls):
        return repr(cls)
    return [repr(cls), *_own_classes(cls, at)]


def _key(key: Any) -> str:
    """A key as text, where 1 and "1" are two."""
    return key if isinstance(key, str) else f"{type(key).__name__} {key}"


def _code_or_object(name: str, value: Any, at: _At) -> Any:
    if isinstance(value, functools.partial):
        return [_plain(name, part, at) for part in (value.func, value.args, value.keywords)]
    if isinstance(value, types.MethodType):
        return [_plain(name, value.__func__, at), _plain(name, value.__self__, at)]
    if isinstance(value, types.FunctionType):
        return _function(value, at)
    if isinstance(value, types.BuiltinFunctionType | types.ModuleType):
        return repr(value).partition(" at 0x")[0]
    return _object(value, at, name)


def _function(function: types.FunctionType, at: _At) -> Any:
    # Settings at module level, as in notebooks; what else is global has code of its own.
    settings = {}
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, str | int | float):
            settings[name] = value
    facts = {
        "function": f"{function.__module__}.{function.__qualname__}",
        "code": compiled(function.__code__),
        "defaults": _plain("defaults", function.__defaults__, at),
        "named": _plain("named", function.__kwdefaults__, at),
        "captured": [_plain("captured", value, at) for value in captured(function)],
        "settings": _plain("settings", settings, at),
    }
    file = function.__code__.co_filename
    # That of a method stands with its class.
    if is_own(file) and file not in map(file_of_class, at.classes):
        facts["source"] = own_code_digest(function.__module__, file)
    return facts
