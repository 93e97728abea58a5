"""What the reporter promises, case by case."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cbcore import EvalResult, EvalRow

from {{ cookiecutter.__package }} import {{ cookiecutter.__class }}

NAME = "{{ cookiecutter.__name }}"
SCORED = EvalRow("one", 1, {"f1": 1.0})
FAILED = EvalRow("one", 2, error="down")


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (EvalResult([]), "no rows\n"),
        (EvalResult([SCORED]), "one: 1 of 1 scored\n"),
        (EvalResult([SCORED, FAILED]), "one: 1 of 2 scored\n  1 errored\n"),
        (EvalResult([SCORED], {"one": {"mean": 0.25}}), "one: 1 of 1 scored\n  mean 0.250\n"),
        (EvalResult([SCORED], {"one": {"mean": None}}), "one: 1 of 1 scored\n  mean n/a\n"),
        (EvalResult([], problems=["oh"]), "problem: oh\n"),
        (EvalResult([], config={"state": "failed"}), "the run is incomplete: failed\n"),
    ],
)
def test_the_text(result: EvalResult, text: str) -> None:
    assert {{ cookiecutter.__class }}().render(result) == text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb", "a\\nb"),
        ("a\r", "a\\r"),
        ("\u202eabc", "\\u202eabc"),
        ("\ud800", "\\ud800"),
        ("naïve 你好", "naïve 你好"),
    ],
)
def test_hostile_text_is_written_out(name: str, shown: str) -> None:
    text = {{ cookiecutter.__class }}().render(EvalResult([EvalRow(name, 1)]))
    assert text == f"{shown}: 0 of 1 scored\n"
    text.encode("utf-8")


@pytest.mark.parametrize(("digits", "shown"), [(0, "1"), (1, "0.7")])
def test_the_number_of_digits_can_be_set(digits: int, shown: str) -> None:
    result = EvalResult([], {"one": {"mean": 0.66}})
    text = {{ cookiecutter.__class }}(digits).render(result)
    assert text.endswith(f"mean {shown}\n")


def test_a_negative_number_of_digits_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        {{ cookiecutter.__class }}(-1)


def test_a_run_uses_it(cb: Callable[..., str]) -> None:
    """From the entry point to the report: the installed plugin tells of a run."""
    printed = cb(
        *("run", "--system", "py:pieces:Parrot", "--dataset", "questions.jsonl"),
        *("--evaluator", "py:pieces:Exact", "--output", NAME),
    )
    assert printed == "parrot: 2 of 2 scored\n"
