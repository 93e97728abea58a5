"""What the tokenizer promises, case by case."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from {{ cookiecutter.__package }} import {{ cookiecutter.__class }}

NAME = "{{ cookiecutter.__name }}"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("naïve 你好", 2), ("<|endoftext|>", 4)],
)
def test_the_count(text: str, tokens: int) -> None:
    assert {{ cookiecutter.__class }}().count(text) == tokens


def test_the_number_of_characters_can_be_set() -> None:
    assert {{ cookiecutter.__class }}(characters=1).count("abc") == 3
    with pytest.raises(ValueError, match="at least 1"):
        {{ cookiecutter.__class }}(characters=0)


def test_a_run_counts_with_it(cb: Callable[..., str]) -> None:
    """From the entry point to the rows: contexts and questions are counted by it."""
    printed = cb(
        *("run", "--system", "py:pieces:Parrot", "--dataset", "questions.jsonl"),
        *("--evaluator", "py:pieces:Exact", "--output", "py:pieces:Json"),
        *("--tokenizer", f"{NAME}:characters=1"),
    )
    assert [row["input_tokens"] for row in json.loads(printed)["rows"]] == [83, 80]
