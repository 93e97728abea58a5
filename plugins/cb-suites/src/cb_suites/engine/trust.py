"""Whose suite files may name programs: those of plugins, and of folders the user vouches for.

All others give values. Who is trusted is asked of the file that says a thing, not of the one that
includes it, and of where that file really lies: links do not lead into a trusted folder, nor out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from cb_suites.engine.untrusted import UntrustedSource

if TYPE_CHECKING:
    from cb_suites.engine.model import Origin, TaskConfig


def real(path: str | Path) -> Path:
    """Where a path really leads."""
    return Path(os.path.realpath(path))


def _all_real(paths: Iterable[str | Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(map(real, paths)))


@attrs.frozen
class Trust:
    """Folders whose suite files are trusted, and `named` ones.

    A file in one of those may take data from there, trusted or not.
    """

    folders: tuple[Path, ...] = attrs.field(default=(), converter=_all_real)
    named: tuple[Path, ...] = attrs.field(default=(), converter=_all_real)

    def covers(self, file: str | Path | None) -> bool:
        """Whether a file may name programs. What Python says, the user says."""
        return file is None or self.folder_of(file) is not None

    def folder_of(self, file: str | Path) -> Path | None:
        """The trusted folder a file lies in."""
        place = real(file)
        return next((folder for folder in self.folders if place.is_relative_to(folder)), None)

    def find_untrusted(self, *origins: Origin) -> UntrustedSource | None:
        """The first of these places that is not trusted, if there is one."""
        for origin in origins:
            if origin.file is not None and not self.covers(origin.file):
                place = real(origin.file)
                own = tuple(folder for folder in self.named if place.is_relative_to(folder))
                return UntrustedSource(str(origin), own, vouching(origin.file))
        return None


def check_given(config: TaskConfig) -> None:
    """Refuse a way out of its folder that an untrusted file gives to trusted code.

    A group may set the arguments of a task that it does not define.
    """
    for key in ("dataset_kwargs", "metadata", "dataset_path", "dataset_name"):
        source = config.find_untrusted(key)
        if source is not None:
            given = getattr(config, key)
            source.check_all(config.name, given if isinstance(given, Mapping) else {key: given})


def vouching(file: str | Path) -> str:
    """How to trust a file."""
    folder = real(file).parent
    shown = os.path.relpath(folder) if folder.is_relative_to(Path.cwd()) else str(folder)
    return f"if you know what is in it, add --trust {shown}"
