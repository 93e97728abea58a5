"""What a task or group says, key by key: own keys over included ones, each with its place."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

from cb_suites.engine.documents import Table, origin_of, problem, read_document
from cb_suites.engine.model import Origin
from cb_suites.engine.trust import Trust
from cbcore.names import hint

DEEPEST = 100
"""Files that may include one another in a row."""

MOST_INCLUDES = 1_000
"""Includes that one file may need, those of the files it includes counted."""


@attrs.frozen
class Settings:
    """Keys with their values, and the place that says each."""

    values: Mapping[str, Any] = attrs.Factory(dict)
    origins: Mapping[str, Origin] = attrs.Factory(dict)
    origin: Origin = attrs.Factory(Origin)

    @classmethod
    def of(cls, table: Mapping[Any, Any], origin: Origin) -> Settings:
        """The settings a mapping holds, from a file or from Python."""
        places = {key: origin_of(table, key, origin) for key in table}
        for key in table:
            if not isinstance(key, str):
                raise problem(places[key], f"the key {key!r} is not text")
        return cls(dict(table), places, origin)

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def get(self, key: str) -> Any:
        """The value of a key, None where it has none."""
        return self.values.get(key)

    def place(self, key: str) -> Origin:
        """Where a key was said, or else where the whole was."""
        return self.origins.get(key, self.origin)

    def over(self, other: Settings) -> Settings:
        """These settings laid over others: a key of one's own wins."""
        return Settings(
            {**other.values, **self.values}, {**other.origins, **self.origins}, self.origin
        )

    def only(self, keep: Callable[[str], bool]) -> Settings:
        """The settings whose keys are kept."""
        kept = [key for key in self.values if keep(key)]
        return Settings(
            {key: self.values[key] for key in kept},
            {key: self.place(key) for key in kept},
            self.origin,
        )


class Reader:
    """Reads suite files with what they include. A file is read anew when it has changed."""

    def __init__(self) -> None:
        self._documents: dict[Path, tuple[tuple[int, ...], Table]] = {}
        self._merged: dict[Path, Settings] = {}
        self._n_included = 0
        self._trust = Trust()

    def settings(self, path: Path, trust: Trust) -> Settings:
        """What a suite file says, its includes merged under it."""
        self._begin(trust)
        return self._read(absolute(path), ())

    def including(self, settings: Settings, trust: Trust) -> Settings:
        """Settings laid over what their `include` names: files, or defaults written in place.

        Of several, the later wins. Files are looked for next to the file that names them.
        An untrusted file includes only files of its own folder and trusted ones.
        """
        self._begin(trust)
        return self._including(settings, ())

    def _begin(self, trust: Trust) -> None:
        """Forget what was merged before: the files may have changed since."""
        self._merged, self._n_included, self._trust = {}, 0, trust

    def _including(self, settings: Settings, chain: tuple[Path, ...]) -> Settings:
        if "include" not in settings:
            return settings
        place = settings.place("include")
        wanted = settings.get("include")
        merged = Settings()
        for item in wanted if isinstance(wanted, list) else [wanted]:
            self._n_included += 1
            if self._n_included > MOST_INCLUDES:
                raise problem(place, f"this needs more than {MOST_INCLUDES:,} includes")
            if isinstance(item, Mapping):
                merged = self._including(Settings.of(item, place), chain).over(merged)
            elif isinstance(item, str) and item:
                merged = self._included(item, place, chain).over(merged)
            else:
                raise problem(place, f"include takes the names of files, not {item!r}")
        return settings.only(lambda key: key != "include").over(merged)

    def _read(self, path: Path, chain: tuple[Path, ...]) -> Settings:
        table = self._document(path)
        first = min((place.line or 1 for place in table.origins.values()), default=1)
        # A file that many include is merged once.
        if path not in self._merged:
            own = Settings.of(table, Origin(str(path), first))
            self._merged[path] = self._including(own, (*chain, path))
        return self._merged[path]

    def _document(self, path: Path) -> Table:
        try:
            stamp = stamp_of(path.stat())
        except OSError:
            return read_document(path)  # which says what is wrong with it
        known = self._documents.get(path)
        if known is None or known[0] != stamp:
            known = self._documents[path] = (stamp, read_document(path))
        return known[1]

    def _included(self, name: str, place: Origin, chain: tuple[Path, ...]) -> Settings:
        path = absolute(name, place)
        source = self._trust.find_untrusted(place)
        if source is not None:
            folders = (*source.folders, *self._trust.folders)
            attrs.evolve(source, folders=folders).check_path(path)
        if path in chain:
            circle = [*chain[chain.index(path) :], path]
            raise problem(place, f"the files include each other: {' → '.join(map(str, circle))}")
        if len(chain) > DEEPEST:
            raise problem(place, f"this is more than {DEEPEST} includes within each other")
        if not path.is_file():
            siblings = path.parent.iterdir() if path.parent.is_dir() else ()
            raise problem(
                place,
                f"the included file {path} {'is no file' if path.exists() else 'does not exist'}",
                hint(path.name, [file.name for file in siblings]),
            )
        return self._read(path, chain)


def absolute(path: Path | str, beside: Origin | None = None) -> Path:
    """A full path, taken from the folder of the file that names it. Links are not followed."""
    folder = Path(beside.file).parent if beside is not None and beside.file else Path.cwd()
    return Path(os.path.normpath(folder / Path(path).expanduser()))


def stamp_of(status: os.stat_result) -> tuple[int, int, int]:
    """What changes when a file does."""
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size
