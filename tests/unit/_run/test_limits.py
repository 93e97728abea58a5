"""When a run ends early: errors counted."""

from __future__ import annotations

import pytest

from cbcore._run.limits import ErrorLimit
from cbcore.exceptions import RunError
from cbcore.results import EvalRow


def row(error=None, **fields):
    return EvalRow("system", 1, error=error, **fields)


def stopped_at(limit, outcomes):
    """The number of rows after which the limit stops the run; None when it does not."""
    for number, failed in enumerate(outcomes, 1):
        try:
            limit.count(row("boom" if failed else None))
        except RunError:
            return number
    return None


@pytest.mark.parametrize(
    ("max_errors", "expected", "outcomes", "stops"),
    [
        (None, 10, [True] * 10, None),
        (0, 10, [False, True], 2),
        (2, None, [True, False, True, False, True], 5),
        (2, None, [True, True] + [False] * 50, None),
        (0.5, 10, [True] * 5, None),
        (0.5, 10, [True] * 6, 6),
        (0.0, 10, [False, True], 2),
        (1.0, 10, [True] * 10, None),
        (0.1, 1000, [True] * 101, 101),
        (0.1, None, [True] * 19, None),
        (0.1, None, [True] * 20, 20),
        (0.1, None, [False] * 90 + [True] * 10, None),
        (0.1, None, [False] * 90 + [True] * 11, 101),
    ],
)
def test_errors_are_counted_against_a_number_or_a_share(max_errors, expected, outcomes, stops):
    """A share is of the rows expected; where these are unknown, of enough rows so far."""
    assert stopped_at(ErrorLimit(max_errors, expected=expected), outcomes) == stops


@pytest.mark.parametrize(
    ("max_errors", "expected", "n", "text"),
    [
        (2, None, 3, "stopped after 3 errored rows (max_errors is 2); the last: boom"),
        (1234, None, 1235, "stopped after 1235 errored rows (max_errors is 1234); the last: boom"),
        (0.05, 20, 2, "stopped after 2 errored rows (max_errors is 5% of rows); the last: boom"),
        (0.125, 8, 2, "stopped after 2 errored rows (max_errors is 12.5% of rows); the last: boom"),
    ],
)
def test_the_message_gives_the_limit_as_it_was_given(max_errors, expected, n, text):
    """A number as a number, a share as a percentage, and the last error."""
    limit = ErrorLimit(max_errors, expected=expected)
    for _ in range(n - 1):
        limit.count(row("boom"))
    with pytest.raises(RunError) as caught:
        limit.count(row("boom"))
    assert caught.value.message == text


def test_fail_fast_names_system_example_and_error():
    """The first errored row ends the run; good ones do not."""
    limit = ErrorLimit(max_errors=100, fail_fast=True)
    limit.count(row())
    with pytest.raises(RunError, match="system 'system' failed on example 1: boom"):
        limit.count(row("boom"))
