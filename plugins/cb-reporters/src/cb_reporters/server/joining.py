"""Two runs as one result, so that the page shows them side by side."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from cbcore import metrics_of
from cbcore.exceptions import ResultError
from cbcore.results import EvalResult, EvalRow, Joined, RowsBySystem, Texts

_MOST_ROWS = 200_000
"""Of both runs, for which metrics are asked again."""


def join_results(
    first: EvalResult, second: EvalResult, names: tuple[str, str], *, is_summed_up: bool = True
) -> EvalResult:
    """All rows of both, the systems of each called by its run's name as well.

    What compares systems is made anew, on the examples that both have: the baseline is the first
    system of the first run that leaves the context whole, or else its first system. Metrics are
    asked again where they can be made and the runs are not too large to wait for that. What is not
    to be `is_summed_up` has the numbers of each run alone, and none of its rows is read.
    """
    results = (first, second)
    renamed = [
        {system: f"{system} ({name})" for system in result.systems}
        for result, name in zip(results, names, strict=True)
    ]
    grouped = _merged([result.rows_by_system() for result in results], renamed)
    parts: dict[str, Sequence[EvalRow]] = {system: rows for system, rows in grouped.items() if rows}
    summary = _merged([result.summary for result in results], renamed)
    estimates = _merged([result.estimates for result in results], renamed)
    metrics = _metrics(first, second) if is_summed_up else []
    config: Any = {**first.config, "run_id": " and ".join(names), **_ending(results, names)}
    for kind in ("systems", "datasets", "evaluators"):
        config[kind] = _records(first, second, kind, renamed)
    found = EvalResult(
        rows=RowsBySystem([_Renamed(rows, system) for system, rows in parts.items()]),
        timing=_merged([result.timing for result in results], renamed),
        config=config,
        metrics=metrics,
        texts=_join_texts(results),
    )
    found.summarize(parts if is_summed_up else {})
    found.problems = [*first.problems, *second.problems]
    found.summary = {s: {**values, **found.summary.get(s, {})} for s, values in summary.items()}
    found.estimates = {**estimates, **{s: e for s, e in found.estimates.items() if e}}
    # For the page, which tells how each of them is made again.
    found.config = {  # type: ignore[typeddict-unknown-key]
        **(found.config if metrics else config),
        "compared": [result.config for result in results],
    }
    return found


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
    """The component records of both, each once, those of systems with their new names."""
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


@attrs.frozen(eq=False)
class _Renamed(Sequence[Any]):
    """The rows of one system, under another name."""

    rows: Sequence[EvalRow]
    name: str

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[EvalRow]:
        return map(self._rename, self.rows)

    def __getitem__(self, index: Any) -> Any:
        found = self.rows[index]
        return self._rename(found) if isinstance(found, EvalRow) else [*map(self._rename, found)]

    def _rename(self, row: EvalRow) -> EvalRow:
        return dataclasses.replace(row, system=self.name)


def _join_texts(results: Sequence[EvalResult]) -> Sequence[Texts] | None:
    """The texts behind the rows, system by system."""
    if all(result.texts is None for result in results):
        return None
    found: list[Sequence[Texts]] = []
    for result in results:
        if isinstance(result.texts, Joined):  # of a store, where they are read on demand
            found += result.texts.parts
            continue
        by_system: dict[str, list[Texts]] = {system: [] for system in result.systems}
        texts = result.texts or [Texts()] * len(result.rows)
        for row, text in zip(result.rows, texts, strict=True):
            by_system[row.system].append(text)
        found += by_system.values()
    return Joined(found)
