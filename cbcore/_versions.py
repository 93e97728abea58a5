"""Just enough of version specifiers to know whether a plugin supports this core.

Only the plugin's own requirement on `cbcore` is ever checked here, for every installed plugin
on every start, so this avoids importing a packaging library.
"""

from __future__ import annotations

import re

_RELEASE = re.compile(r"v?(?:\d+!)?(?P<release>\d+(?:\.\d+)*)(?P<rest>.*)", re.IGNORECASE)
_CLAUSE = re.compile(r"(?P<operator>~=|===?|!=|<=|>=|<|>)\s*(?P<version>[^\s,]+)")
_PRE_RELEASE = re.compile(r"[-_.]?(a|b|c|rc|alpha|beta|pre|preview|dev)", re.IGNORECASE)


def satisfies(version: str, specifier: str) -> bool:
    """Whether `version` meets every clause of a specifier such as `>=0.1,<0.2`."""
    return all(
        _meets(version, match["operator"], match["version"])
        for match in _CLAUSE.finditer(specifier)
    )


def _meets(version: str, operator: str, wanted: str) -> bool:
    if operator in ("==", "!=", "===") and wanted.endswith(".*"):
        prefix = _release(wanted[:-2])
        equal = _padded(_release(version), len(prefix))[: len(prefix)] == prefix
        return equal is (operator != "!=")
    mine, theirs = _key(version), _key(wanted)
    if operator == "~=":
        prefix = _release(wanted)[:-1]
        return mine >= theirs and _padded(_release(version), len(prefix))[: len(prefix)] == prefix
    return {
        "==": mine == theirs,
        "===": version == wanted,
        "!=": mine != theirs,
        ">=": mine >= theirs,
        "<=": mine <= theirs,
        ">": mine > theirs,
        # A pre-release of the excluded version is excluded with it.
        "<": mine < theirs and _release(version) != _release(wanted),
    }[operator]


def _release(version: str) -> tuple[int, ...]:
    match = _RELEASE.match(version.strip())
    numbers = [int(part) for part in match["release"].split(".")] if match else [0]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _padded(release: tuple[int, ...], length: int) -> tuple[int, ...]:
    return release + (0,) * (length - len(release))


def _key(version: str) -> tuple[tuple[int, ...], int]:
    match = _RELEASE.match(version.strip())
    is_pre = bool(match and _PRE_RELEASE.match(match["rest"]))
    return _padded(_release(version), 6), 0 if is_pre else 1
