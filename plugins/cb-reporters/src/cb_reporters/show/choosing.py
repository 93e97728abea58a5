"""Which examples of a run are looked at. Rows are gone through, never all kept."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence

from cbcore.exceptions import UsageError
from cbcore.names import hint
from cbcore.results import EvalResult, EvalRow, Example

Key = tuple[str, str | int, int]


Chosen = tuple[list[Key], int]
"""Examples in the order to be shown, and the number of examples that fit."""


def find_system(result: EvalResult, name: str) -> str:
    """The system of that name, or the only one whose name has this in it."""
    systems = list(result.summary) or result.systems
    if name in systems:
        return name
    fitting = [system for system in systems if name.lower() in system.lower()]
    if len(fitting) == 1:
        return fitting[0]
    several = f"several systems have {name!r} in their names: {', '.join(fitting)}"
    raise UsageError(
        several if fitting else f"no system of this run is called {name!r}",
        hint=hint(name, systems, f"its systems: {', '.join(systems)}"),
    )


def by_id(result: EvalResult, text: str, dataset: str | None) -> Chosen:
    """The examples with this id, which several datasets or repeats may have."""
    found = dict.fromkeys(
        _key(row)
        for row in result.rows
        if str(row.example_id) == text and dataset in (None, row.dataset)
    )
    if not found:
        known = list(dict.fromkeys(str(row.example_id) for row in result.rows))
        few = ", ".join(known[:5]) + (" …" if known[5:] else "")
        raise UsageError(
            f"no example of this run has the id {text!r}",
            hint=hint(text, known[:10_000], f"its examples: {few}") if known else None,
        )
    return list(found), len(found)


def first(result: EvalResult, count: int, keep: Callable[[EvalRow], bool]) -> Chosen:
    """The first examples with a row that fits, in the order of the run."""
    found = dict.fromkeys(_key(row) for row in result.rows if keep(row))
    return list(found)[:count], len(found)


def worst(result: EvalResult, count: int, score: str, keep: Callable[[EvalRow], bool]) -> Chosen:
    """The examples whose rows have the lowest scores, lowest first."""
    scored = (
        (row.scores[score], position, _key(row))
        for position, row in enumerate(result.rows)
        if row.error is None and score in row.scores and keep(row)
    )
    return _lowest(scored, count)


def lost(
    result: EvalResult,
    count: int,
    score: str,
    loser: str,
    keeper: str,
    dataset: str | None = None,
) -> Chosen:
    """The examples on which one system scores less than another, by how much."""
    by_system: dict[str, dict[Key, float]] = {loser: {}, keeper: {}}
    for row in result.rows:
        is_asked_for = row.system in by_system and dataset in (None, row.dataset)
        if is_asked_for and row.error is None and score in row.scores:
            by_system[row.system].setdefault(_key(row), row.scores[score])
    losses = (
        (value - by_system[keeper][key], position, key)
        for position, (key, value) in enumerate(by_system[loser].items())
        if value < by_system[keeper].get(key, value)
    )
    return _lowest(losses, count)


def _lowest(measured: Iterable[tuple[float, int, Key]], count: int) -> Chosen:
    """The examples with the lowest values. An example counts once, by its lowest."""
    by_key: dict[Key, tuple[float, int]] = {}
    for value, position, key in measured:
        by_key[key] = min(by_key.get(key, (value, position)), (value, position))
    lowest = heapq.nsmallest(count, by_key, key=by_key.__getitem__)
    return lowest, len(by_key)


def read_examples(result: EvalResult, keys: Sequence[Key]) -> Iterator[Example]:
    """These examples with the rows of all systems, in this order."""
    places: dict[Key, dict[str, int]] = {key: {} for key in keys}
    for position, row in enumerate(result.rows):
        if (same := places.get(_key(row))) is not None:
            same.setdefault(row.system, position)
    for key in keys:
        rows = {system: result.rows[position] for system, position in places[key].items()}
        yield Example(*key, rows, places[key], result.texts)


def _key(row: EvalRow) -> Key:
    return row.dataset, row.example_id, row.repeat
