"""The directory of plugins: what there is to install, read from a list that comes with the core."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

import attrs

from cbcore.names import canonical, near_matches
from cbcore.plugins._known import known_offers

_LIST = Path(__file__).with_name("directory.json")
_WORD = re.compile(r"[^\W_]+")


@attrs.frozen
class Listed:
    """A plugin that can be installed: its package, what it is for, and where to read of it.

    `offers` are its components, kind and name, where they are known. A `link` that is no address
    is a path in the repository of `cb`.
    """

    name: str
    what: str
    link: str = ""
    offers: tuple[tuple[str, str], ...] = ()

    @property
    def words(self) -> list[str]:
        """What it is found by, in small letters."""
        offered = [f"{kind} {name}" for kind, name in self.offers]
        return _WORD.findall(" ".join([self.name, self.what, *offered]).lower())


@functools.cache
def directory() -> tuple[Listed, ...]:
    """Every plugin on the list, in its order."""
    offers: dict[str, list[tuple[str, str]]] = {}
    for kind, name, package in known_offers():
        offers.setdefault(canonical(package), []).append((kind, name))
    entries: list[dict[str, str]] = json.loads(_LIST.read_text(encoding="utf-8"))
    return tuple(
        Listed(offers=tuple(offers.get(canonical(entry["name"]), ())), **entry) for entry in entries
    )


def search(text: str) -> list[Listed]:
    """The plugins that every word of a text is about, those named so first.

    A word counts where a word of the plugin begins with it; where none does, near misses do.
    """
    wanted = _WORD.findall(text.lower())
    found = [one for one in directory() if all(_has(one, word) for word in wanted)]
    if not found and wanted:
        known = sorted({word for one in directory() for word in one.words})
        meant = [near_matches(word, known, limit=1) for word in wanted]
        if all(meant):
            close = [word for words in meant for word in words]
            found = [one for one in directory() if all(_has(one, word) for word in close)]
    return sorted(found, key=lambda one: -len({*wanted} & {*_WORD.findall(one.name.lower())}))


def _has(listed: Listed, word: str) -> bool:
    return any(own.startswith(word) for own in listed.words)
