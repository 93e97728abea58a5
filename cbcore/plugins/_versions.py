"""Just enough of version specifiers to know whether a plugin supports this core.

Only the plugin's own requirement on `cbcore` is ever checked here, for every installed plugin
on every start, so this avoids importing a packaging library.
"""

from __future__ import annotations

import re

_VERSION = re.compile(
    r"v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<pre>alpha|a|beta|b|preview|pre|c|rc)[-_.]?(?P<pre_n>\d*))?"
    r"(?P<post>(?:[-_.]?(?:post|rev|r)[-_.]?|-)(?P<post_n>\d*))?"
    r"(?:[-_.]?(?P<dev>dev)[-_.]?(?P<dev_n>\d*))?",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"\s*(?P<operator>~=|===?|!=|<=|>=|<|>)\s*(?P<version>[^\s,]+)\s*")
_LOCAL = re.compile(r"\+[a-z0-9]+(?:[-_.][a-z0-9]+)*\Z", re.IGNORECASE)
_PRE_RANK = {"alpha": 1, "a": 1, "beta": 2, "b": 2, "preview": 3, "pre": 3, "c": 3, "rc": 3}
_FINAL = 4


def satisfies(version: str, specifier: str) -> bool:
    """Whether `version` meets every clause of a specifier such as `>=0.1,<0.2`.

    A clause that cannot be read is met by no version.
    """
    clauses = [clause for clause in specifier.split(",") if clause.strip()]
    return all(
        match is not None and _meets(version, match["operator"], match["version"])
        for match in map(_CLAUSE.fullmatch, clauses)
    )


def _meets(version: str, operator: str, wanted: str) -> bool:
    is_prefix = operator in ("==", "!=") and wanted.endswith(".*")
    if operator != "===" and not _is_version(wanted[:-2] if is_prefix else wanted):
        return False
    if is_prefix:
        return _starts_with(version, _release(wanted[:-2])) is (operator == "==")
    mine, theirs = _key(version), _key(wanted)
    if operator == "~=":
        return mine >= theirs and _starts_with(version, _release(wanted)[:-1])
    is_final = not _is_pre(wanted) and not _is_post(wanted)
    return {
        "==": mine == theirs,
        "===": version == wanted,
        "!=": mine != theirs,
        ">=": mine >= theirs,
        "<=": mine <= theirs,
        # Unless it is asked for, a post-release does not count as later than its version, nor a
        # pre-release as earlier.
        ">": mine > theirs and not (mine[:3] == theirs[:3] and _is_post(version) and is_final),
        "<": mine < theirs and not (mine[:2] == theirs[:2] and _is_pre(version) and is_final),
    }[operator]


def _is_version(text: str) -> bool:
    return _VERSION.fullmatch(_LOCAL.sub("", text)) is not None


def _match(version: str) -> re.Match[str] | None:
    return _VERSION.match(version.strip())


def _release(version: str) -> tuple[int, ...]:
    """Epoch and release numbers, as many as are written."""
    match = _match(version)
    if match is None:
        return (0, 0)
    return int(match["epoch"] or 0), *(int(part) for part in match["release"].split("."))


def _starts_with(version: str, prefix: tuple[int, ...]) -> bool:
    return (_release(version) + (0,) * len(prefix))[: len(prefix)] == prefix


def _is_pre(version: str) -> bool:
    match = _match(version)
    return bool(match and (match["pre"] or match["dev"]))


def _is_post(version: str) -> bool:
    match = _match(version)
    return bool(match and match["post"])


def _key(version: str) -> tuple[int, tuple[int, ...], tuple[int, int], int, tuple[int, int]]:
    """What versions are ordered by: epoch, release, pre-release, post-release, development."""
    match = _match(version)
    if match is None:
        return 0, (0,), (_FINAL, 0), -1, (1, 0)
    epoch, *numbers = _release(version)
    release = tuple(numbers)
    while len(release) > 1 and release[-1] == 0:
        release = release[:-1]
    pre = (
        (_PRE_RANK[match["pre"].lower()], int(match["pre_n"] or 0)) if match["pre"] else (_FINAL, 0)
    )
    post = int(match["post_n"] or 0) if match["post"] else -1
    dev = (0, int(match["dev_n"] or 0)) if match["dev"] else (1, 0)
    if match["dev"] and not match["pre"] and not match["post"]:
        pre = (0, 0)  # 1.0.dev1 comes before 1.0a1
    return epoch, release, pre, post, dev
