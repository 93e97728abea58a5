"""The key of a component: of all that can change what it returns.

Equal keys share cached outputs, so a key that stays equal after a change is the worst error. It
covers the plugin and its version, the parameters, and the user's own code: the file of a class or
function, and every own module that is imported from there. A component may say more of itself:

- `identity`: plain data that takes the place of the parameters and attributes.
- `identity_files`: files that it reads, as paths or patterns; their content counts too.
"""

from __future__ import annotations

import functools
import glob
import inspect
import pickle
import types
import weakref
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cbcore.boundary import contained
from cbcore.chains import Chain, Renamed
from cbcore.introspection import instance_attributes, parameters_of, type_path
from cbcore.json_data import to_json
from cbcore.records import flatten_records
from cbcore.secrets import HIDDEN, Secret, is_secret_name, visible, without_credentials
from cbcore.store.database import digest
from cbcore.store.own_code import (
    UnidentifiedError,
    compile_facts,
    describe_code,
    file_of,
    is_own,
)
from cbcore.store.stand_ins import StoredSystem

__all__ = ("Identities",)

_SCHEME = 5
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
        if isinstance(value, StoredSystem):
            return value.key
        if isinstance(value, Renamed):
            return self.key_of(value.system, record)
        if isinstance(value, Chain):
            records = (record or {}).get("stages") or [None] * len(value.stages)
            stages = [self.key_of(*pair) for pair in zip(value.stages, records, strict=True)]
            return digest(b"chain", *map(str.encode, stages))
        facts = find_facts(value, record or {})
        known = _used.get(id(value))
        if known is not None and known[0]() is value and known[2] == facts:
            key = known[1]  # only its use has changed it
        else:
            key = digest(to_json([_SCHEME, facts], sort_keys=True))
        self._parts.append((value, record or {}, key))
        return key

    def note_state(self) -> None:
        """At the end of a run: what its use has changed in a component is no change of its key."""
        for value, record, key in self._parts:
            with contained():  # it has no weak references, or cannot be identified any more
                reference = weakref.ref(value)
                _used[id(value)] = reference, key, find_facts(value, record)
        for number in [number for number, used in _used.items() if used[0]() is None]:
            del _used[number]


_used: dict[int, tuple[Any, str, Any]] = {}
"""By id: a weak reference to a component, its key, and its facts as its last run left it."""


def find_facts(value: Any, record: Mapping[str, Any]) -> dict[str, Any]:
    """All that tells a component from another, as plain data."""
    facts = {
        "made_by": [record.get(name) for name in ("component", "plugin", "version")],
        "class": type_path(value),
        "code": describe_code(type(value)),
        "files": _digest_files(value),
    }
    declared = getattr(value, "identity", None)
    if declared is not None:
        declared = declared() if callable(declared) else declared
        return {**facts, "identity": describe("identity", declared)}
    return {**facts, "attributes": _describe_attributes(value, record)}


def _describe_attributes(value: Any, record: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """The parameters and attributes of an object.

    A private attribute may be a client or a lock if everything that the object was made with is
    known: from a spec, or from attributes of the names of its parameters.
    """
    parameters = {parameter.name for parameter in parameters_of(type(value))}
    is_from_spec = record.get("component") not in (None, type_path(value))
    described = dict(record.get("params") or {}) if is_from_spec else {}
    unknown = set() if is_from_spec else set(parameters)
    opaque: dict[str, UnidentifiedError] = {}
    for name, attribute in flatten_records(value, instance_attributes(value)).items():
        parameter = name.removeprefix("_")
        is_private = name.startswith("_") and parameter not in parameters
        is_label = name == "name" and name not in parameters
        if (is_from_spec and (is_private or is_label)) or name == "identity_files":
            continue
        try:
            described[name] = describe(name, attribute, depth + 1)
            unknown.discard(parameter)
        except UnidentifiedError as error:
            opaque[name] = error
    for name, reason in opaque.items():
        if unknown or not (is_from_spec or name.startswith("_")):
            raise UnidentifiedError(
                f"{reason} Declare `identity` in {type(value).__name__}: plain data that tells "
                "one from another."
            ) from reason
    return described


def describe(name: str, value: Any, depth: int = 0) -> Any:
    """A value as plain data: functions by their code, objects by class and attributes.

    A secret is described by where it comes from. Raises `UnidentifiedError`.
    """
    if isinstance(value, Secret) or (isinstance(value, str) and is_secret_name(name)):
        return visible(name, value)
    if isinstance(value, str):
        return without_credentials(str.__str__(value))
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
        return [f"{value.__module__}.{value.__qualname__}", describe_code(value)]
    if getattr(value, "identity", None) is not None:
        return find_facts(value, {})
    if is_own(file_of(type(value))):
        code = describe_code(type(value))
        return [type_path(value), code, _describe_attributes(value, {}, depth)]
    with contained():
        return [type_path(value), digest(pickle.dumps(value, 4))]
    raise UnidentifiedError(f"The attribute {name!r} is a {type_path(value)}, not plain data.")


def _describe_function(function: types.FunctionType, depth: int) -> Any:
    """A function by its code, the values it has taken, and the own modules that it rests on.

    A value of its module counts where the module is no file: in a notebook, say.
    """
    captured = []
    for cell in function.__closure__ or ():
        with contained():  # a cell that is not set yet
            captured.append(cell.cell_contents)
    code = describe_code(function)
    values = [function.__defaults__, function.__kwdefaults__, captured]
    if not is_own(function.__code__.co_filename):
        names = (name for name in function.__code__.co_names if name in function.__globals__)
        found = {name: function.__globals__[name] for name in names}
        values.append({k: v for k, v in found.items() if isinstance(v, str | int | float)})
    return [
        f"{function.__module__}.{function.__qualname__}",
        describe("code", compile_facts(function.__code__)),
        describe(function.__name__, values, depth + 1),
        code,
    ]


# -- files that a component reads --------------------------------------------------------------


def _digest_files(value: Any) -> list[str]:
    """Digests of the files in `identity_files`: paths and patterns, beside its class or from here."""
    wanted = getattr(value, "identity_files", None)
    if not wanted:
        return []
    patterns: Iterable[Any] = [wanted] if isinstance(wanted, str | Path) else wanted
    folders = [Path.cwd(), Path(file_of(type(value)) or ".").parent]
    digests = []
    for pattern in patterns:
        files = sorted({file for folder in folders for file in _match(folder, pattern)})
        if not files:
            raise UnidentifiedError(f"There is no file {str(pattern)!r}, named in identity_files.")
        try:
            digests += [f"{file.name} {digest(file.read_bytes())}" for file in files]
        except OSError as error:
            raise UnidentifiedError(f"{error.filename} cannot be read.") from error
    return digests


def _match(folder: Path, pattern: str | Path) -> Iterator[Path]:
    """The files of a pattern in a folder, those below the folders that it names included."""
    rooted = str(Path(glob.escape(str(folder)), Path(pattern).expanduser()))
    for match in map(Path, glob.iglob(rooted, recursive=True)):  # noqa: PTH207 - of any root
        yield from (
            path.resolve()
            for path in (match.rglob("*") if match.is_dir() else [match])
            if path.is_file()
        )
