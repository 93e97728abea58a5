"""How components and plugins are named, compared and suggested."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable

__all__ = ("canonical", "hint", "is_valid", "near_matches", "plural")

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?\Z")
_SEPARATORS = re.compile(r"[-_.]+")


@functools.lru_cache(maxsize=4096)  # a start compares the same few hundred names again and again
def canonical(name: str) -> str:
    """The form in which names are compared: lower case, runs of `-`, `_` and `.` as one hyphen."""
    return _SEPARATORS.sub("-", name).lower()


def is_valid(name: str) -> bool:
    """Lower-case letters, digits, hyphens, underscores and dots, starting and ending alphanumeric."""
    return _NAME.match(name) is not None


def plural(word: str) -> str:
    """The plural of an English noun of the regular kinds: `systems`, `memories`."""
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}s"


def singular(word: str) -> str:
    """The noun that a plural is of; what is none stays as it is."""
    return f"{word[:-3]}y" if word.endswith("ies") else word.removesuffix("s")


def near_matches(name: str, known: Iterable[str], *, limit: int = 3) -> list[str]:
    """The known names closest to a misspelt one, best first."""
    from difflib import get_close_matches  # costs 3 ms, and only errors need it

    by_canonical = {canonical(candidate): candidate for candidate in known}
    wanted = canonical(name)
    close = get_close_matches(wanted, by_canonical, n=limit, cutoff=0.6)
    contained = [key for key in sorted(by_canonical) if wanted and wanted in key]
    return [by_canonical[key] for key in dict.fromkeys([*close, *contained])][:limit]


def hint(
    word: str,
    known: Iterable[str],
    otherwise: str = "",
    *,
    most: int = 1,
    lead: str = "",
    shown: Callable[[str], str] = str,
) -> str:
    """A question whether one of the known names was meant; `otherwise` if none is similar.

    At most `most` names are suggested, as `suggest` does.
    """
    return suggest(near_matches(word, known, limit=most), lead=lead, shown=shown) or otherwise


def suggest(
    near: Iterable[str], *, lead: str = "", shown: Callable[[str], str] = str, then: str = ""
) -> str:
    """A question whether one of some names was meant, behind `lead`; empty without names.

    Each name is written as `shown` returns it. `then` follows the question, or stands alone.
    """
    listed = [shown(name) for name in near]
    if not listed:
        return then
    did = "Did" if lead.endswith(". ") else "did"
    return f"{lead}{did} you mean {' or '.join(listed)}?{' ' if then else ''}{then}"
