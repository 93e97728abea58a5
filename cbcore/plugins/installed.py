"""Installed distributions and what their metadata says: nothing is imported.

Nearly all distributions are folders on the import path. Those are read directly, since every
command looks at all of them; archives, eggs and finders of other kinds go through
`importlib_metadata`.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from cbcore.boundary import contained
from cbcore.names import canonical

CORE = "cbcore"
HOOK_GROUP = "cb.plugins"

_SUFFIXES = (".dist-info", ".egg-info")
_PATH_FINDERS = ("PathFinder", "MetadataPathFinder")
_MAX_BYTES = 8_000_000
_REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*\(?(?P<specifier>(?:[<>=!~][^;)]*)?)\)?\s*\Z"
)
_EXTRAS = re.compile(r"\s*\[[^\]]*\]\Z")


class EntryPoint(NamedTuple):
    """One line of an entry_points.txt."""

    group: str
    name: str
    value: str


class MetadataFiles(Protocol):
    """The metadata files of one distribution, as `importlib_metadata` offers them too."""

    def read_text(self, filename: str, /) -> str | None:
        """The text of a file, or None if there is no such file."""


class FolderFiles:
    """The metadata files in a `.dist-info` folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._path = Path(folder)

    def read_text(self, filename: str, /) -> str | None:
        """The text of a file, or None if it does not exist or is too large to be metadata."""
        try:
            with open(os.path.join(self._folder, filename), "rb") as file:  # noqa: PTH118, PTH123 - faster
                content = file.read(_MAX_BYTES + 1)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError):
            return None
        if len(content) > _MAX_BYTES:
            raise ValueError(f"{filename} is larger than {_MAX_BYTES // 1_000_000} MB")
        return content.decode("utf-8")


class Distribution:
    """An installed distribution. Its metadata is read on first use, and once."""

    def __init__(self, files: MetadataFiles) -> None:
        self.files = files

    def __repr__(self) -> str:
        return f"<Distribution {self.name} {self.version}>"

    @property
    def name(self) -> str:
        """The name in METADATA; without METADATA, the name of the folder."""
        return self._header("name") or self._folder_name

    @property
    def version(self) -> str:
        return self._header("version")

    @property
    def summary(self) -> str:
        return self._header("summary")

    @property
    def folder(self) -> Path | None:
        """The metadata folder; None inside an archive."""
        place = getattr(self.files, "_path", None)
        return place if isinstance(place, Path) else None

    @property
    def location(self) -> str:
        """The entry of the import path in which it is."""
        place = getattr(self.files, "_path", None)
        return str(getattr(place, "parent", "")).rstrip("/\\")

    @property
    def is_plugin(self) -> bool:
        """Whether it has entry points for `cb`, or is named like a plugin and unreadable."""
        return bool(self.declared) or (self._is_named_like_a_plugin and bool(self._manifest[1]))

    @cached_property
    def declared(self) -> tuple[EntryPoint, ...]:
        """The entry points in groups of `cb`, misspelled groups included."""
        return tuple(entry for entry in self._manifest[0] if is_group_of_cb(entry.group))

    @property
    def problem(self) -> str:
        """Why its metadata cannot be read; empty if it can."""
        if self._manifest[1]:
            return f"its entry_points.txt cannot be read: {self._manifest[1]}"
        if self._headers[1]:
            return f"its METADATA cannot be read: {self._headers[1]}"
        return ""

    @cached_property
    def requirements(self) -> tuple[tuple[str, str], ...]:
        """Name and specifier of each requirement without a marker."""
        matches = map(_REQUIREMENT.match, self._headers[0].get("requires-dist", []))
        return tuple((m["name"], m["specifier"].strip()) for m in matches if m)

    @property
    def core_specifier(self) -> str | None:
        """The versions of the core that it supports; None if it does not require the core."""
        found = [specifier for name, specifier in self.requirements if canonical(name) == CORE]
        return ",".join(found) if found else None

    @cached_property
    def modules(self) -> tuple[str, ...]:
        """The Python files listed in RECORD."""
        import csv

        record = csv.reader((self.files.read_text("RECORD") or "").splitlines())
        return tuple(line[0] for line in record if line and line[0].endswith(".py"))

    @property
    def stamp(self) -> str:
        """A text that changes when the distribution, or the code of an editable one, changes.

        Empty if that cannot be determined; nothing is cached for such a distribution.
        """
        if self.problem or self.folder is None:
            return ""
        with contained():  # finders of other packages decide where the code is
            files = [self.folder / "METADATA", self.folder / "entry_points.txt"]
            times = [file.stat().st_mtime_ns for file in files]
            direct = self.files.read_text("direct_url.json") or ""
            if '"editable":true' in direct.replace(" ", ""):
                times += _source_times(self.declared)
            return "-".join(map(str, times))
        return ""

    @property
    def _folder_name(self) -> str:
        name = getattr(getattr(self.files, "_path", None), "name", "")
        return name.removesuffix(".dist-info").removesuffix(".egg-info").split("-")[0] or "unknown"

    @property
    def _is_named_like_a_plugin(self) -> bool:
        return canonical(self._folder_name).startswith("cb-")

    @cached_property
    def _manifest(self) -> tuple[list[EntryPoint], str]:
        """Its entry points, and why some cannot be read."""
        with contained() as attempt:  # metadata of any package may be broken in any way
            return parse_entry_points(self.files.read_text("entry_points.txt") or "")
        return [], attempt.reason

    @cached_property
    def _headers(self) -> tuple[dict[str, list[str]], str]:
        """Its METADATA headers, and why they cannot be read."""
        with contained() as attempt:
            return _read_headers(self.files), ""
        return {}, attempt.reason

    def _header(self, name: str) -> str:
        return self._headers[0].get(name, [""])[0]


def read_distributions(path: Iterable[str] | None = None) -> list[Distribution]:
    """The installed distributions that are plugins, in the order of the import path.

    A distribution in two folders is listed twice; Python imports the first one.
    """
    plugins: dict[tuple[str, str], Distribution] = {}
    for distribution in iter_distributions(path):
        if distribution.is_plugin:
            place = (canonical(distribution.name), os.path.realpath(distribution.location))
            plugins.setdefault(place, distribution)
    return list(plugins.values())


def iter_distributions(path: Iterable[str] | None = None) -> Iterator[Distribution]:
    """All installed distributions, in the order of the import path."""
    others = []
    entries: Iterable[object] = sys.path if path is None else path
    for entry in entries:
        if not isinstance(entry, str):
            continue  # Python ignores it too
        if entry.lower().endswith((".egg", ".zip", ".whl")):
            others += [entry] if os.path.exists(entry) else []  # noqa: PTH110 - faster
            continue
        try:
            children = os.listdir(entry or ".")  # noqa: PTH208 - faster
        except OSError:
            continue
        for child in children:
            if child.lower().endswith(_SUFFIXES):
                yield Distribution(FolderFiles(os.path.join(entry, child)))  # noqa: PTH118 - faster
    if others or any(map(_is_other_finder, sys.meta_path)):
        context = _metadata().DistributionFinder.Context(path=others)
        for finder in sys.meta_path:
            if hasattr(finder, "find_distributions"):
                with contained():  # a finder of another package may raise anything
                    yield from map(Distribution, finder.find_distributions(context))


def find_distribution(name: str) -> Distribution | None:
    """The first installed distribution of a name; None if there is none."""
    wanted = canonical(name)
    for distribution in iter_distributions():
        if canonical(distribution._folder_name) == wanted and not distribution._headers[1]:
            return distribution
    return None


def installed_version(name: str) -> str | None:
    """The version of an installed distribution; None if it is not installed."""
    distribution = find_distribution(name)
    return None if distribution is None else distribution.version


def is_group_of_cb(group: str) -> bool:
    """Whether an entry-point group belongs to `cb`, or is a misspelled attempt at one."""
    return f"{canonical(group)}-".startswith(("cb-", "cbcore-"))


def parse_entry_points(text: str) -> tuple[list[EntryPoint], str]:
    """The readable entry points of a file, and the problem of the first unreadable line."""
    entries = []
    group = problem = ""
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line[0] == "[":
            if line[-1] != "]":
                problem = problem or f"line {number}: {line[:40]!r} is not a section"
            group = line[1:].removesuffix("]").strip()
            continue
        name, equals, value = line.partition("=")
        if equals and group:
            entries.append(EntryPoint(group, name.strip(), _EXTRAS.sub("", value.strip())))
        else:
            problem = problem or f"line {number}: {line[:40]!r} is not name = value in a section"
    return entries, problem


def _metadata() -> Any:
    """The library for metadata; the standard library's copy is outdated before Python 3.12."""
    if sys.version_info >= (3, 12):
        from importlib import metadata
    else:
        import importlib_metadata as metadata
    return metadata


def _is_other_finder(finder: object) -> bool:
    name = getattr(finder, "__name__", type(finder).__name__)
    return hasattr(finder, "find_distributions") and name not in _PATH_FINDERS


def _read_headers(files: MetadataFiles) -> dict[str, list[str]]:
    """The header block of METADATA, without the description below it."""
    text = files.read_text("METADATA") or files.read_text("PKG-INFO") or ""
    headers: dict[str, list[str]] = {}
    for line in text.partition("\n\n")[0].splitlines():
        key, colon, value = line.partition(":")
        if colon and not line[0].isspace():
            headers.setdefault(key.lower(), []).append(value.strip())
    if "name" not in headers:
        raise ValueError("it is missing or has no name")
    if "requires-dist" not in headers:  # an egg-info has a file of its own for requirements
        required = (files.read_text("requires.txt") or "").partition("[")[0]
        headers["requires-dist"] = required.split("\n")
    return headers


def _source_times(entries: Iterable[EntryPoint]) -> list[int]:
    """Per top-level package of the entries: the last change of a file, and the number of files."""
    import importlib.util

    times = []
    for package in sorted({re.split(r"[.:]", entry.value)[0].strip() for entry in entries}):
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            raise FileNotFoundError(package)
        origin = Path(spec.origin)
        is_package = origin.name == "__init__.py"
        changes = list(_iter_changes(origin.parent)) if is_package else [origin.stat().st_mtime_ns]
        times += [max(changes), len(changes)]
    return times


def _iter_changes(folder: str | Path) -> Iterator[int]:
    """The time of the last change of each Python file below a folder."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                yield entry.stat().st_mtime_ns
            elif entry.is_dir(follow_symlinks=False) and entry.name != "__pycache__":
                yield from _iter_changes(entry.path)
