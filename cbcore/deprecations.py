"""Everything that will be removed, in one place.

An entry of `REMOVALS` names what goes as authors write it (a hook, an entry-point group, an
attribute), since when that is announced, the release that removes it, and what to write
instead. Code that still supports it calls `announce` where it is used, so that each plugin
that relies on it is told, once, by name. `cb hooks` and `cb plugins check` show the same.

A test fails when an entry outlives the release it names.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

__all__ = ("REMOVALS",)


class Removal(NamedTuple):
    """When something goes, and what replaces it."""

    since: str
    removed_in: str
    replacement: str


REMOVALS: dict[str, Removal] = {}
"""What goes → its removal. Empty: nothing is announced at present."""

announced: list[tuple[str, str]] = []
"""Who was told of what in this process: (plugin, what goes)."""


def announce(what: str, *, plugin: str) -> None:
    """Warn that a plugin relies on something that will be removed. Each pair is told once."""
    removal = REMOVALS[what]
    if (plugin, what) in announced:
        return
    announced.append((plugin, what))
    warnings.warn(message_of(what, removal, plugin), DeprecationWarning, stacklevel=2)


def message_of(what: str, removal: Removal, plugin: str) -> str:
    """The warning: who uses what, until when that works, what to write instead."""
    return (
        f"plugin {plugin!r} uses {what}, deprecated since cbcore {removal.since} "
        f"and removed in {removal.removed_in}: use {removal.replacement}"
    )
