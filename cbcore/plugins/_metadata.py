"""What installed distributions state, read from their metadata: nothing is imported.

`entry_points.txt` is the manifest. Each distribution is read under its own guard: whatever is
wrong with one, its own or somebody else's, concerns that one alone. A light command reads the
manifests of all and the rest of those that are plugins; a check reads everything.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cbcore.boundary import contained
from cbcore.components import describe_exception
from cbcore.kinds import KINDS
from cbcore.names import canonical, near_matches
from cbcore.plugins._folders import Installed, looks_at_the_path, on_path
from cbcore.plugins._policy import CORE

if TYPE_CHECKING:
    from cbcore.plugins._origins import Origin

HOOK_GROUP = "cb.plugins"
GROUPS = (HOOK_GROUP, *(kind.group for kind in KINDS.values()))
"""Every entry-point group that the core itself reads."""

_REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*\(?(?P<specifier>(?:[<>=!~][^;)]*)?)\)?\s*\Z"
)
_MOST_BYTES = 8_000_000
"""Of an entry_points.txt; one with fifty thousand entries has a fifth of that."""
_BARE = ("cb", CORE)
_EXTRAS = re.compile(r"\s*\[[^\]]*\]\Z")


class EntryPoint(NamedTuple):
    """One line of a manifest."""

    group: str
    name: str
    value: str


class Requirement(NamedTuple):
    """One requirement without a marker; those under one are the installer's business."""

    name: str
    specifier: str


class Distribution:
    """An installed distribution. What it states is read when it is asked for, and once."""

    def __init__(self, installed: Installed) -> None:
        self._installed = installed

    def __repr__(self) -> str:
        return f"<Distribution {self.name} {self.version}>"

    @property
    def name(self) -> str:
        """As METADATA has it; by the folder's name where that cannot be read."""
        return self._header("name") or _name_from(self._place)

    @property
    def version(self) -> str:
        return self._header("version")

    @property
    def summary(self) -> str:
        return self._header("summary")

    @property
    def folder(self) -> Path | None:
        """Where the metadata are, unless that is inside an archive."""
        return self._place if isinstance(self._place, Path) else None

    @property
    def location(self) -> str:
        """What is on the import path."""
        return str(getattr(self._place, "parent", "")).rstrip("/\\")

    @property
    def is_listed(self) -> bool:
        """Whether it offers something to `cb`, may mean to, or cannot be read."""
        return bool(self.declared or self._manifest[1])

    @property
    def is_ours(self) -> bool:
        """Whether it is the core, a plugin, or means to be one."""
        return bool(self.declared) or canonical(self.name) == CORE

    @property
    def means_to_be_ours(self) -> bool:
        """Whether it offers something, or is at least called as plugins are."""
        return bool(self.declared) or canonical(self.name).startswith("cb-")

    @cached_property
    def declared(self) -> tuple[EntryPoint, ...]:
        """What stands in groups of ours, and in groups that look like ours.

        One that is just called `cb` may be anybody's, unless the package is called as plugins are.
        """
        entries = self._manifest[0]
        named = any(entry.group in _BARE for entry in entries)  # else its METADATA is not read
        own = _BARE if named and canonical(self.name).startswith("cb-") else ()
        return tuple(e for e in entries if looks_like_ours(e.group) or e.group in own)

    @property
    def problem(self) -> str:
        """Why it cannot be read, if so."""
        (_, malformed), (_, unreadable) = self._manifest, self._headers
        if malformed:
            return f"its entry_points.txt cannot be read: {malformed}"
        return f"its METADATA cannot be read: {unreadable}" if unreadable else ""

    @cached_property
    def requirements(self) -> tuple[Requirement, ...]:
        """What it always requires."""
        return tuple(requirements_in(self._headers[0].get("requires-dist", [])))

    @property
    def core_specifier(self) -> str | None:
        """Which cores it supports; None when it does not say that it needs one."""
        found = [r.specifier for r in self.requirements if canonical(r.name) == CORE]
        return ",".join(found) if found else None

    @cached_property
    def origin(self) -> Origin:
        """Where it was installed from."""
        from cbcore.plugins._origins import read_origin

        return read_origin(self._installed)

    @cached_property
    def modules(self) -> tuple[str, ...]:
        """The Python files it brought, as RECORD lists them."""
        import csv

        record = csv.reader((self._installed.read_text("RECORD") or "").splitlines())
        return tuple(line[0] for line in record if line and line[0].endswith(".py"))

    @property
    def installed_ns(self) -> int:
        """When its metadata were written; 0 where that cannot be told."""
        return (self.folder / "METADATA").stat().st_mtime_ns if self.folder else 0

    @property
    def stamp(self) -> str:
        """What changes when it, its manifest, or the code of an editable one changes.

        Empty when that cannot be told; such a distribution is looked at anew each time.
        """
        if self.problem or self.folder is None:
            return ""
        with contained():  # finders of others are asked where the code is
            times = [self.installed_ns, (self.folder / "entry_points.txt").stat().st_mtime_ns]
            direct = self._installed.read_text("direct_url.json") or ""
            if '"editable":true' in direct.replace(" ", ""):
                times += _source_times(self.declared)
            return "-".join(map(str, times))
        return ""

    @property
    def _place(self) -> Any:
        """A `Path`, something like it inside an archive, or None from a finder of another kind."""
        return getattr(self._installed, "_path", None)

    @cached_property
    def _manifest(self) -> tuple[list[EntryPoint], str]:
        """Its entry points, and why they cannot be read, if so."""
        with contained() as tried:  # metadata of any package may be broken in any way
            return _parse_manifest(self._manifest_bytes())
        return [], tried.reason

    def _manifest_bytes(self) -> bytes:
        """The whole of its entry_points.txt, which is read at every start: one too large is not."""
        folder = self.folder
        if folder is None:
            return (self._installed.read_text("entry_points.txt") or "").encode()
        try:
            with open(os.path.join(folder, "entry_points.txt"), "rb") as file:  # noqa: PTH118, PTH123 - faster
                content = file.read(_MOST_BYTES + 1)
        except (FileNotFoundError, NotADirectoryError):
            return b""
        if len(content) > _MOST_BYTES:
            raise ValueError(f"it is larger than {_MOST_BYTES // 1_000_000} MB")
        return content

    @cached_property
    def _headers(self) -> tuple[dict[str, list[str]], str]:
        """Its headers, and why they cannot be read, if so."""
        with contained() as tried:  # as above
            return _read_headers(self._installed), ""
        return {}, tried.reason

    def _header(self, name: str) -> str:
        return self._headers[0].get(name, [""])[0]


def scan(path: Iterable[str] | None = None) -> list[Distribution]:
    """Every distribution that offers something to `cb`, in the order of the import path.

    A distribution found twice is listed twice; the first is the one Python imports. The same
    folder twice on the path is one.
    """
    found: list[Distribution] = []
    seen: set[tuple[str, str]] = set()
    for distribution in installed_distributions(path):
        if not distribution.is_listed:
            continue
        place = (canonical(distribution.name), os.path.realpath(distribution.location))
        if not distribution.location or place not in seen:
            found.append(distribution)
        seen.add(place)
    return found


def installed_distributions(path: Iterable[str] | None = None) -> Iterator[Distribution]:
    """What every finder knows, asked one by one: a foreign one that fails hides only its own."""
    where = sys.path if path is None else list(path)
    is_path_seen = False
    for finder in list(sys.meta_path):
        if not hasattr(finder, "find_distributions"):
            continue
        with contained():  # what it had cannot be known
            if not looks_at_the_path(finder):
                yield from map(Distribution, _asked(finder, where))
            elif not is_path_seen:
                is_path_seen = True
                yield from map(Distribution, on_path(where))


def _asked(finder: Any, path: list[str]) -> Iterable[Installed]:
    from cbcore.plugins._library import metadata

    context = metadata.DistributionFinder.Context(path=path)  # type: ignore[no-untyped-call]
    found: Iterable[Installed] = finder.find_distributions(context)
    return found


def installed_version(name: str) -> str | None:
    """The version of a distribution; None where there is none of that name."""
    from cbcore.plugins._library import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def looks_like_ours(group: str) -> bool:
    """Whether an entry-point group is one of ours, or an attempt at one."""
    return canonical(group).startswith(("cb-", "cbcore-"))


def meant_group(group: str, groups: Iterable[str] = GROUPS) -> str:
    """The group of ours that one like it means, if any."""
    if group in ("cb", CORE):
        return HOOK_GROUP
    near = near_matches(group, groups, limit=1) if looks_like_ours(group) else []
    return near[0] if near else ""


def same_name(one: str, other: str) -> bool:
    """Whether two spellings name the same distribution."""
    return canonical(one) == canonical(other)


def parse_entry_points(text: str) -> tuple[list[EntryPoint], str]:
    """What can be read, and what is wrong with the first line that cannot."""
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
        if not equals or not group:
            problem = problem or f"line {number}: {line[:40]!r} is not name = value in a section"
            continue
        target = _EXTRAS.sub("", value.strip())
        entries.append(EntryPoint(group=group, name=name.strip(), value=target))
    return entries, problem


def _parse_manifest(content: bytes) -> tuple[list[EntryPoint], str]:
    """The same of bytes, which may not be text."""
    try:
        return parse_entry_points(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        entries, _ = parse_entry_points(content.decode("utf-8", "replace"))
        return entries, describe_exception(error)


def requirements_in(lines: Iterable[str]) -> Iterator[Requirement]:
    """The requirements among the lines of `Requires-Dist` that always hold."""
    for match in map(_REQUIREMENT.match, lines):
        if match:
            yield Requirement(match["name"], match["specifier"].strip())


def _read_headers(installed: Installed) -> dict[str, list[str]]:
    """The header block of METADATA; the description below it, often long, is not parsed."""
    text = installed.read_text("METADATA") or installed.read_text("PKG-INFO")
    if not text:
        raise ValueError("it is missing or empty")
    headers: dict[str, list[str]] = {}
    for line in text.partition("\n\n")[0].splitlines():
        key, colon, value = line.partition(":")
        if colon and not line[0].isspace():
            headers.setdefault(key.lower(), []).append(value.strip())
    if "requires-dist" not in headers:  # an egg-info keeps requirements in a file of their own
        required = (installed.read_text("requires.txt") or "").partition("[")[0]
        headers["requires-dist"] = required.split("\n")
    return headers


def _name_from(place: Any) -> str:
    name = getattr(place, "name", "")
    return name.removesuffix(".dist-info").removesuffix(".egg-info").split("-")[0] or "unknown"


def _source_times(entries: Iterable[EntryPoint]) -> list[int]:
    """For each top-level package of the entries, when a file of it last changed, and how many."""
    import importlib.util

    times = []
    for top in sorted({re.split(r"[.:]", entry.value)[0].strip() for entry in entries}):
        spec = importlib.util.find_spec(top)
        if spec is None or spec.origin is None:
            raise FileNotFoundError(top)
        origin = Path(spec.origin)
        is_package = origin.name == "__init__.py"
        changed = list(_changes_in(origin.parent)) if is_package else [origin.stat().st_mtime_ns]
        times += [max(changed), len(changed)]
    return times


def _changes_in(folder: str | Path) -> Iterator[int]:
    """When each Python file in a folder and those below it was last changed."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                yield entry.stat().st_mtime_ns
            elif entry.is_dir(follow_symlinks=False) and entry.name != "__pycache__":
                yield from _changes_in(entry.path)
