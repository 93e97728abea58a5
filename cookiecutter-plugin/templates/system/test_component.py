"""What the system promises, case by case."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from cbcore import DataError

from {{ cookiecutter.__package }} import {{ cookiecutter.__class }}

NAME = "{{ cookiecutter.__name }}"


@pytest.mark.parametrize(
    ("max_words", "context", "kept"),
    [
        (5, "One two. Three four five. Six.", "One two. Three four five."),
        (4, "One two. Three four five. Six.", "One two."),
        (6, "One two. Three four five. Six.", "One two. Three four five. Six."),
        (99, "One two.\n\nThree?  Four!", "One two.\n\nThree?  Four!"),
        (2, "One two\nthree", "One two"),
        (2, "One two three.", "One two"),
        (2, "About 3.14 is pi.", "About 3.14"),
        (1, "  ", ""),
        (1, "", ""),
    ],
)
def test_the_first_sentences_that_fit_are_kept(max_words: int, context: str, kept: str) -> None:
    system = {{ cookiecutter.__class }}(max_words)
    assert system.process({"context": context}) == {"context": kept}


@pytest.mark.parametrize("max_words", [1, 2, 3, 10, 50])
def test_the_budget_is_kept(max_words: int) -> None:
    context = "A sentence of six words, no? " * 12 + "One without an end"
    output = {{ cookiecutter.__class }}(max_words).process({"context": context})
    assert len(output["context"].split()) <= max_words
    assert context.startswith(output["context"])


@pytest.mark.parametrize("example", [{}, {"context": None}, {"context": ["a"]}])
def test_an_example_without_a_text_is_an_error(example: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="not a text"):
        {{ cookiecutter.__class }}().process(example)


def test_a_budget_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        {{ cookiecutter.__class }}(max_words=0)


def test_two_budgets_have_two_names() -> None:
    one, two = ({{ cookiecutter.__class }}(max_words) for max_words in (1, 2))
    assert one.name != two.name


def test_a_run_uses_it(cb: Callable[..., str]) -> None:
    """From the entry point to the result: the installed plugin is a stage of a run."""
    printed = cb(
        *("run", "--system", f"{NAME}:max_words=6 | py:pieces:Parrot"),
        *("--dataset", "questions.jsonl", "--evaluator", "py:pieces:Exact"),
        *("--output", "py:pieces:Json"),
    )
    rows = json.loads(printed)["rows"]
    assert [row["scores"] for row in rows] == [{"exact": 1.0}, {"exact": 0.0}]
    assert all(row["output_tokens"] < row["input_tokens"] for row in rows)
