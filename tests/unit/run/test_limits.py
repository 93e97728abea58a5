"""When a system is stopped because of its failed rows."""

from __future__ import annotations

import pytest

from cbcore import evaluate
from cbcore.results import EvalRow
from cbcore.run.finish import ErrorLimit
from cbcore.settings import RunSettings


def count(
    limit: ErrorLimit, n_rows: int, error: str | None, n_repeats: int = 1, *, is_data: bool = False
) -> list[str]:
    rows = [EvalRow("system", number, error=error) for number in range(n_rows)]
    reasons = [limit.count(row, n_repeats, is_data=is_data) for row in rows]
    return [reason for reason in reasons if reason is not None]


def test_ten_first_examples_with_the_same_error_stop_a_system():
    limit = ErrorLimit(RunSettings(), None)
    assert count(limit, 9, "it is down") == []
    assert count(limit, 1, "it is down") == [
        "Its first 10 examples failed with the same error: it is down"
    ]
    assert count(limit, 1, "it is down") == []


def test_all_repeats_of_the_first_ten_examples_count():
    limit = ErrorLimit(RunSettings(), None)
    assert count(limit, 49, "it is down", n_repeats=5) == []
    assert len(count(limit, 1, "it is down", n_repeats=5)) == 1


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


class Fails:
    name = "fails"

    def process(self, example):
        if example["fails"]:
            raise ValueError("boom")
        return {"response": "x"}


@pytest.mark.parametrize(
    ("max_errors", "is_known", "outcomes", "n_rows"),
    [
        (0, True, [False, True, True], 2),
        (2, False, [True, False, True, False, True, True], 5),
        (2, False, [True, True] + [False] * 50, 52),
        (0.5, True, [True] * 5 + [False] * 5, 10),
        (0.5, True, [True] * 10, 6),
        (0.0, True, [False, True, True], 2),
        (1.0, True, [True] * 10, 10),
        (0.1, True, [True] * 102 + [False] * 898, 101),
        (0.1, False, [True] * 19, 19),
        (0.1, False, [True] * 30, 20),
        (0.1, False, [False] * 90 + [True] * 10, 100),
        (0.1, False, [False] * 90 + [True] * 20, 101),
    ],
)
def test_failed_rows_are_counted_against_a_number_or_a_share(
    max_errors, is_known, outcomes, n_rows
):
    """A share is of the rows expected; if these are unknown, of enough rows so far."""
    examples = [{"id": n, "context": "c", "fails": fails} for n, fails in enumerate(outcomes)]
    data = examples if is_known else (example for example in examples)
    result = evaluate([Fails()], data, [], [], progress=False, max_errors=max_errors)
    assert len(result.rows) == n_rows
    assert ("stopped" in result.config) is (n_rows < len(outcomes))
