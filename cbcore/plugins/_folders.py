"""Installed distributions where nearly all of them are: as folders on the import path.

A run looks at every installed distribution before it does anything else, and the library for
that costs more to import than to ask. Its reading of folders is done here; it is asked for what
is no plain folder (archives, eggs) and by finders of another kind.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from cbcore.names import canonical

_SUFFIXES = (".dist-info", ".egg-info")
_ABSENT = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
_OF_THE_PATH = ("PathFinder", "MetadataPathFinder")
"""The finders that look at the import path: Python's own, and that of the library."""


class Installed(Protocol):
    """What is asked of an installed distribution, whoever found it."""

    def read_text(self, filename: str, /) -> str | None:
        """A file of its metadata; None where there is none."""


class Folder:
    """The metadata of a distribution in a folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    @functools.cached_property
    def _path(self) -> Path:  # as those of the library are asked for it
        return Path(self._folder)

    @property
    def name(self) -> str:
        """By its folder."""
        return os.path.basename(self._folder).rpartition(".")[0].partition("-")[0]  # noqa: PTH119

    def read_text(self, filename: str, /) -> str | None:
        """A file of it, as text; None where there is none, or where the folder is a file."""
        try:
            with open(os.path.join(self._folder, filename), encoding="utf-8") as file:  # noqa: PTH118, PTH123 - faster
                return file.read()
        except _ABSENT:
            return None


def on_path(path: Iterable[object], initial: str = "") -> Iterator[Installed]:
    """What is installed in each entry of an import path, in its order; `initial` narrows it."""
    for entry in path:
        if not isinstance(entry, str):
            continue  # which Python passes over too
        try:
            children = os.listdir(entry or ".")  # noqa: PTH208 - faster
        except OSError:
            if os.path.isfile(entry):  # noqa: PTH113 - an archive, perhaps
                yield from by_library([entry])
            continue
        if entry.lower().endswith(".egg"):
            yield from by_library([entry])
            continue
        for child in children:
            name = child.lower()
            if name.endswith(_SUFFIXES) and name.startswith(initial):
                yield Folder(os.path.join(entry, child))  # noqa: PTH118 - faster


def by_library(path: list[str]) -> Iterator[Installed]:
    """The same as the library finds it."""
    from cbcore.plugins._library import metadata

    context = metadata.DistributionFinder.Context(path=path)  # type: ignore[no-untyped-call]
    yield from metadata.MetadataPathFinder.find_distributions(context)


def by_name(name: str, version: str = "") -> Installed:
    """The first distribution of that name, those with METADATA before others.

    Where its version is known, it mostly has a folder of a known name, and no other is looked
    for. Raises `PackageNotFoundError` of the library where there is none.
    """
    if version:
        usual = f"{canonical(name).replace('-', '_')}-{version}.dist-info"
        for entry in (place for place in sys.path if isinstance(place, str)):
            folder = os.path.join(entry, usual)  # noqa: PTH118 - faster
            if os.path.isfile(os.path.join(folder, "METADATA")):  # noqa: PTH113, PTH118
                return Folder(folder)
    for installed in on_path(sys.path, name[:1].lower()):
        is_folder = isinstance(installed, Folder) and canonical(installed.name) == canonical(name)
        if is_folder and installed.read_text("METADATA"):
            return installed
    from cbcore.plugins._library import metadata

    found: Installed = metadata.Distribution.from_name(name)
    return found


def looks_at_the_path(finder: object) -> bool:
    """Whether a finder is one that looks at the import path."""
    return getattr(finder, "__name__", type(finder).__name__) in _OF_THE_PATH
