"""Whose word a parameter takes: what strangers may say, and what only the user may.

A file that came from elsewhere gives values and never programs. Parameters that
would run a program, receive a key, or read the environment say so in their annotation:

    def __init__(self, python: Trusted[str | None] = None, rubric: FileName[str] = "fair") -> None:

Without that, types and names tell: a parameter that takes a function or a path, or is named like
an address, a command, a variable or a secret, is guarded too.
"""

from __future__ import annotations

import inspect
import os
import re
import typing
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import attrs

from cbcore.exceptions import ConfigError
from cbcore.secrets import is_secret_name, redact

__all__ = ("FileName", "Stranger", "Trusted")

_T = TypeVar("_T")


class _Mark:
    """Stands in an annotation."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


_FROM_THE_USER = _Mark("from the user alone")
_NAMES_A_FILE = _Mark("may name a file")

Trusted = Annotated[_T, _FROM_THE_USER]
"""A parameter that strangers may not set: a program, an address, a key, an environment variable."""

FileName = Annotated[_T, _NAMES_A_FILE]
"""A text that may name a file: for strangers, only one in their own folder."""

_DANGEROUS = re.compile(
    r"(?:^|_)(?:env|environ|command|cmd|shell|program|executable|interpreter|python|module"
    r"|urls?|uri|endpoint|proxy|host|headers?)$"
)
_PATH = re.compile(r"(?:^|_)(?:path|paths|dir|directory|file|files|filename|folder|prices)$")
_CODE_OR_ADDRESS = re.compile(
    r"py:|[a-z][a-z0-9+.-]*://|[\w./~-]+:[A-Za-z_][\w.]*\Z", re.IGNORECASE
)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:/|.*::", re.IGNORECASE | re.DOTALL)
_MOST_ENTRIES = 100_000
"""A folder with more in it is not searched for links."""


@attrs.frozen(eq=False, repr=False)
class Stranger:
    """Somebody whose word is taken for values alone.

    `where` is the place that speaks, `hint` how the user can vouch for it. Files are taken from
    `folders` only. Of a spec that is partly the user's, `parameters` are the stranger's.
    """

    where: str
    folders: tuple[Path, ...] = ()
    hint: str | None = None
    parameters: Collection[str] | None = None

    def check_all(self, component: str, given: Mapping[str, Any]) -> None:
        """Refuse parameters, of no known type, that only the user may set.

        A path with a folder in it may lead to no file elsewhere, whatever the parameter is called.
        """
        for name, value in given.items():
            if may_set(self, component, name, value, Any):
                for text in _texts(value):
                    if ("/" in text or text.startswith(("~", "."))) and _exists(text):
                        self.check_path(text)

    def error(self, reason: str) -> ConfigError:
        """The refusal, with the way to allow it."""
        return ConfigError(self.where, reason, hint=self.hint)

    def check_path(self, path: str | Path) -> None:
        """Refuse a file or folder that lies, or whose links lead, outside the stranger's folders.

        What is not there is judged by where it would lie; an address lies in no folder.
        """
        if _ADDRESS.match(str(path)):
            raise self.error(f"{redact(str(path))!r} is not read: it is an address")
        named = _expanded(path)
        outside = next((found for found in _with_links(named) if not self._has(found)), None)
        if outside is not None:
            raise self.error(f"{str(outside)!r} is not read: it leads out of the folders named")

    def _has(self, path: Path) -> bool:
        try:
            real = Path(os.path.realpath(path))
        except ValueError:  # no name of any file
            return False
        return any(real.is_relative_to(os.path.realpath(folder)) for folder in self.folders)

    def _refusal(self, name: str, value: Any, annotation: Any) -> str:
        """Why a value may not be set, as the end of a sentence; empty where it may."""
        parts = list(_parts(annotation))
        if _FROM_THE_USER in parts or _DANGEROUS.search(name) or is_secret_name(name):
            return "is for the user to set, not for a file that nobody vouched for"
        if isinstance(value, str) and _only_programs(parts):
            return f"would import {value!r}"
        unknown = not parts or Any in parts or inspect.Parameter.empty in parts
        of_code = re.compile("py:") if name.endswith("_column") else _CODE_OR_ADDRESS
        if (unknown or Callable in parts) and any(map(of_code.match, _texts(value))):
            return f"cannot be {value!r}, which may name a program or an address"
        if Path in parts or _PATH.search(name):
            for text in _texts(value):
                self.check_path(text)
        elif _NAMES_A_FILE in parts and isinstance(value, str) and _exists(value):
            self.check_path(value)
        return ""


def may_set(stranger: Stranger, component: str, name: str, value: Any, annotation: Any) -> bool:
    """Whether a parameter is the stranger's to set; if not, it is the user's.

    Raises `ConfigError` for one that only the user may set.
    """
    if stranger.parameters is not None and name not in stranger.parameters:
        return False
    reason = "" if value is None else stranger._refusal(name, value, annotation)
    if reason:
        raise stranger.error(f"{component}: the parameter {name!r} {reason}")
    return True


def _only_programs(parts: Collection[Any]) -> bool:
    """Whether nothing but functions fit."""
    return Callable in parts and not {str, Any} & set(map(_hashable, parts))


def _hashable(part: Any) -> Any:
    return part if isinstance(part, type) or part is Any else None


def _parts(annotation: Any) -> Iterator[Any]:
    """The types and marks that an annotation is made of; a text is one that nobody could read."""
    if isinstance(annotation, str):
        return
    if hasattr(annotation, "__metadata__"):
        yield from annotation.__metadata__
        yield from _parts(annotation.__origin__)
        return
    origin = typing.get_origin(annotation)
    if origin is Callable:
        yield Callable
        return  # what a function takes and gives is no part of the parameter
    yield annotation if origin is None else origin
    for argument in typing.get_args(annotation):
        yield from _parts(argument)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Path):
        yield str(value)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _exists(text: str) -> bool:
    try:
        return os.path.lexists(_expanded(text))
    except ValueError:  # no name at all
        return False


def _expanded(path: str | Path) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:  # the home of nobody
        return Path(path)


def _with_links(path: Path) -> Iterator[Path]:
    """A path and every link below it, also below folders that links lead to.

    If there is too much to search, the root of the file system is given, which is nobody's folder.
    """
    yield path
    waiting, seen, n_seen = [path], set[str](), 0
    while waiting:
        start = waiting.pop()
        if not start.is_dir() or os.path.realpath(start) in seen:
            continue
        seen.add(os.path.realpath(start))
        for folder, below, files in os.walk(start):
            n_seen += len(below) + len(files)
            if n_seen > _MOST_ENTRIES:
                yield Path(path.anchor or "/")
                return
            paths = (Path(folder, name) for name in (*below, *files))
            links = [link for link in paths if link.is_symlink()]
            yield from links
            waiting += links
