"""Answers to queries: which examples fit, in which order, and one page of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

import attrs

from cb_reporters.page.index import ERROR, MISSING, SCORED, ExampleIndex
from cb_reporters.page.query import Found, Query
from cb_reporters.page.searching import find_places
from cbcore.exceptions import UsageError
from cbcore.results import EvalResult

_STATES = {"scored": SCORED, "missing": MISSING, "error": ERROR}

Search: TypeAlias = Callable[[Sequence[str]], "set[int]"]
"""Finds the examples in whose texts every one of these terms, in lower case, occurs."""


def find(
    index: ExampleIndex,
    query: Query,
    result: EvalResult | None = None,
    search: Search | None = None,
) -> Found:
    """Answer a query. Texts are those of `result`; a `search` may know them by better means.

    `UsageError` for a system, dataset or score that the rows do not have.
    """
    _check(index, query)
    fitting = _Fitting.of(index, query)
    found: Iterable[int] = fitting.examples()
    if query.terms:
        hits = (search or Scan(index, result))(query.terms)
        found = (example for example in found if example in hits)
    ordered = _ordered(index, list(found), query)
    offset = query.offset
    if query.around is not None and query.around in ordered:
        place = ordered.index(query.around)
        offset = place - place % query.limit
    page = ordered[offset : offset + query.limit]
    texts = None if result is None else result.texts
    lines = [index.line(example, query.score, texts) for example in page]
    return Found(len(ordered), offset, lines)


def _check(index: ExampleIndex, query: Query) -> None:
    known = (
        ("system", query.system, index.systems),
        ("system", query.against, index.systems),
        ("dataset", query.dataset, index.datasets),
        ("score", query.score, index.scores),
    )
    for kind, name, names in known:
        if name is not None and name not in names:
            raise UsageError(f"no row has the {kind} {name!r}")
    if query.outcome and query.against is None:
        raise UsageError(f"outcome={query.outcome!r} needs 'against', the system to compare to")


@attrs.frozen
class _Fitting:
    """Which examples pass the filters; names of the query are numbers of the index here."""

    index: ExampleIndex
    query: Query
    score: str | None
    system: int | None
    against: int | None
    dataset: int | None

    @classmethod
    def of(cls, index: ExampleIndex, query: Query) -> _Fitting:
        return cls(
            index=index,
            query=query,
            score=query.score or index.main_score,
            system=None if query.system is None else index.systems[query.system],
            against=None if query.against is None else index.systems[query.against],
            dataset=None if query.dataset is None else index.datasets[query.dataset],
        )

    def examples(self) -> Iterator[int]:
        query = self.query
        asked = (query.system, query.status, query.outcome, query.low, query.high)
        about_rows = any(value is not None for value in asked)
        for example, (dataset, _, _) in enumerate(self.index.keys):
            if self.dataset in (None, dataset) and (not about_rows or self._fits(example)):
                yield example

    def _fits(self, example: int) -> bool:
        rows = self.index.rows_by_system(example)
        other = rows.get(-1 if self.against is None else self.against)
        theirs = None if other is None else self.index.value(other, self.score)
        return any(
            self._row_fits(position, theirs)
            for system, position in rows.items()
            if self.system in (None, system)
        )

    def _row_fits(self, position: int, theirs: float | None) -> bool:
        query, value = self.query, self.index.value(position, self.score)
        state = self.index.state(position, self.score)
        if query.status is not None and state != _STATES[query.status]:
            return False
        if query.low is not None and (value is None or value < query.low):
            return False
        if query.high is not None and (value is None or value > query.high):
            return False
        if query.outcome is None:
            return True
        if value is None or theirs is None:
            return False
        return query.outcome == (
            "same" if value == theirs else "better" if value > theirs else "worse"
        )


def _ordered(index: ExampleIndex, examples: list[int], query: Query) -> list[int]:
    if query.sort == "order":
        return examples[::-1] if query.descending else examples
    sign = -1 if query.descending else 1
    keys = {example: _sorted_by(index, example, query) for example in examples}

    def place(example: int) -> tuple[bool, float]:
        key = keys[example]
        return key is None, sign * (key or 0.0)

    return sorted(examples, key=place)


def _sorted_by(index: ExampleIndex, example: int, query: Query) -> float | None:
    """The mean over the rows that are asked about, or the difference; None without a value."""
    score = query.score or index.main_score
    rows = index.rows_by_system(example)
    against = rows.get(index.systems.get(query.against or "", -1))
    if query.system is not None:
        mine = rows.get(index.systems[query.system])
        rows = {} if mine is None else {index.systems[query.system]: mine}
    if query.sort in ("score", "difference"):
        values = [index.value(position, score) for position in rows.values()]
    else:
        column = index.output_tokens if query.sort == "tokens" else index.latency
        values = [None if index.errored[p] else float(column[p]) for p in rows.values()]
    present = [value for value in values if value is not None]
    if not present:
        return None
    if query.sort != "difference":
        return sum(present) / len(present)
    if query.system is None:
        return max(present) - min(present)
    theirs = None if against is None else index.value(against, score)
    return None if theirs is None else present[0] - theirs


@attrs.frozen
class Scan:
    """A search in the texts of every example: its own, and those of its outputs and rows."""

    index: ExampleIndex
    result: EvalResult | None

    def __call__(self, terms: Sequence[str]) -> set[int]:
        return set.intersection(*map(self._find_examples, terms))

    def _find_examples(self, term: str) -> set[int]:
        places = set() if self.result is None else set(find_places(self.result, term))
        return {
            example
            for example, positions in enumerate(self.index.rows_of)
            if any(self.index.where(position) in places for position in positions)
        }
