"""What the metric promises, case by case."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import pytest
from cbcore import EvalRow

from {{ cookiecutter.__package }} import {{ cookiecutter.__class }}

NAME = "{{ cookiecutter.__name }}"
KEY = "{{ cookiecutter.__snake }}"
MISSING = "{{ cookiecutter.__snake }}_missing"


def rows(*scores: float | None, failed: int = 0) -> list[EvalRow]:
    """Rows with these scores, None for a row without one, and some that failed."""
    good = [EvalRow("s", n, {} if s is None else {"f1": s}) for n, s in enumerate(scores)]
    return good + [EvalRow("s", -n, error="down") for n in range(1, failed + 1)]


@pytest.mark.parametrize(
    ("given", "threshold", "values"),
    [
        (rows(1.0, 0.0), 0.5, {KEY: 0.5}),
        (rows(0.5), 0.5, {KEY: 1.0}),
        (rows(0.4, 0.3), 0.5, {KEY: 0.0}),
        (rows(1.0, failed=3), 0.5, {KEY: 1.0}),
        (rows(1.0, None, 0.0, None), 0.5, {KEY: 0.5, MISSING: 2.0}),
    ],
)
def test_the_share_of_rows_that_reach_the_bar(
    given: list[EvalRow], threshold: float, values: dict[str, float]
) -> None:
    assert {{ cookiecutter.__class }}(threshold=threshold).compute(given) == values


@pytest.mark.parametrize("given", [rows(), rows(failed=2), rows(None)])
def test_nothing_scored_has_no_value(given: list[EvalRow]) -> None:
    assert math.isnan({{ cookiecutter.__class }}().compute(given)[KEY])


@pytest.mark.parametrize("threshold", [math.nan, math.inf])
def test_a_bar_that_is_no_number_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        {{ cookiecutter.__class }}(threshold=threshold)


def test_a_run_uses_it(cb: Callable[..., str]) -> None:
    """From the entry point to the result: the installed plugin sums up a run."""
    printed = cb(
        *("run", "--system", "py:pieces:Parrot", "--dataset", "questions.jsonl"),
        *("--evaluator", "py:pieces:Exact", "--metric", NAME, "--output", "py:pieces:Json"),
    )
    assert json.loads(printed)["summary"] == {"parrot": {KEY: 0.5}}
