"""Why rows failed or lack a score: each distinct cause with its count and one example."""

from __future__ import annotations

import re
from collections.abc import Iterable

import attrs

from cbcore.results import EvalRow

_VARYING = re.compile(r"0x[0-9a-f]+|\d+(?:[.,:]\d+)*|'[^']*'|\"[^\"]*\"", re.IGNORECASE)


@attrs.define
class Cause:
    """One reason, as its first row tells it. Rows that differ only in numbers, quoted texts or
    the name of the example have the same."""

    score: str | None
    reason: str
    example: EvalRow
    count: int = 0
    systems: dict[str, int] = attrs.Factory(dict)


def causes_of(rows: Iterable[EvalRow]) -> tuple[list[Cause], list[Cause]]:
    """The causes of errors and those of missing scores, the most frequent first."""
    errors: dict[tuple[str | None, str], Cause] = {}
    missing: dict[tuple[str | None, str], Cause] = {}
    for row in rows:
        if row.error is not None:
            _count(errors, None, row.error, row)
            continue
        for score, reason in row.missing.items():
            _count(missing, score, reason, row)
    return _by_count(errors.values()), _by_count(missing.values())


def _count(
    found: dict[tuple[str | None, str], Cause], score: str | None, reason: str, row: EvalRow
) -> None:
    # Only the beginning can tell causes apart; what follows may be a whole response.
    same = _VARYING.sub("…", reason[:400].replace(str(row.example_id), "…"))
    cause = found.setdefault((score, same), Cause(score, reason, row))
    cause.count += 1
    cause.systems[row.system] = cause.systems.get(row.system, 0) + 1


def _by_count(causes: Iterable[Cause]) -> list[Cause]:
    return sorted(causes, key=lambda cause: -cause.count)
