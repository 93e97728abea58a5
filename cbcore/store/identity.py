"""The key of a component: of all that can change what it returns.

Equal keys share cached outputs, so a key that stays equal after a change is the worst error. It
covers the plugin and its version, the parameters, and the user's own code: the file of a class or
function, and every own module that is imported from there. A component may say more of itself:

- `identity`: plain data that takes the place of the parameters and attributes. If a subclass has
  parameters of its own and no `identity` of its own, its attributes count as well.
- `identity_files`: files that it reads, as paths or patterns; their content counts too.
"""

from __future__ import annotations

import functools
import inspect
import types
import weakref
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from cbcore.boundary import contained
from cbcore.chains import Chain, Renamed
from cbcore.introspection import flatten_records, instance_attributes, parameters_of, type_path
from cbcore.json_data import to_json
from cbcore.secrets import HIDDEN, is_secret_name, redact_credentials, redact_value
from cbcore.store.database import digest
from cbcore.store.own_code import (
    UnidentifiedError,
    digest_code,
    file_of,
    find_codes,
    is_in_source,
    is_own,
)
from cbcore.store.rows import StoredSystem

__all__ = ("Identities",)

_SCHEME = 7
"""Increased whenever keys mean something else, so that no earlier key is found."""
_MAX_DEPTH = 8


class Identities:
    """The keys of the components of a run, found before the first call."""

    def __init__(self) -> None:
        self._parts: list[tuple[Any, Mapping[str, Any], str]] = []

    def key_of(self, value: Any, record: Mapping[str, Any] | None = None) -> str:
        """The key of a component; `record` is what results say of it.

        Raises `UnidentifiedError`.
        """
        record = record or {}
        if isinstance(value, StoredSystem):
            return value.key
        if isinstance(value, Renamed):
            return self.key_of(value.system, record)
        if isinstance(value, Chain):
            records = record.get("stages") or [None] * len(value.stages)
            stages = map(self.key_of, value.stages, records)
            return digest(b"chain", *map(str.encode, stages))
        facts = digest(to_json([_SCHEME, find_facts(value, record)], sort_keys=True))
        known = _used.get(id(value))
        # What only its use has changed in a component is not another component.
        is_known = known is not None and known[0]() is value and known[2] == facts
        key = known[1] if is_known else facts  # type: ignore[index]
        self._parts.append((value, record, key))
        return key

    def note_state(self) -> None:
        """At the end of a run: what its use has changed in a component is no change of its key."""
        for value, record, key in self._parts:
            with contained():  # it has no weak references, or cannot be identified any more
                facts = digest(to_json([_SCHEME, find_facts(value, record)], sort_keys=True))
                _used[id(value)] = weakref.ref(value), key, facts


_used: dict[int, tuple[Any, str, str]] = {}
"""By id: a weak reference to a component, its key, and a digest of it as its last run left it."""


def find_facts(value: Any, record: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """All that tells a component from another, as plain data."""
    kind = type(value)
    facts: dict[str, Any] = {
        "made_by": [record.get(name) for name in ("component", "plugin", "version")],
        "class": type_path(value),
        "code": digest_code(kind),
        "files": _digest_files(value),
    }
    declared = getattr(value, "identity", None)
    if declared is None:
        facts["members"] = _describe_members(kind, depth)
        facts["attributes"] = _describe_attributes(value, record, depth)
        return facts
    declared = declared() if callable(declared) else declared
    facts["identity"] = describe("identity", declared, depth)
    owner = next((base for base in kind.__mro__ if "identity" in vars(base)), kind)
    if new := _names_of_parameters(kind) - _names_of_parameters(owner) - {"name"}:
        attributes = _describe_attributes(value, record, depth)
        facts["attributes"] = {k: v for k, v in attributes.items() if k.removeprefix("_") in new}
    return facts


def _names_of_parameters(kind: type) -> set[str]:
    return {parameter.name for parameter in parameters_of(kind)}


def _describe_members(kind: type, depth: int) -> dict[str, Any]:
    """Describe the values that the functions of an own class use, which its source does not show.

    A class that was made by a function, or without a file, also counts by its attributes.
    """
    described: dict[str, Any] = {}
    for base in kind.__mro__:
        has_file = is_own(file_of(base))
        for name, member in vars(base).items() if has_file or base.__module__ == "__main__" else ():
            key, is_special = f"{base.__qualname__}.{name}", name.startswith("__")
            function = inspect.unwrap(getattr(member, "fget", member))
            if isinstance(function, types.FunctionType):
                file = file_of(function)
                # Others are of a library, or made from the source, as those of a dataclass.
                if is_own(file) or not (Path(file).is_file() or (has_file and is_special)):
                    described[key] = _describe_function(function, depth)
            elif not is_special and not (has_file and "<locals>" not in base.__qualname__):
                with contained():  # what holds no plain data is not a setting
                    described[key] = describe(name, member, depth + 1)
    return described


def _describe_attributes(value: Any, record: Mapping[str, Any], depth: int) -> dict[str, Any]:
    """The parameters and attributes of an object.

    A private attribute may be a client or a lock if everything that the object was made with is
    known: from a spec, or from attributes of the names of its parameters.
    """
    parameters = _names_of_parameters(type(value))
    is_from_spec = record.get("component") not in (None, type_path(value))
    described = dict(record.get("params") or {}) if is_from_spec else {}
    opaque: dict[str, Exception] = {}
    for name, attribute in flatten_records(value, instance_attributes(value)).items():
        is_private = name.startswith("_") and name.removeprefix("_") not in parameters
        is_label = name == "name" and name not in parameters
        if (is_from_spec and (is_private or is_label)) or name == "identity_files":
            continue
        try:
            described[name] = describe(name, attribute, depth + 1)
        except UnidentifiedError as error:
            opaque[name] = error
    unknown = parameters - {name.removeprefix("_") for name in described}
    for name, reason in opaque.items() if not is_from_spec else ():
        if unknown or not name.startswith("_"):
            raise UnidentifiedError(
                f"{reason} Declare `identity` in {type(value).__name__}: plain data that tells "
                "one from another."
            ) from reason
    return described


def describe(name: str, value: Any, depth: int = 0) -> Any:
    """A value as plain data: functions by their code, objects by class and attributes.

    A secret is described by where it comes from. Raises `UnidentifiedError`.
    """
    if isinstance(value, str):
        is_secret = is_secret_name(name)
        return redact_value(name, value) if is_secret else redact_credentials(str.__str__(value))
    if value is None or isinstance(value, bool):
        return value
    if depth > _MAX_DEPTH:
        raise UnidentifiedError(f"{name!r} is nested too deeply.")
    if isinstance(value, list | tuple):
        return [describe(name, item, depth + 1) for item in value]
    if isinstance(value, Mapping):
        items = value.items()
        return {f"{type(k).__name__} {k}": describe(str(k), v, depth + 1) for k, v in items}
    if is_secret_name(name):
        return HIDDEN
    if isinstance(value, int | float | Path):
        return repr(value)
    if isinstance(value, set | frozenset):
        return sorted(repr(describe(name, item, depth + 1)) for item in value)
    return _describe_object(name, value, depth)


def _describe_object(name: str, value: Any, depth: int) -> Any:
    """A function, a class, or an object that a component is made of."""
    function = inspect.unwrap(value) if callable(value) else value
    if isinstance(function, types.MethodType):
        return [describe(name, function.__self__, depth + 1), function.__name__]
    if isinstance(function, types.FunctionType):
        return _describe_function(function, depth)
    if isinstance(function, functools.partial):
        return describe(name, [function.func, function.args, function.keywords], depth)
    if isinstance(value, type):
        return [f"{value.__module__}.{value.__qualname__}", digest_code(value)]
    says_more = any(getattr(value, name, None) for name in ("identity", "identity_files"))
    if says_more or is_own(file_of(type(value))):
        return find_facts(value, {}, depth)
    with contained():
        import pickle

        return [type_path(value), digest(pickle.dumps(value, 4))]
    raise UnidentifiedError(f"The attribute {name!r} is a {type_path(value)}, not plain data.")


def _describe_function(function: types.FunctionType, depth: int) -> Any:
    """A function by its code, the own modules that it imports, and the values that it rests on:
    its defaults, what it has taken, and the texts and numbers of its module."""
    taken: list[Any] = [function.__defaults__, function.__kwdefaults__]
    for cell in function.__closure__ or ():
        with contained():  # a cell that is not set yet
            taken.append(cell.cell_contents)
    codes = [*find_codes(function.__code__)]
    for name in (name for code in codes for name in code.co_names):
        setting = function.__globals__.get(name)
        if isinstance(setting, str | int | float) and not name.startswith("__"):
            taken.append({name: setting})
    compiled: list[Any] = [function.__code__.co_firstlineno]
    # What is compiled differs between versions of Python. A line can have several lambdas.
    if function.__name__ == "<lambda>" or not is_in_source(function):
        compiled = [[code.co_code.hex(), *code.co_names] for code in codes]
        constants = (c for code in codes for c in code.co_consts if c not in codes)
        compiled += [
            sorted(map(repr, c)) if isinstance(c, frozenset) else repr(c) for c in constants
        ]
    return [
        f"{function.__module__}.{function.__qualname__}",
        describe("code", compiled),
        describe(function.__name__, taken, depth + 1),
        digest_code(function),
    ]


def _digest_files(value: Any) -> list[str]:
    """Digests of the files in `identity_files`: paths and patterns, beside its class or from here.

    The files below a folder count.
    """
    import glob

    wanted = getattr(value, "identity_files", None) or ()
    patterns: Iterable[Any] = [wanted] if isinstance(wanted, str | Path) else wanted
    folders = [Path.cwd(), Path(file_of(type(value)) or ".").parent]
    digests = []
    for pattern in patterns:
        text = str(Path(pattern).expanduser())
        found = [
            Path(folder, match)
            for folder in folders
            for match in glob.iglob(text, root_dir=folder, recursive=True)  # noqa: PTH207 - of any root
        ]
        places = {place.resolve() for match in found for place in (match, *match.rglob("*"))}
        files = sorted(filter(Path.is_file, places))
        if not files:
            raise UnidentifiedError(f"There is no file {str(pattern)!r}, named in identity_files.")
        digests += [f"{file.name} {digest(file.read_bytes())}" for file in files]
    return digests
