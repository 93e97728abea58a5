"""What the command promises, case by case."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from click.testing import CliRunner

from {{ cookiecutter.__package }} import command

NAME = "{{ cookiecutter.__name }}"


def test_a_result_is_told_system_by_system(cb: Callable[..., str]) -> None:
    """From the entry point to the table: the installed command reads what a run saved."""
    cb(
        *("run", "--system", "py:pieces:Parrot", "--dataset", "questions.jsonl"),
        *("--evaluator", "py:pieces:Exact", "--output", "py:pieces:Json=result.json"),
    )
    lines = [line.split() for line in cb(NAME, "result.json").splitlines()]
    assert lines == [["SYSTEM", "PASSED", "SCORED", "ROWS"], ["parrot", "1", "2", "2"]]
    assert cb(NAME, "result.json", "--threshold", "0").splitlines()[1].split()[1] == "2"


@pytest.mark.parametrize("arguments", [[], ["absent.json"], ["--threshold", "many", "x.json"]])
def test_what_cannot_be_done_is_refused(arguments: list[str]) -> None:
    assert CliRunner().invoke(command, arguments).exit_code != 0
