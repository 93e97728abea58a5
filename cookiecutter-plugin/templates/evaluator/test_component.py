"""What the evaluator promises, case by case."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from cbcore import MissingScoreError

from {{ cookiecutter.__package }} import {{ cookiecutter.__class }}

NAME = "{{ cookiecutter.__name }}"
SCORE = "{{ cookiecutter.__snake }}"


@pytest.mark.parametrize(
    ("words", "response", "share"),
    [
        (["maybe"], "Maybe yes, maybe no.", 0.5),
        (["maybe"], "MAYBE", 1.0),
        (["Maybe"], "maybe", 1.0),
        (["maybe"], "Certainly not.", 0.0),
        (["may"], "maybe", 0.0),
        (["don't"], "Don\u2019t!", 1.0),
        (["maybe", "perhaps"], "maybe, perhaps, yes, no", 0.5),
        ("maybe", "maybe", 1.0),
    ],
)
def test_the_share_of_listed_words(words: Any, response: str, share: float) -> None:
    evaluator = {{ cookiecutter.__class }}(words)
    assert evaluator.score({}, {"response": response}) == {SCORE: share}


@pytest.mark.parametrize("output", [{}, {"response": None}, {"response": ""}, {"response": "…"}])
def test_nothing_to_score_is_missing_and_not_zero(output: dict[str, Any]) -> None:
    with pytest.raises(MissingScoreError):
        {{ cookiecutter.__class }}().score({}, output)


@pytest.mark.parametrize("words", [[], [""], ["two words"]])
def test_a_list_that_cannot_be_counted_is_refused(words: list[str]) -> None:
    with pytest.raises(ValueError, match="word"):
        {{ cookiecutter.__class }}(words)


def test_a_run_uses_it(cb: Callable[..., str]) -> None:
    """From the entry point to the result: the installed plugin scores the rows of a run."""
    printed = cb(
        *("run", "--system", "py:pieces:Parrot", "--dataset", "questions.jsonl"),
        *("--evaluator", f"{NAME}:words=[paris]", "--output", "py:pieces:Json"),
    )
    rows = json.loads(printed)["rows"]
    assert [row["scores"] for row in rows] == [{SCORE: 1.0}, {SCORE: 1.0}]
