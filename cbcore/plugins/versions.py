"""Whether a version meets a requirement such as `>=0.1,<0.2`.

Every start checks the requirement of each plugin on the core, so this does not import a
packaging library. It covers release numbers and pre-releases, which is what plugins state.
"""

from __future__ import annotations

import re

_VERSION = re.compile(r"v?(?P<release>\d+(?:\.\d+)*)(?P<rest>.*)", re.IGNORECASE)
_PRE_RELEASE = re.compile(
    r"[-_.]?(?P<phase>a|b|c|rc|alpha|beta|pre|preview|dev)[-_.]?(?P<number>\d*)", re.IGNORECASE
)
_PHASES = {"dev": 0, "a": 1, "alpha": 1, "b": 2, "beta": 2}
_RELEASE_CANDIDATE, _FINAL = 3, 4
_CLAUSE = re.compile(r"\s*(?P<operator>~=|===?|!=|<=|>=|<|>)\s*(?P<version>[^\s,]+)\s*")


def satisfies(version: str, specifier: str) -> bool:
    """Whether `version` meets every clause. A clause that cannot be read is met by no version."""
    clauses = [clause for clause in specifier.split(",") if clause.strip()]
    return all(
        match is not None and _meets(version, match["operator"], match["version"])
        for match in map(_CLAUSE.fullmatch, clauses)
    )


def _meets(version: str, operator: str, wanted: str) -> bool:
    mine, theirs = _sort_key(version), _sort_key(wanted.removesuffix(".*"))
    if mine is None or theirs is None:
        return False
    if wanted.endswith(".*"):
        is_prefix = _starts_with(version, wanted.removesuffix(".*"))
        return is_prefix is (operator == "==")
    if operator == "~=":
        return mine >= theirs and _starts_with(version, wanted.rpartition(".")[0])
    is_earlier_pre_release = mine[0] == theirs[0] and theirs[1] == _FINAL  # `<1.0`: not 1.0rc1
    return {
        "==": mine == theirs,
        "===": version == wanted,
        "!=": mine != theirs,
        ">=": mine >= theirs,
        "<=": mine <= theirs,
        ">": mine > theirs,
        "<": mine < theirs and not is_earlier_pre_release,
    }[operator]


def _sort_key(version: str) -> tuple[tuple[int, ...], int, int] | None:
    """Release numbers without trailing zeros, phase of a pre-release, and its number."""
    match = _VERSION.fullmatch(version.strip())
    if match is None:
        return None
    numbers = [int(part) for part in match["release"].split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    pre = _PRE_RELEASE.match(match["rest"])
    if pre is None:
        return tuple(numbers), _FINAL, 0
    phase = _PHASES.get(pre["phase"].lower(), _RELEASE_CANDIDATE)
    return tuple(numbers), phase, int(pre["number"] or 0)


def _starts_with(version: str, prefix: str) -> bool:
    match = _VERSION.fullmatch(version.strip())
    wanted = [int(part) for part in prefix.split(".") if part.isdigit()]
    numbers = [int(part) for part in match["release"].split(".")] if match else []
    return (numbers + [0] * len(wanted))[: len(wanted)] == wanted
