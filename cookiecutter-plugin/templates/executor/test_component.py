"""What the executor promises, case by case. `check_plugin` tries the whole contract."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

NAME = "{{ cookiecutter.__name }}"


def rows_of(cb: Callable[..., str], *more: str) -> list[dict[str, object]]:
    """The rows of a run that the installed plugin makes the calls of."""
    printed = cb(
        *("run", "--dataset", "questions.jsonl", "--output", "py:pieces:Json"),
        *("--executor", NAME, "--concurrency", "2", *more),
    )
    rows: list[dict[str, object]] = json.loads(printed)["rows"]
    return rows


def test_a_run_uses_it(cb: Callable[..., str]) -> None:
    """From the entry point to the result."""
    rows = rows_of(cb, "--system", "py:pieces:Parrot", "--evaluator", "py:pieces:Exact")
    assert [(row["example_id"], row["scores"]) for row in rows] == [
        ("capital", {"exact": 1.0}),
        ("river", {"exact": 0.0}),
    ]


def test_a_crash_costs_one_row_and_not_the_run(cb: Callable[..., str]) -> None:
    """Its worker is replaced; the example that ends every worker is told."""
    chosen = ("--system", "py:pieces:Crash", "--evaluator", "py:pieces:Exact")
    answered, crashed = rows_of(cb, *chosen)
    assert answered["error"] is None
    assert answered["response"] != str(os.getpid())
    assert "workers were lost on this example" in str(crashed["error"])
