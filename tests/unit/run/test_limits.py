"""When a system is stopped because of its failed rows."""

from __future__ import annotations

import pytest

from cbcore.results import EvalRow
from cbcore.run.limits import ErrorLimit
from cbcore.settings import RunSettings


def count(limit: ErrorLimit, n_rows: int, error: str | None, *, is_data: bool = False) -> list[str]:
    rows = [EvalRow("system", number, error=error) for number in range(n_rows)]
    reasons = [limit.count(row, is_data=is_data) for row in rows]
    return [reason for reason in reasons if reason is not None]


def test_ten_first_examples_with_the_same_error_stop_a_system():
    limit = ErrorLimit(RunSettings(), None)
    assert count(limit, 9, "it is down") == []
    assert count(limit, 1, "it is down") == [
        "Its first 10 examples failed with the same error: it is down"
    ]
    assert count(limit, 1, "it is down") == []


@pytest.mark.parametrize("error", [None, "another error"])
def test_a_first_example_with_another_outcome_keeps_a_system_running(error):
    limit = ErrorLimit(RunSettings(), None)
    assert count(limit, 9, "it is down") == []
    assert count(limit, 1, error) == []
    assert count(limit, 20, "it is down") == []


def test_examples_that_cannot_be_used_are_not_calls_of_the_system():
    limit = ErrorLimit(RunSettings(), None)
    assert count(limit, 9, "it has no question", is_data=True) == []
    assert count(limit, 9, "it is down") == []
    assert len(count(limit, 1, "it is down")) == 1
