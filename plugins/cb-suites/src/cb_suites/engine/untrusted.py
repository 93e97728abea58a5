"""Files that the user did not vouch for: they give values, and name no program, address or key.

What a parameter is for follows from its mark (`Trusted`, `FileName`), its type and its name.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias, get_args

import attrs

from cbcore.binding import FileName, is_for_the_user, parts_of
from cbcore.exceptions import ConfigError
from cbcore.secrets import redact

Check: TypeAlias = Callable[[str, str, Any, Any], None]
"""Raises a `CBError` to refuse a component's parameter: its name, value and annotation."""

(_FILE_NAME,) = get_args(FileName[str])[1:]
_PATH = re.compile(r"(?:^|_)(?:path|paths|dir|directory|file|files|filename|folder|prices)$")
_CODE_OR_ADDRESS = re.compile(
    r"py:|[a-z][a-z0-9+.-]*://|[\w./~-]+:[A-Za-z_][\w.]*\Z", re.IGNORECASE
)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+:/|.*::", re.IGNORECASE | re.DOTALL)
_MOST_ENTRIES = 100_000
"""A folder with more in it is not searched for links."""


@attrs.frozen(eq=False, repr=False)
class UntrustedSource:
    """A place in a file that gives values only.

    `where` is the place and `hint` how the user can vouch for it. Files are taken from `folders`
    only. Of a spec that is partly the user's, `parameters` are those from this place.
    """

    where: str
    folders: tuple[Path, ...] = ()
    hint: str | None = None
    parameters: Collection[str] | None = None

    def check(self, component: str, name: str, value: Any, annotation: Any) -> None:
        """Refuse a parameter that only the user may set: a `Check`.

        If nothing is known of its type, a path in it may not lead to a file elsewhere.
        """
        if value is None or (self.parameters is not None and name not in self.parameters):
            return
        if isinstance(annotation, str) or annotation is inspect.Parameter.empty:
            annotation = Any
        if reason := self._find_reason(name, value, annotation):
            raise self.error(f"{component}: the parameter {name!r} {reason}")
        if annotation is Any:
            for text in _texts(value):
                if ("/" in text or text.startswith(("~", "."))) and _exists(text):
                    self.check_path(text)

    def check_all(self, component: str, given: Mapping[str, Any]) -> None:
        """Refuse parameters of unknown types that only the user may set."""
        for name, value in given.items():
            self.check(component, name, value, Any)

    def error(self, reason: str) -> ConfigError:
        """The refusal, with the way to allow it."""
        return ConfigError(self.where, reason, hint=self.hint)

    def check_path(self, path: str | Path) -> None:
        """Refuse a file or folder that lies, or whose links lead, outside `folders`.

        A path to nothing is judged by where it would lie. An address lies in no folder.
        """
        if _ADDRESS.match(str(path)):
            raise self.error(f"{redact(str(path))!r} is not read: it is an address")
        named = _expand(path)
        outside = next((found for found in _with_links(named) if not self._has(found)), None)
        if outside is not None:
            raise self.error(f"{str(outside)!r} is not read: it leads out of the folders named")

    def _has(self, path: Path) -> bool:
        try:
            real = Path(os.path.realpath(path))
        except ValueError:  # not a name of any file
            return False
        return any(real.is_relative_to(os.path.realpath(folder)) for folder in self.folders)

    def _find_reason(self, name: str, value: Any, annotation: Any) -> str:
        """Why a value may not be set, as the end of a sentence; empty if it may."""
        if is_for_the_user(name, annotation):
            return "is for the user to set, not for a file that nobody vouched for"
        parts = parts_of(annotation)
        takes_code = Callable in parts
        if takes_code and isinstance(value, str) and str not in parts and Any not in parts:
            return f"would import {value!r}"
        of_code = re.compile("py:") if name.endswith("_column") else _CODE_OR_ADDRESS
        if (takes_code or Any in parts) and any(map(of_code.match, _texts(value))):
            return f"cannot be {value!r}, which may name a program or an address"
        if Path in parts or _PATH.search(name):
            for text in _texts(value):
                self.check_path(text)
        elif _FILE_NAME in parts and isinstance(value, str) and _exists(value):
            self.check_path(value)
        return ""


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
        return os.path.lexists(_expand(text))
    except ValueError:  # not a name at all
        return False


def _expand(path: str | Path) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:  # the home of a user who does not exist
        return Path(path)


def _with_links(path: Path) -> Iterator[Path]:
    """A path and every link below it, also below folders that links lead to.

    If there is too much to search, the root of the file system stands for it.
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
