"""Why rows failed: errors and missing scores, grouped by what they have in common."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import attrs

if TYPE_CHECKING:
    from cbcore.results import EvalRow

__all__ = ("Cause", "Causes", "causes_of")

TRACEBACK = "traceback"
"""Where the metadata of a row has the traceback of what failed."""

RETURNED = "the evaluator returned"
"""How the reason for a missing score begins if an evaluator returned something else."""

_VARYING = re.compile(
    r"(?P<code>\b(?:status|code|errno|http|signal|version)\b[^\w\s]*\s?[^\w\s]*\d+)"
    r"|0x[0-9a-f]+"  # where an object was
    r"|\b(?=[0-9a-f-]*\d)[0-9a-f]{8}[0-9a-f-]*\b"  # digests and ids of requests
    r"|\d+\.\d+|\d{4,}"  # times, sizes and counts
    # and smaller ones that are words of their own; what may be the status of an endpoint only before a noun
    r"|(?<![\w.-])(?:[45]\d\d(?=\s[a-z]+s\b)|(?![45]\d\d)\d{1,3})(?![\w.-])",
    re.IGNORECASE,
)
"""Parts that differ from row to row. A code is kept, as it says what happened."""


_COMPARED = 600
"""Characters of a reason that are compared; reports show no more."""

_TELLING = 3
"""Characters of an id that is not in a reason by chance; a number may be a status."""


@attrs.define
class Cause:
    """One reason for which rows failed, in the words of the first of them.

    `kind` is `error`, or `missing` if a row has an output but not `score`. `systems` counts the
    rows of each system that failed so, in the order they were met. `dataset`, `example_id` and
    `system` name the first row; `traceback` is that row's, empty if it has none.
    """

    kind: Literal["error", "missing"]
    score: str
    reason: str
    system: str
    dataset: str
    example_id: str | int
    traceback: str
    systems: dict[str, int] = attrs.Factory(dict)

    @property
    def count(self) -> int:
        """The number of rows that failed so."""
        return sum(self.systems.values())

    @property
    def is_failure(self) -> bool:
        """Whether code failed: a score can also be missing for a reason that its evaluator gives."""
        return self.kind == "error" or bool(self.traceback) or self.reason.startswith(RETURNED)


def causes_of(rows: Iterable[EvalRow], score: str | None = None) -> list[Cause]:
    """The reasons for which rows failed, or lack a score, most frequent first.

    With `score`, only that one counts as missing; otherwise any. Reasons that differ only in the
    example they name, an address, a digest, a time or a count are one; reasons with different status codes are not.
    """
    causes = Causes(score)
    for row in rows:
        causes.add(row)
    return causes.group()


class Causes:
    """The causes of rows that come one after another, as `causes_of` gives them."""

    def __init__(self, score: str | None = None) -> None:
        self._score = score
        self._exact: dict[tuple[str, str, str], Cause] = {}

    def add(self, row: EvalRow) -> None:
        """Take the next row."""
        if row.error is not None:
            self._count(row, "error", "", row.error)
            return
        for name, why in row.missing.items():
            if self._score is None or name == self._score:
                self._count(row, "missing", name, why)

    def _count(
        self, row: EvalRow, kind: Literal["error", "missing"], score: str, reason: str
    ) -> None:
        cause = self._exact.get((kind, score, reason))
        if cause is None:
            text = row.metadata.get(TRACEBACK)
            traceback = text if isinstance(text, str) else ""
            where = (row.system, row.dataset, row.example_id)
            cause = self._exact[kind, score, reason] = Cause(kind, score, reason, *where, traceback)
        cause.systems[row.system] = cause.systems.get(row.system, 0) + 1

    def group(self) -> list[Cause]:
        """The causes until now, most frequent first. Similar reasons are one."""
        found: dict[tuple[str, str, str], Cause] = {}
        for (kind, score, reason), cause in self._exact.items():
            key = (kind, score, alike(reason, cause.example_id))
            if key not in found:
                found[key] = attrs.evolve(cause, systems={})
            systems = found[key].systems
            for system, count in cause.systems.items():
                systems[system] = systems.get(system, 0) + count
        return sorted(found.values(), key=lambda cause: -cause.count)


def alike(reason: str, example_id: str | int) -> str:
    """A reason without what differs from row to row."""
    reason = reason[:_COMPARED].replace(f"example {example_id!r}", "example")
    is_mixed = str(example_id).isalnum() and not str(example_id).isalpha()  # such as q7
    is_telling = is_mixed or len(str(example_id)) >= _TELLING
    is_name = isinstance(example_id, str) and not example_id.isdigit() and example_id in reason
    if is_name and is_telling:
        reason = re.sub(rf"(?<!\w){re.escape(str(example_id))}(?!\w)", "…", reason)
    return _VARYING.sub(lambda found: found["code"] or "…", reason)
