"""How components and plugins are named, compared and suggested."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?\Z")
_SEPARATORS = re.compile(r"[-_.]+")


def canonical(name: str) -> str:
    """The form in which names are compared: lower case, runs of `-`, `_` and `.` as one hyphen."""
    return _SEPARATORS.sub("-", name).lower()


def is_valid(name: str) -> bool:
    """Lower-case letters, digits, hyphens, underscores and dots, starting and ending alphanumeric."""
    return _NAME.match(name) is not None


def near_matches(name: str, known: Iterable[str], *, limit: int = 3) -> list[str]:
    """The known names closest to a misspelt one, best first."""
    from difflib import get_close_matches  # costs 3 ms, and only errors need it

    by_canonical = {canonical(candidate): candidate for candidate in known}
    wanted = canonical(name)
    close = get_close_matches(wanted, by_canonical, n=limit, cutoff=0.6)
    contained = [key for key in sorted(by_canonical) if wanted and wanted in key]
    return [by_canonical[key] for key in dict.fromkeys([*close, *contained])][:limit]
