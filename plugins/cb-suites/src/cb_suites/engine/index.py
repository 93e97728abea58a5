"""The index of suite files: which task, group or tag is defined where.

A file is looked at once and remembered until it changes, so that a large collection costs
little the second time.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from hashlib import blake2b
from pathlib import Path
from typing import Any

import attrs
import orjson

from cb_suites.engine.documents import problem
from cb_suites.engine.model import Origin
from cb_suites.engine.scanning import Glance, glance
from cb_suites.engine.settings import MOST_INCLUDES, stamp_of
from cbcore.names import canonical

SUFFIXES = (".yaml", ".yml")
_MEMORY_VERSION = 1
_FIELDS = tuple(field.name for field in attrs.fields(Glance))


@attrs.frozen
class Root:
    """Where suite files lie: a folder with all below it, or one file with those beside it.

    `plugin` names the distribution that ships it; empty for what the user named.
    """

    path: Path
    plugin: str = ""

    @property
    def folder(self) -> Path:
        return self.path if self.path.is_dir() else self.path.parent

    def __str__(self) -> str:
        return self.plugin or str(self.path)


@attrs.frozen
class Entry:
    """A task or group that a suite file defines."""

    kind: str
    name: str
    path: Path
    line: int
    root: Root
    tags: tuple[str, ...] = ()
    dataset: str | None = None

    @property
    def origin(self) -> Origin:
        return Origin(str(self.path), self.line)


class Index:
    """Everything that some roots define. Of two roots, the later wins; plugins are equals."""

    def __init__(self, roots: Iterable[Root]) -> None:
        self.roots = tuple(roots)
        self.entries: list[Entry] = []
        self.unreadable: dict[Path, str] = {}
        self._by_name: dict[str, list[Entry]] = {}
        self._by_tag: dict[str, set[str]] = {}
        self._by_spelling: dict[str, list[Entry]] = {}
        for root in self.roots:
            self._add(root)

    def _add(self, root: Root) -> None:
        folder = _Folder(root)
        for path, seen in folder.files():
            if seen.problem:
                self.unreadable[path] = seen.problem
            name = seen.group or seen.task
            if name is None:
                continue
            kind = "group" if seen.group else "task"
            tags = folder.inherited(path, "tags") or () if kind == "task" else ()
            dataset = folder.inherited(path, "dataset")
            entry = Entry(kind, name, path, seen.line, root, tags, dataset)
            self.entries.append(entry)
            self._by_name.setdefault(name, []).append(entry)
        folder.remember()

    def find(self, name: str) -> Entry | None:
        """The task or group of that name. Raises ConfigError when two files claim it."""
        plugin, slash, bare = ("", "", name) if name in self._by_name else name.rpartition("/")
        claims = self._by_name.get(bare) or self._spelt_like(bare)
        if slash:
            claims = [e for e in claims if canonical(e.root.plugin) == canonical(plugin)]
        if not claims:
            return None
        best = max(self._rank(entry) for entry in claims)
        winners = {entry.path: entry for entry in claims if self._rank(entry) == best}
        first, *others = winners.values()
        if others:
            plugins = {entry.root.plugin for entry in winners.values()}
            choices = " or ".join(f"{plugin}/{bare}" for plugin in sorted(plugins))
            raise problem(
                first.origin,
                f"{bare!r} is defined here and in {', '.join(str(e.origin) for e in others)}",
                f"write {choices}" if len(plugins) > 1 else "rename one of them",
            )
        return first

    def tagged(self, tag: str) -> list[Entry]:
        """The tasks that carry a tag, by name; of one name, the one that `find` would give."""
        found = [self.find(name) for name in sorted(self._tags().get(tag, ()))]
        return [entry for entry in found if entry is not None and tag in entry.tags]

    def matching(self, pattern: str) -> list[Entry]:
        """The tasks and groups whose names a glob matches; those of matching tags if none."""
        wanted = sorted(name for name in self._by_name if fnmatchcase(name, pattern))
        found = [entry for name in wanted if (entry := self.find(name)) is not None]
        tags = [] if found else [tag for tag in self._tags() if fnmatchcase(tag, pattern)]
        carried = {entry.path: entry for tag in sorted(tags) for entry in self.tagged(tag)}
        return found or list(carried.values())

    def tags(self) -> dict[str, int]:
        """Every tag, with the number of tasks that carry it."""
        return {tag: len(carriers) for tag, carriers in sorted(self._tags().items())}

    def names(self) -> list[str]:
        """Every name that can be asked for: tasks, groups, tags."""
        return sorted({*self._by_name, *self._tags()})

    def _tags(self) -> dict[str, set[str]]:
        if not self._by_tag:
            for entry in self.entries:
                for tag in entry.tags:
                    self._by_tag.setdefault(tag, set()).add(entry.name)
        return self._by_tag

    def _rank(self, entry: Entry) -> int:
        return -1 if entry.root.plugin else self.roots.index(entry.root)

    def _spelt_like(self, name: str) -> list[Entry]:
        """Names that differ only in case, `-`, `_` and `.`."""
        if not self._by_spelling:
            for entry in self.entries:
                self._by_spelling.setdefault(canonical(entry.name), []).append(entry)
        return self._by_spelling.get(canonical(name), [])


def cache_folder() -> Path:
    """The folder for caches that all environments of a user share."""
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    # Unlike Path.home(), this does not raise for a user without a home.
    root = Path(base) if base else Path(os.path.expanduser("~")) / ".cache"  # noqa: PTH111
    return root / "cb"


class _Folder:
    """The files of one root, as remembered or as they are now."""

    def __init__(self, root: Root) -> None:
        self.root = root
        place = os.fsencode(str(root.path))
        digest = blake2b(place, digest_size=8).hexdigest()
        self._memory_file = cache_folder() / f"suites-{digest}.json"
        self._memory = _recall(self._memory_file)
        self._seen: dict[str, tuple[tuple[int, ...], Glance]] = {}

    def files(self) -> Iterator[tuple[Path, Glance]]:
        """Every suite file, in order of path, with what it defines."""
        recursive = self.root.path.is_dir()
        found = sorted(_suite_files(str(self.root.folder), recursive=recursive))
        for path, status in found:
            yield Path(path), self._look(path, status)

    def inherited(self, path: Path, field: str) -> Any:
        """A field of a file, or else of what it includes; the later include wins.

        A file that many include is looked at once: where it has no value, it never will.
        """
        waiting, known = [str(path)], set[str]()
        while waiting and len(known) <= MOST_INCLUDES:
            file = waiting.pop()
            if file in known:
                continue
            known.add(file)
            try:
                seen = self._look(file, os.stat(file))  # noqa: PTH116 - thousands of times
            except OSError:
                continue
            value = getattr(seen, field)
            if value is not None:
                return value
            waiting += [os.path.normpath(Path(file).parent / name) for name in seen.includes]
        return None  # if there are too many, reading the file tells what is wrong

    def _look(self, path: str, status: os.stat_result) -> Glance:
        known = self._seen.get(path)
        if known is None:
            stamp = stamp_of(status)
            known = self._memory.get(path)
            if known is None or known[0] != stamp:
                known = (stamp, glance(Path(path)))
            self._seen[path] = known
        return known[1]

    def remember(self) -> None:
        """Keep what was seen. A folder that cannot be written only costs time."""
        if self._seen == self._memory:
            return
        files = {
            path: [stamp, [getattr(seen, name) for name in _FIELDS]]
            for path, (stamp, seen) in self._seen.items()
            if not seen.problem  # the cause may lie outside the file
        }
        try:
            data = orjson.dumps({"version": _MEMORY_VERSION, "files": files})
            self._memory_file.parent.mkdir(parents=True, exist_ok=True)
            temporary = self._memory_file.with_suffix(f".{os.getpid()}")
            temporary.write_bytes(data)
            temporary.replace(self._memory_file)
        except (OSError, TypeError):
            pass


def _recall(file: Path) -> dict[str, tuple[tuple[int, ...], Glance]]:
    found: dict[str, tuple[tuple[int, ...], Glance]] = {}
    try:
        memory = orjson.loads(file.read_bytes())
        for path, (stamp, values) in memory["files"].items():
            fields: list[Any] = [tuple(v) if isinstance(v, list) else v for v in values]
            found[path] = (tuple(stamp), Glance(*fields))
        known = memory["version"] == _MEMORY_VERSION
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        known = False
    return found if known else {}


def _suite_files(folder: str, *, recursive: bool) -> Iterator[tuple[str, os.stat_result]]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        try:
            if entry.name.startswith(".") or entry.name == "__pycache__":
                continue
            if entry.name.endswith(SUFFIXES) and entry.is_file():
                yield entry.path, entry.stat()
            elif recursive and entry.is_dir(follow_symlinks=False):
                yield from _suite_files(entry.path, recursive=True)
        except OSError:  # it went away meanwhile
            continue
