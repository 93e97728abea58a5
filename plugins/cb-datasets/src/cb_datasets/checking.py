"""Holding real data against what is expected of it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import attrs

from cb_datasets.loading import BenchmarkDataset
from cb_datasets.mapping import asked_text
from cbcore.exceptions import DataError
from cbcore.registry import load_dataset
from cbcore.specs import Spec

_GOLDS = ("answer", "tests", "instruction_id_list", "answer_calls", "label")
"""Any one of these is something to score against."""

MOST_PROBLEMS = 20
"""Problems beyond this number are counted, not told."""


@attrs.define
class CheckReport:
    """The result of a check. `problems` is empty if the data is as it should be."""

    name: str
    source: str
    split: str
    tasks: list[str]
    n_rows: int = 0
    n_examples: int = 0
    n_with_context: int = 0
    n_with_own_context: int = 0
    n_with_gold: int = 0
    seconds: float = 0.0
    n_problems: int = 0
    problems: list[str] = attrs.Factory(list)

    @property
    def ok(self) -> bool:
        return not self.n_problems

    def add(self, problem: str) -> None:
        """Count a problem, and keep it while there are few."""
        self.n_problems += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)


def check(spec: str, *, data_dir: str | Path | None = None, n: int | None = None) -> CheckReport:
    """Read the first `n` rows of a dataset, or all, and say what is wrong with them.

    Datasets of the table are compared with it: the fields of every row, and what becomes of
    them. Those of other plugins are read as examples. Raises `CBError` when nothing can be
    read at all, such as for a config or a file that is not there.
    """
    parsed = Spec.parse_dataset(spec)
    given = {} if data_dir is None else {"data_dir": str(data_dir)}
    loaded = load_dataset(spec, **given)
    report = CheckReport(
        name=parsed.default_label,
        source=_source(parsed, given),
        split=str(getattr(loaded, "split", "")),
        tasks=list(getattr(loaded, "tasks", ())),
    )
    started = time.perf_counter()
    of_table = isinstance(loaded, BenchmarkDataset)
    examples = (_from_table if of_table else _readable)(loaded, report, n)
    _look_at(examples, report, _wanted(loaded))
    report.seconds = time.perf_counter() - started
    if not report.n_rows and report.ok:
        report.add("there are no rows")
    return report


def _wanted(loaded: Any) -> list[str]:
    """Fields that every example needs. Datasets of others only need a gold."""
    if not isinstance(loaded, BenchmarkDataset):
        return ["gold"]
    entry = loaded.benchmark
    if entry.tasks == ("multi-turn",):
        return ["turns", "context"]
    wanted = ["question", "context", *(["own context"] if entry.context == "all" else [])]
    return wanted if loaded.split in entry.unlabelled else [*wanted, "gold"]


def _source(parsed: Spec, given: Mapping[str, Any]) -> str:
    if parsed.config == "sample":
        return "the package"
    where = given.get("data_dir") or parsed.params.get("data_dir")
    return str(where) if where else "CB_DATA_DIR or the hub"


def _from_table(
    loaded: BenchmarkDataset, report: CheckReport, n: int | None
) -> Iterator[dict[str, Any]]:
    """The examples of each row on its own, so that one bad row does not hide the others."""
    wanted = loaded.benchmark.source_fields()
    for number, row in enumerate(_readable(loaded.rows(), report, n)):
        lacking = [field for field in wanted if field not in row]
        if lacking:
            has = ", ".join(map(str, row))
            report.add(f"row {number} has no {', '.join(map(repr, lacking))} (it has {has})")
            continue
        try:
            for example in loaded.examples_of(row, number):
                if isinstance(example, DataError):
                    report.add(example.message)
                else:
                    yield example
        except DataError as error:
            report.add(error.message)


def _readable(rows: Iterable[Any], report: CheckReport, n: int | None) -> Iterator[Any]:
    """The rows, counted; where reading itself fails, what is behind that place is unknown."""
    try:
        for row in islice(rows, n):
            if isinstance(row, DataError):
                report.add(row.message)
                continue
            report.n_rows += 1
            yield row
    except DataError as error:
        if not report.n_rows:
            raise
        report.add(error.message)


def _look_at(
    examples: Iterable[Mapping[str, Any]], report: CheckReport, wanted: Sequence[str]
) -> None:
    seen: set[Any] = set()
    for example in examples:
        report.n_examples += 1
        name = example.get("id")
        if name in seen:
            report.add(f"the id {name!r} is there twice")
        seen.add(name)
        has = {field: bool(example.get(field)) for field in ("question", "turns", "context")}
        # No call at all can be what is expected: there the field counts, not what is in it.
        has["gold"] = "answer_calls" in example or any(example.get(key) for key in _GOLDS)
        has["own context"] = has["context"] and example["context"] != asked_text(example)
        report.n_with_context += has["context"]
        report.n_with_own_context += has["own context"]
        report.n_with_gold += has["gold"]
        for field in wanted:
            if not has[field]:
                report.add(f"example {name!r} has no {field}")
