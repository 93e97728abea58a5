"""What the executor promises, case by case."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from {{ cookiecutter.__package }} import {{ cookiecutter.__class }}

NAME = "{{ cookiecutter.__name }}"


@pytest.mark.parametrize(
    ("items", "in_flight"), [([], 1), ([4], 3), ([9, 1, 4], 1), (list(range(20)), 3)]
)
def test_results_come_in_the_order_of_the_items(items: list[int], in_flight: int) -> None:
    results = {{ cookiecutter.__class }}().map(math.sqrt, items, in_flight=in_flight)
    assert list(results) == [math.sqrt(item) for item in items]


@pytest.mark.parametrize("in_flight", [1, 2])
def test_no_more_items_are_taken_than_may_be_under_way(in_flight: int) -> None:
    taken = 0

    def endless() -> Iterator[int]:
        nonlocal taken
        while True:
            taken += 1
            yield taken

    results = {{ cookiecutter.__class }}().map(abs, endless(), in_flight=in_flight)
    with closing(results):
        for n_done, result in zip(range(1, 6), results, strict=False):
            assert result == n_done
            assert taken - n_done < in_flight


def test_calls_are_made_in_other_processes() -> None:
    ask = "__import__('os').getpid()"
    results = {{ cookiecutter.__class }}().map(eval, [ask] * 4, in_flight=2)
    assert os.getpid() not in list(results)


def test_a_run_uses_it(cb: Callable[..., str]) -> None:
    """From the entry point to the result: the installed plugin makes the calls of a run."""
    printed = cb(
        *("run", "--system", "py:pieces:Parrot", "--dataset", "questions.jsonl"),
        *("--evaluator", "py:pieces:Exact", "--output", "py:pieces:Json"),
        *("--executor", NAME, "--max-workers", "2"),
    )
    rows = json.loads(printed)["rows"]
    assert [(row["example_id"], row["scores"]) for row in rows] == [
        ("capital", {"exact": 1.0}),
        ("river", {"exact": 0.0}),
    ]
