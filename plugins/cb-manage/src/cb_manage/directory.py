"""The directory of plugins that can be installed, and the components that each of them offers."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path

import attrs

from cbcore.names import canonical, near_matches

_PLUGINS = Path(__file__).with_name("directory.json")
_OFFERS = Path(__file__).with_name("known_plugins.json")
_WORD = re.compile(r"[^\W_]+")
_SEVERAL = re.compile(r"\s*(\[.*\]|[\d.]+\.\.[\d.]+(/[\d.]+)?)\s*")


@attrs.frozen
class DirectoryEntry:
    """A plugin that can be installed: its package, its purpose, and a page to read.

    `offers` are the kinds and names of its components, if they are known. A `link` that is not
    an address is a path in the repository of `cb`.
    """

    name: str
    what: str
    link: str = ""
    offers: tuple[tuple[str, str], ...] = ()

    @property
    def words(self) -> list[str]:
        """The words by which a search finds it, in lower case."""
        offered = [f"{kind} {name}" for kind, name in self.offers]
        return _WORD.findall(" ".join([self.name, self.what, *offered]).lower())


@functools.cache
def read_directory() -> tuple[DirectoryEntry, ...]:
    """Every plugin of the directory, in the order of the file."""
    entries: list[dict[str, str]] = json.loads(_PLUGINS.read_text(encoding="utf-8"))
    offers: dict[str, dict[str, list[str]]] = json.loads(_OFFERS.read_text(encoding="utf-8"))
    return tuple(
        DirectoryEntry(
            **entry,
            offers=tuple(
                (kind, name)
                for kind, names in offers.get(entry["name"], {}).items()
                for name in names
            ),
        )
        for entry in entries
    )


def list_offers() -> list[tuple[str, str, str]]:
    """The kind, name and package of every component in the directory."""
    return [(kind, name, entry.name) for entry in read_directory() for kind, name in entry.offers]


def find_packages(kind: str, name: str) -> list[str]:
    """The packages that offer a component called `name` or `package/name`.

    For the kind `plugin`, the package of that name; for `score`, those that describe the score;
    for `value`, those that take several values in place of one.
    """
    if kind == "value":
        return ["cb-sweeps"] if _SEVERAL.fullmatch(name) else []
    if kind == "plugin":
        return [e.name for e in read_directory() if canonical(e.name) == canonical(name)]
    if kind == "score":
        return [e.name for e in read_directory() if name in _WORD.findall(e.what.lower())]
    owner, _, bare = name.rpartition("/")
    return [
        package
        for known_kind, offered, package in list_offers()
        if known_kind == kind
        and canonical(offered) == canonical(bare)
        and canonical(owner) in ("", canonical(package))
    ]


def search_directory(text: str) -> list[DirectoryEntry]:
    """The plugins that match every word of a text; those with the words in their name first.

    A word matches the beginning of a plugin's words. If nothing matches, similar words count.
    """
    wanted = _WORD.findall(text.lower())
    matches = _find_entries(wanted)
    if not matches and wanted:
        known = sorted({word for entry in read_directory() for word in entry.words})
        similar = [near_matches(word, known, limit=1) for word in wanted]
        if all(similar):
            matches = _find_entries([word for words in similar for word in words])
    return sorted(matches, key=lambda entry: -len({*wanted} & {*_WORD.findall(entry.name.lower())}))


def _find_entries(words: list[str]) -> list[DirectoryEntry]:
    return [
        entry
        for entry in read_directory()
        if all(any(own.startswith(word) for own in entry.words) for word in words)
    ]
