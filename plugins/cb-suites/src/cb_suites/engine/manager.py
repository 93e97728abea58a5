"""Suites by name: those that plugins ship, and those in folders and files of the user."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cb_suites.engine.building import Place, TreeBuilder
from cb_suites.engine.functions import Functions
from cb_suites.engine.index import SUFFIXES, Entry, Index, Root
from cb_suites.engine.model import Node, Origin, Selection
from cb_suites.engine.paths import SEPARATOR, with_keys
from cb_suites.engine.settings import Reader, Settings, absolute
from cb_suites.engine.trust import Trust
from cbcore.boundary import at_boundary
from cbcore.components import Component
from cbcore.exceptions import (
    CBError,
    ConfigError,
    PluginContractError,
    UnknownComponentError,
    UsageError,
)
from cbcore.plugins import Catalog, default_catalog


class SuiteManager:
    """Finds tasks, groups and tags, and resolves requests for them.

    SuiteManager(include_paths=["my-suites"]).load(["mmlu::mmlu_anatomy", "my_benchmark"])

    A request is a name, a path (`group::subgroup::task`), a glob, a tag, any of them with
    `@format`, the path of a suite file, or a mapping as it would stand in a group. Folders
    named in `include_paths` are searched with all below them; a name in them goes before that
    of a plugin, and a later folder before an earlier one. Files are looked at when they are
    needed, and again when they have changed.

    Suite files give values. Those in folders named by `trust`, with all below them, may name
    programs too: functions, interpreters, addresses, environment variables. So may those that
    installed plugins ship.
    """

    def __init__(
        self,
        include_paths: Iterable[str | Path] = (),
        catalog: Catalog | None = None,
        *,
        trust: Iterable[str | Path] = (),
    ) -> None:
        self.include_paths = _folders("include path", include_paths)
        self.trust = _folders("trusted folder", trust)
        self.catalog = catalog
        self.problems: dict[str, CBError] = {}
        self._places: dict[str, Root] = {}
        self._reader = Reader()

    # -- what there is -------------------------------------------------------------------------

    def tasks(self) -> list[Entry]:
        """Every task that has a file of its own, by name."""
        return self._entries("task")

    def groups(self) -> list[Entry]:
        """Every group that has a file of its own, by name."""
        return self._entries("group")

    def tags(self) -> dict[str, int]:
        """Every tag, with the number of tasks that carry it."""
        return self.index().tags()

    def index(self, *files: Path) -> Index:
        """What is defined, as the files are now; `files` are looked at as well, and win."""
        named = [Root(path) for path in self.include_paths]
        return Index([*self._shipped(), *named, *(Root(absolute(file)) for file in files)])

    def _entries(self, kind: str) -> list[Entry]:
        entries = (entry for entry in self.index().entries if entry.kind == kind)
        return sorted(entries, key=lambda entry: (entry.name, str(entry.path)))

    def _shipped(self) -> list[Root]:
        """The suites of plugins. One that fails is set aside, with its error in `problems`."""
        self.problems, self._places = {}, {}
        catalog = self.catalog or default_catalog()
        for component in catalog.components("suite"):
            try:
                self._places[component.name] = Root(shipped_path(component), component.plugin)
            except CBError as error:
                self.problems[component.name] = error
        return list(dict.fromkeys(self._places.values()))

    # -- what is asked for ---------------------------------------------------------------------

    def load(
        self,
        requests: str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]],
        *,
        overrides: Mapping[str, Any] | None = None,
    ) -> Selection:
        """What was asked for: trees of groups and tasks, every override applied.

        `overrides` are set on every task, over whatever files say. Raises UsageError for a
        name that is defined nowhere, and ConfigError, with file and line, for what is wrong.
        """
        return self._load(requests, overrides, execute=True)

    def outline(
        self, requests: str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]]
    ) -> Selection:
        """The same as `load`, running nothing: where a function is named, its name stands."""
        return self._load(requests, None, execute=False)

    def _load(
        self, requests: Any, overrides: Mapping[str, Any] | None, *, execute: bool
    ) -> Selection:
        wanted = [requests] if isinstance(requests, str | Mapping) else list(requests)
        if not wanted:
            raise UsageError("no suite was asked for", hint="`cb list suites` shows them")
        texts = [one.partition(SEPARATOR)[0] for one in wanted if isinstance(one, str)]
        files = {text: absolute(text) for text in map(_without_format, texts) if is_file(text)}
        index = self.index(*files.values())
        builder = self.builder(index, execute=execute)
        builder.also = {
            **self._whole_files(index),
            **{text: entry_of(index, path) for text, path in files.items()},
        }
        builder.final = Settings.of(overrides or {}, Origin())
        roots: list[Node] = []
        for request in wanted:
            try:
                roots += builder.request(request, Origin(), Place())
            except UnknownComponentError as error:
                raise self.problems.get(error.name, error) from None
        notes = tuple(f"{key} has no effect: {why}" for key, why in builder.notes.items())
        return Selection(with_keys(roots), notes=notes)

    def _whole_files(self, index: Index) -> dict[str, Entry]:
        """Suites that are one file, by the name their plugin gives them."""
        by_path = {entry.path: entry for entry in index.entries if entry.root.plugin}
        return {
            name: by_path[root.path]
            for name, root in self._places.items()
            if root.path in by_path and index.find(name) is None
        }

    def builder(
        self, index: Index, *, execute: bool, problems: list[ConfigError] | None = None
    ) -> TreeBuilder:
        """What turns requests into trees. Without `execute`, functions are only looked for."""
        shipped = [root.folder for root in index.roots if root.plugin]
        named = [root.folder for root in index.roots]
        trust = Trust([*self.trust, *shipped], named)
        functions = Functions(trust.folders)
        resolve = functions.resolve if execute else functions.check
        return TreeBuilder(
            *(index, self._reader, resolve),
            trust=trust,
            problems=problems,
            unchecked=functions.unchecked,
        )


def _folders(what: str, paths: Iterable[str | Path]) -> tuple[Path, ...]:
    """Folders by their full paths. One that is none is a `ConfigError`."""
    found = tuple(map(absolute, [paths] if isinstance(paths, str | Path) else paths))
    for path in found:
        if not path.is_dir():
            wrong = "is not a folder" if path.exists() else "does not exist"
            raise ConfigError(f"{what} {path}", wrong, hint="name a folder that holds suite files")
    return found


def _without_format(text: str) -> str:
    name, _, fmt = text.rpartition("@")
    return name if name.endswith(SUFFIXES) and fmt else text


def is_file(request: str) -> bool:
    """Whether a request is the path of a suite file."""
    return request.endswith(SUFFIXES)


def entry_of(index: Index, path: Path) -> Entry:
    """The task or group that a file defines."""
    for entry in index.entries:
        if entry.path == path:
            return entry
    if not path.is_file():
        raise UsageError(f"there is no suite file {str(path)!r}")
    unreadable = index.unreadable.get(path)
    reason = unreadable or f"{path}: it defines neither a task nor a group"
    raise UsageError(reason, hint="write task: or group: with a name")


def shipped_path(component: Component) -> Path:
    """The file or folder of a plugin's suite. Whatever is wrong is the plugin's fault."""
    broken = functools.partial(PluginContractError, component.plugin)
    with at_boundary(f"the suite {component.name!r}", broken):
        path = component.load()()
    if not isinstance(path, str | Path) or not Path(path).exists():
        raise PluginContractError(
            component.plugin,
            f"the suite {component.name!r} returned {path!r}, not the path of a file or folder",
        )
    return absolute(path)
