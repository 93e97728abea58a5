"""Metrics: what they return, and what they make of rows that lack something."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cb_testing import samples
from cb_testing.cases import Case
from cb_testing.rule_registry import rule
from cbcore.boundary import contained
from cbcore.results import EvalRow


class OncePass(Sequence[EvalRow]):
    """Rows as a run on disk has them: read in order, and here only once."""

    def __init__(self, rows: Sequence[EvalRow]) -> None:
        self._rows = rows
        self.misuse = ""
        self._passes = 0

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Any:
        self.misuse = "it takes rows by number"
        return self._rows[index]

    def __iter__(self) -> Iterator[EvalRow]:
        self._passes += 1
        if self._passes > 1:
            self.misuse = "it goes through the rows more than once"
        return iter(self._rows)


def _rows(case: Case) -> list[EvalRow]:
    field = getattr(case.value, "score_field", None)
    return copy.deepcopy([*case.examples, *samples.rows([field] if isinstance(field, str) else [])])


def _values(case: Case, rows: Sequence[EvalRow]) -> Any:
    """What the metric makes of the rows of one system; where it compares, another has no scores."""
    if hasattr(case.value, "compare"):
        compared = case.value.compare({"a": rows, "b": samples.unscored_rows()})
        return compared.get("a", {}) if isinstance(compared, Mapping) else compared
    return case.value.compute(rows)


def _wrong(values: Any) -> str | None:
    if not isinstance(values, Mapping):
        return f"return a dict of numbers, not a {type(values).__name__}"
    for key, value in values.items():
        if not isinstance(key, str):
            return f"name values by texts, not {key!r}"
        if not isinstance(value, int | float) or isinstance(value, bool):
            return f"return {key!r} as a float (math.nan where there is no value), not {value!r}"
    return None


@rule("metric-returns", "metric")
def returns(case: Case) -> Iterator[str]:
    """Values are a dict from text to numbers; NaN where there is none."""
    problem = _wrong(_values(case, _rows(case)))
    if problem:
        yield problem


@rule("metric-copes", "metric")
def copes(case: Case) -> Iterator[str]:
    """No rows, only errors, and rows without scores give values all the same."""
    for what, rows in (
        ("no rows", []),
        ("rows that all have an error", samples.errored_rows()),
        ("rows without scores", samples.unscored_rows()),
    ):
        with contained() as tried:
            problem = _wrong(_values(case, rows))
        if tried.error is not None:
            problem = f"it raised {tried.reason}"
        if problem:
            yield f"return math.nan for {what}: {problem}"
            return


@rule("metric-one-pass", "metric")
def one_pass(case: Case) -> Iterator[str]:
    """Rows are read once, in order: they may lie on disk."""
    rows = OncePass(_rows(case))
    _values(case, rows)
    if rows.misuse:
        yield f"take what you need in one `for row in rows`: {rows.misuse}"


@rule("metric-pure", "metric")
def pure(case: Case) -> Iterator[str]:
    """Computing changes no row, and gives the same again."""
    rows = _rows(case)
    before = copy.deepcopy(rows)
    first, second = (_plain(_values(case, rows)) for _ in range(2))
    if rows != before:
        yield "copy a row before changing it"
    elif first != second:
        yield f"give the same values for the same rows: first {first}, then {second}"


def _plain(values: Any) -> Any:
    """Values as they can be compared: NaN is equal to itself."""
    if not isinstance(values, Mapping):
        return values
    return {k: "nan" if isinstance(v, float) and math.isnan(v) else v for k, v in values.items()}
