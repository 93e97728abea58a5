"""Installed distributions and their metadata. Nothing is imported.

Folders on the import path are read directly, since every command looks at all of them. Archives
and finders of other packages go through `importlib_metadata`.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from cbcore.boundary import contained
from cbcore.names import canonical
from cbcore.secrets import redact

CORE = "cbcore"
HOOK_GROUP = "cb.plugins"

_NOTES = ("/INSTALLER", "/REQUESTED", "/RECORD", "/direct_url.json", "/uv_cache.json", ".pyc")
"""The files that differ between installers."""
_GROUP = re.compile(r"cb(core)?(\Z|[-_.])", re.IGNORECASE)
_ON_CORE = re.compile(r"cbcore\s*(?:\[[^\]]*\])?\s*\(?((?:[<>=!~][^;)]*)?)\)?\s*\Z", re.IGNORECASE)
_PLAIN_CLAUSE = re.compile(r"\s*(>=|<)\s*(\d+(?:\.\d+)*)\s*")


class EntryPoint(NamedTuple):
    """One line of an entry_points.txt."""

    group: str
    name: str
    value: str


class Origin(NamedTuple):
    """The source of an installed distribution, as its metadata describe it.

    `record_digest` covers every installed file. It is the same on every machine that installed
    the same wheel. `commit` and `url` are what the installer noted, and `editable` is the folder
    of a project that is installed in place.
    """

    record_digest: str | None = None
    commit: str | None = None
    url: str = ""
    editable: str = ""

    def to_dict(self) -> dict[str, str | None]:
        """The origin as plain data."""
        return {key: value or None for key, value in self._asdict().items()}

    def __str__(self) -> str:
        if self.editable:
            return f"editable, {self.editable}"
        return f"commit {self.commit[:12]} of {self.url}" if self.commit else self.url


class Distribution:
    """An installed distribution. Its metadata is read on first use, and once."""

    def __init__(self, read_text: Callable[[str], str | None], path: Any = None) -> None:
        """`read_text` reads a metadata file, `path` is their folder: of a disk or an archive."""
        self.read_text = read_text
        self._path = path

    @staticmethod
    def iter_installed(path: Iterable[str] | None = None) -> Iterator[Distribution]:
        """All installed distributions, in the order of the import path."""
        archives = []
        entries: Iterable[object] = sys.path if path is None else path
        for entry in entries:
            try:
                children = os.listdir(entry or ".")  # type: ignore[call-overload]  # noqa: PTH208 - faster
            except NotADirectoryError:
                archives.append(entry)
                continue
            except (OSError, TypeError):  # Python ignores it too
                continue
            for child in children:
                if child.endswith(".dist-info"):
                    folder = Path(str(entry), child)
                    yield Distribution(functools.partial(_read_file, folder), folder)
        if archives or any(map(_is_other_finder, sys.meta_path)):
            context = _metadata().DistributionFinder.Context(path=archives)
            for finder in sys.meta_path:
                if hasattr(finder, "find_distributions"):
                    with contained():  # a finder of another package may raise anything
                        for found in finder.find_distributions(context):
                            yield Distribution(found.read_text, getattr(found, "_path", None))

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
        return self._path if isinstance(self._path, Path) else None

    @property
    def location(self) -> str:
        """The entry of the import path in which it is."""
        return str(getattr(self._path, "parent", "")).rstrip("/\\")

    @property
    def is_plugin(self) -> bool:
        """Whether it has entry points for `cb`, or is named like a plugin and unreadable."""
        is_torn = bool(self._manifest[1]) and canonical(self._folder_name).startswith("cb-")
        return bool(self.entry_points) or is_torn

    @cached_property
    def entry_points(self) -> tuple[EntryPoint, ...]:
        """The entry points in groups of `cb`, misspelled groups included."""
        return tuple(entry for entry in self._manifest[0] if _GROUP.match(entry.group))

    @property
    def problem(self) -> str:
        """Why its metadata cannot be read; empty if it can."""
        if self._manifest[1]:
            return f"its entry_points.txt cannot be read: {self._manifest[1]}"
        if self._headers[1]:
            return f"its METADATA cannot be read: {self._headers[1]}"
        return ""

    @property
    def requirements(self) -> list[str]:
        """The lines with its requirements."""
        return self._headers[0].get("requires-dist", [])

    @property
    def core_specifier(self) -> str | None:
        """The versions of the core that it supports; None if it does not require the core."""
        found = [match[1].strip() for match in map(_ON_CORE.match, self.requirements) if match]
        return ",".join(found) if found else None

    @cached_property
    def origin(self) -> Origin:
        """Where it comes from; empty where its metadata do not say so."""
        with contained():
            direct: Any = json.loads(self.read_text("direct_url.json") or "{}")
            url = direct.get("url", "")
            is_editable = direct.get("dir_info", {}).get("editable") is True
            return Origin(
                record_digest=self._record_digest,
                commit=direct.get("vcs_info", {}).get("commit_id"),
                url=redact(url),
                editable=unquote(urlsplit(url).path) if is_editable else "",
            )
        return Origin(record_digest=self._record_digest)

    @cached_property
    def stamp(self) -> str:
        """A text that changes when the distribution, or the code of an editable one, changes.

        Empty if that cannot be determined; nothing is cached for such a distribution.
        """
        if self.problem or self.folder is None:
            return ""
        with contained():  # finders of other packages decide where the code is
            files = [self.folder / "METADATA", self.folder / "entry_points.txt"]
            times = [file.stat().st_mtime_ns for file in files]
            direct = self.read_text("direct_url.json") or ""
            if '"editable":true' in direct.replace(" ", ""):
                times += _source_times(self.entry_points)
            return "-".join(map(str, times))
        return ""

    @property
    def _folder_name(self) -> str:
        name = getattr(self._path, "name", "")
        return name.removesuffix(".dist-info").split("-")[0] or "unknown"

    @property
    def _record_digest(self) -> str | None:
        lines = []
        with contained():
            for line in (self.read_text("RECORD") or "").splitlines():
                content = line.rpartition(",")[0]  # without the size
                path = content.rpartition(",")[0].strip('"')
                if path and not path.startswith(("..", "/")) and not path.endswith(_NOTES):
                    lines.append(content)
        listed = "\n".join(sorted(lines)).encode()
        return f"sha256:{hashlib.sha256(listed).hexdigest()}" if lines else None

    @cached_property
    def _manifest(self) -> tuple[list[EntryPoint], str]:
        """Its entry points, and why some cannot be read."""
        with contained() as attempt:  # metadata of any package may be broken in any way
            return _parse_entry_points(self.read_text("entry_points.txt") or "")
        return [], attempt.reason

    @cached_property
    def _headers(self) -> tuple[dict[str, list[str]], str]:
        """Its METADATA headers, and why they cannot be read."""
        with contained() as attempt:
            return self._read_headers(), ""
        return {}, attempt.reason

    def _read_headers(self) -> dict[str, list[str]]:
        """The header block of METADATA, without the description below it."""
        text = self.read_text("METADATA") or ""
        headers: dict[str, list[str]] = {}
        for line in text.partition("\n\n")[0].splitlines():
            key, colon, value = line.partition(":")
            if colon and not line[0].isspace():
                headers.setdefault(key.lower(), []).append(value.strip())
        if "name" not in headers:
            raise ValueError("it is missing or has no name")
        return headers

    def _header(self, name: str) -> str:
        return self._headers[0].get(name, [""])[0]


def read_distributions(path: Iterable[str] | None = None) -> list[Distribution]:
    """The installed distributions that are plugins, in the order of the import path.

    A distribution in two folders is listed twice; Python imports the first one.
    """
    plugins: dict[tuple[str, str], Distribution] = {}
    for distribution in Distribution.iter_installed(path):
        if distribution.is_plugin:
            place = (canonical(distribution.name), os.path.realpath(distribution.location))
            plugins.setdefault(place, distribution)
    return list(plugins.values())


@functools.lru_cache(maxsize=1024)
def origin_of(name: str) -> Origin:
    """The origin of the installed distribution of a name; empty if there is none."""
    wanted = canonical(name)
    mine = (d for d in Distribution.iter_installed() if canonical(d._folder_name) == wanted)
    return next((d.origin for d in mine if not d._headers[1]), Origin())


@functools.cache
def satisfies(version: str, specifier: str) -> bool:
    """Whether a version meets every clause of a specifier; it never meets an unreadable one."""
    clauses = [_PLAIN_CLAUSE.fullmatch(clause) for clause in specifier.split(",") if clause.strip()]
    if all(clauses) and re.fullmatch(r"\d+(\.\d+)*", version):
        # The usual form, without the 30 ms that importing the library takes.
        return all(
            (_numbers(version) >= _numbers(clause[2])) is (clause[1] == ">=")
            for clause in clauses
            if clause
        )
    from packaging.specifiers import SpecifierSet

    try:
        return SpecifierSet(specifier).contains(version, prereleases=True)
    except ValueError:
        return False


def _numbers(release: str) -> list[int]:
    """The numbers of a release, so that 1.0 equals 1.0.0."""
    return [*map(int, release.split(".")), 0, 0, 0, 0][:5]


def _read_file(folder: Path, name: str) -> str | None:
    """The text of a metadata file, or None if there is no such file."""
    try:
        return (folder / name).read_text(encoding="utf-8")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError):
        return None


def _parse_entry_points(text: str) -> tuple[list[EntryPoint], str]:
    """The readable entry points of a file, and the problem of the first unreadable line."""
    entries = []
    group = problem = ""
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        name, equals, value = line.partition("=")
        is_valid = bool(equals and group)
        if not line or line[0] in "#;":
            continue
        if line[0] == "[":
            group = line.strip("[]").strip()
            is_valid = line[-1] == "]"
        elif is_valid:
            target = value.partition("[")[0].strip()  # without extras
            entries.append(EntryPoint(group, name.strip(), target))
        if not is_valid and not problem:
            problem = f"line {number}: {line[:40]!r} is not name = value in a section"
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
    is_python = name in ("PathFinder", "MetadataPathFinder")
    return hasattr(finder, "find_distributions") and not is_python


def _source_times(entries: Iterable[EntryPoint]) -> list[int]:
    """Per top-level package of the entries: the last change of a file, and the number of files."""
    import importlib.util

    times = []
    for package in sorted({re.split(r"[.:]", entry.value)[0].strip() for entry in entries}):
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            raise FileNotFoundError(package)
        files = [spec.origin]
        if spec.submodule_search_locations:
            walked = os.walk(os.path.dirname(spec.origin))  # noqa: PTH120 - faster
            files = [f"{at}/{n}" for at, _, found in walked for n in found if n.endswith(".py")]
        changes = [os.stat(file).st_mtime_ns for file in files]  # noqa: PTH116 - faster
        times += [max(changes), len(changes)]
    return times
