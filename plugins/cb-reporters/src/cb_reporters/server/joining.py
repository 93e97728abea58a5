"""Two runs as one result, so that the page shows them side by side."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any

import attrs

from cbcore import metrics_of
from cbcore.exceptions import ResultError
from cbcore.results import (
    EvalResult,
    EvalRow,
    RowsBySystem,
    SearchableTexts,
    Texts,
    sum_up,
)

_MOST_ROWS = 200_000
"""Of both runs, for which metrics are asked again."""


def joined(
    first: EvalResult, second: EvalResult, names: tuple[str, str], *, summed_up: bool = True
) -> EvalResult:
    """All rows of both, the systems of each called by its run's name as well.

    What compares systems is made anew, on the examples that both have: the baseline is the first
    system of the first run that leaves the context whole, or else its first system. Metrics are
    asked again where they can be made and the runs are not too large to wait for that. What is not
    to be `summed_up` has the numbers of each run alone, and none of its rows is read.
    """
    results, score = (first, second), first.config.get("score_field")
    renamed = [
        {system: f"{system} ({name})" for system in result.systems}
        for result, name in zip(results, names, strict=True)
    ]
    grouped = [_by_system(result) for result in results]
    parts = {
        new[system]: rows
        for of_run, new in zip(grouped, renamed, strict=True)
        for system, rows in of_run.items()
    }
    summary = _merged([result.summary for result in results], renamed)
    estimates = _merged([result.estimates for result in results], renamed)
    metrics = _metrics(first, second) if summed_up else []
    config: Any = {**first.config, "run_id": " and ".join(names), **_ending(results, names)}
    for kind in ("systems", "datasets", "evaluators"):
        config[kind] = _records(first, second, kind, renamed)
    found = sum_up(parts if summed_up else {}, metrics, score, config=config)
    if metrics:
        config = found.mark_idle(config)
    # For the page, which tells how each of them is made again.
    config = {**config, "compared": [result.config for result in results]}
    return EvalResult(
        rows=_Rows([_Renamed(rows, system) for system, rows in parts.items()]),
        summary={
            system: {**values, **found.summary.get(system, {})}
            for system, values in summary.items()
        },
        timing=_merged([result.timing for result in results], renamed),
        config=config,
        problems=[*first.problems, *second.problems],
        estimates={**estimates, **{s: e for s, e in found.estimates.items() if e}},
        undecided=found.undecided,
        verdicts=found.verdicts,
        texts=_together([_texts_of(*of_run) for of_run in zip(results, grouped, strict=True)]),
    )


def _ending(results: Sequence[EvalResult], names: Sequence[str]) -> dict[str, Any]:
    """How far the runs are: what is said of the first that has not finished."""
    for result, name in zip(results, names, strict=True):
        state = result.config.get("state", "finished")
        if state != "finished":
            reason = result.config.get("state_reason")
            return {"state": state, "state_reason": f"{reason} ({name})" if reason else name}
    return {}


def _metrics(first: EvalResult, second: EvalResult) -> list[Any]:
    if len(first.rows) + len(second.rows) > _MOST_ROWS:
        return []
    try:
        return metrics_of(first.config)
    except ResultError:
        return []


def _merged(found: list[Any], renamed: list[dict[str, str]]) -> dict[str, Any]:
    return {
        new[system]: value
        for of_run, new in zip(found, renamed, strict=True)
        for system, value in of_run.items()
        if system in new
    }


def _records(
    first: EvalResult, second: EvalResult, kind: str, renamed: list[dict[str, str]]
) -> list[Any]:
    """What both record of their components, those of systems by their new names, each once."""
    found: list[Any] = []
    for result, new in zip((first, second), renamed, strict=True):
        recorded: Any = result.config.get(kind)
        for record in recorded or ():
            name = record.get("name")
            known = {**record, "name": new.get(name, name)} if kind == "systems" else record
            # What gave nothing to one run may have scored the other.
            active = {key: value for key, value in known.items() if key != "idle"}
            if known not in found and active not in found:
                found = [one for one in found if one != {**active, "idle": True}]
                found.append(known)
    return found


def _by_system(result: EvalResult) -> dict[str, Sequence[EvalRow]]:
    """The rows of each system; those of a kept run stay where they are until they are read."""
    rows = result.rows
    if isinstance(rows, RowsBySystem):
        return {part[0].system: part for part in rows.parts if part}
    found: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        found.setdefault(row.system, []).append(place)
    return {system: _Picked(rows, places) for system, places in found.items()}


class _Lazy(Sequence[Any]):
    """A sequence whose items are made when they are asked for."""

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self._item(i) for i in range(*index.indices(len(self)))]
        return self._item(range(len(self))[index])

    def _item(self, index: int) -> Any:
        raise NotImplementedError


@attrs.frozen(eq=False)
class _Picked(_Lazy):
    """Some of many, by their places."""

    items: Sequence[Any]
    places: Sequence[int]

    def __len__(self) -> int:
        return len(self.places)

    def _item(self, index: int) -> Any:
        return self.items[self.places[index]]


@attrs.frozen(eq=False)
class _Renamed(Sequence[Any]):
    """The rows of one system, under another name."""

    rows: Sequence[EvalRow]
    name: str

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[EvalRow]:
        return map(self._renamed, self.rows)

    def __getitem__(self, index: Any) -> Any:
        found = self.rows[index]
        return self._renamed(found) if isinstance(found, EvalRow) else [*map(self._renamed, found)]

    def _renamed(self, row: EvalRow) -> EvalRow:
        return EvalRow(self.name, *_others_of(row))


_others_of = attrgetter(*[field.name for field in dataclasses.fields(EvalRow)][1:])


@attrs.frozen(eq=False)
class _Joined(_Lazy):
    parts: Sequence[Sequence[Any]]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __iter__(self) -> Iterator[Any]:
        for part in self.parts:
            yield from part

    def _item(self, index: int) -> Any:
        for part in self.parts:
            if index < len(part):
                return part[index]
            index -= len(part)
        raise IndexError(index)


class _Rows(_Joined, RowsBySystem):
    """All rows, those of each system together."""


class _Texts(_Joined, SearchableTexts):
    """Texts of kept runs, which are searched as they are stored."""

    def places_with(self, term: str, holds: Callable[[Any], bool]) -> Iterator[int]:
        start = 0
        for part in self.parts:
            if isinstance(part, SearchableTexts):
                yield from (start + place for place in part.places_with(term, holds))
            start += len(part)


def _together(parts: Sequence[Sequence[Texts]]) -> Sequence[Texts]:
    are_stored = all(isinstance(part, SearchableTexts) for part in parts)
    return _Texts(parts) if are_stored else _Joined(parts)


@attrs.frozen(eq=False)
class _NoTexts(_Lazy):
    length: int

    def __len__(self) -> int:
        return self.length

    def _item(self, index: int) -> Texts:
        return Texts()


def _texts_of(result: EvalResult, parts: dict[str, Sequence[EvalRow]]) -> Sequence[Texts]:
    """The texts behind the rows, in the order of the parts."""
    if result.texts is None:
        return _NoTexts(len(result.rows))
    places = [
        place for part in parts.values() if isinstance(part, _Picked) for place in part.places
    ]
    return _Picked(result.texts, places) if places else result.texts
