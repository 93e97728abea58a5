"""Two runs as one result, so that the page shows them side by side."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from cbcore import metrics_of
from cbcore.exceptions import ResultError
from cbcore.results import NO_TEXTS, EvalResult, EvalRow, Texts, sum_up
from cbcore.runconfig import RunConfig

_MOST_ROWS = 200_000
"""Of both runs, for which metrics are asked again."""


def joined(first: EvalResult, second: EvalResult, names: tuple[str, str]) -> EvalResult:
    """All rows of both, the systems of each called by its run's name as well.

    What compares systems is made anew, on the examples that both have: the baseline is the first
    system of the first run that leaves the context whole, or else its first system. Metrics are
    asked again where they can be made and the runs are not too large to wait for that.
    """
    results, score = (first, second), first.config.get("score_field")
    renamed = [
        {system: f"{system} ({name})" for system in result.systems}
        for result, name in zip(results, names, strict=True)
    ]
    rows = [_Renamed(result.rows, new) for result, new in zip(results, renamed, strict=True)]
    grouped = {
        new[system]: _OfSystem(of_run, new[system])
        for of_run, new in zip(rows, renamed, strict=True)
        for system in new
    }
    found = sum_up(grouped, _metrics(first, second), score)
    summary = _merged([result.summary for result in results], renamed)
    estimates = _merged([result.estimates for result in results], renamed)
    config: RunConfig = {**first.config, "run_id": " and ".join(names)}
    for kind in ("systems", "datasets", "evaluators"):
        config[kind] = _records(first, second, kind, renamed)
    return EvalResult(
        rows=_Joined(rows),
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
        texts=_Joined([_texts_of(result) for result in results]),
    )


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
            if known not in found:
                found.append(known)
    return found


class _Lazy(Sequence[Any]):
    """A sequence whose items are made when they are asked for."""

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self._item(i) for i in range(*index.indices(len(self)))]
        return self._item(range(len(self))[index])

    def _item(self, index: int) -> Any:
        raise NotImplementedError


@attrs.frozen(eq=False)
class _Renamed(_Lazy):
    rows: Sequence[EvalRow]
    names: dict[str, str]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[EvalRow]:
        return map(self._renamed, self.rows)

    def _item(self, index: int) -> EvalRow:
        return self._renamed(self.rows[index])

    def _renamed(self, row: EvalRow) -> EvalRow:
        return attrs.evolve(row, system=self.names.get(row.system, row.system))


@attrs.frozen(eq=False)
class _OfSystem(_Lazy):
    """The rows of one system, which stand together in a run."""

    rows: Sequence[EvalRow]
    system: str
    _length: list[int] = attrs.Factory(list)

    def __len__(self) -> int:
        if not self._length:
            self._length.append(sum(1 for _ in self))
        return self._length[0]

    def __iter__(self) -> Iterator[EvalRow]:
        return (row for row in self.rows if row.system == self.system)

    def _item(self, index: int) -> EvalRow:
        row: EvalRow = next(itertools.islice(self, index, None))
        return row


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


@attrs.frozen(eq=False)
class _NoTexts(_Lazy):
    length: int

    def __len__(self) -> int:
        return self.length

    def _item(self, index: int) -> Texts:
        return NO_TEXTS


def _texts_of(result: EvalResult) -> Sequence[Texts]:
    return _NoTexts(len(result.rows)) if result.texts is None else result.texts
