"""The evaluator: the gold choice of an example against the one that a response settles on."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

from cb_scorers._responses import Unreadable, check_unreadable
from cb_scorers.multiple_choice.extraction import MOST_CHOICES, NoAnswerError, extract_choice
from cb_scorers.multiple_choice.reading import folded
from cbcore.exceptions import MissingScoreError
from cbcore.results import Scored
from cbcore.scoring import response_of

GOLD_FIELDS = ("answers", "answer", "correct_letter", "label")
"""Where the gold choice stands in an example; the first field that holds one counts."""

_GOLD_LETTER = re.compile(r"[\s(\[]*([A-Za-z])[\s)\].:]*")


class MultipleChoiceAccuracy:
    """Whether the choice that a response settles on, by letter or by text, is the right one.

    The example has the texts of the choices in `choices` and the gold in `answer`: a letter,
    a choice's text, or the number of the choice counted from 0; several in `answers`. A response
    that settles on no choice, or on several, is wrong, or has no score with `unreadable="missing"`.
    """

    name = "multiple_choice"
    emits = ("mc_accuracy",)
    applies_to = ("multiple-choice",)
    automatic = True
    needs = ()

    def __init__(self, unreadable: Unreadable = "wrong") -> None:
        self.unreadable = check_unreadable(unreadable)

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scored:
        """1.0 or 0.0, and in the details the choice and its rule, or why there is none.

        Raises `MissingScoreError` when there is no gold or no response to read.
        """
        choices = _choices(original)
        golds = _golds(original, choices)
        response = response_of(processed, text_only=True)
        try:
            found = extract_choice(response, choices, str(original.get("question") or ""))
        except NoAnswerError as error:
            if self.unreadable == "missing":
                raise MissingScoreError(f"no answer: {error}") from error
            details = {"choice": None, "reason": f"no answer: {error}"}
            return Scored(scores={"mc_accuracy": 0.0}, details=details)
        return Scored(
            scores={"mc_accuracy": float(found.label in golds)},
            details={"choice": found.label, "rule": found.rule},
        )


def _choices(example: Mapping[str, Any]) -> list[str]:
    choices = example.get("choices")
    if choices is None:
        return []
    if not isinstance(choices, list | tuple) or not 2 <= len(choices) <= MOST_CHOICES:
        raise MissingScoreError(f"`choices` is not a list of 2 to {MOST_CHOICES} texts")
    return [str(choice) for choice in choices]


def _golds(example: Mapping[str, Any], choices: Sequence[str]) -> set[str]:
    for field in GOLD_FIELDS:
        value = example.get(field)
        values = value if isinstance(value, list | tuple) else [value]
        golds = {
            _gold(one, choices, field) for one in values if one is not None and str(one).strip()
        }
        if golds:
            return golds
    raise MissingScoreError("the example has no gold choice in `answer`, `answers` or `label`")


def _gold(value: Any, choices: Sequence[str], field: str) -> str:
    """The letter of a gold: a letter, else a choice's text, else a number counted from 0."""
    letters = string.ascii_uppercase[: len(choices) or MOST_CHOICES]
    if isinstance(value, str):
        letter = _GOLD_LETTER.fullmatch(value)
        if letter and letter[1].upper() in letters:
            return letter[1].upper()
        same = [
            label
            for label, choice in zip(letters, choices, strict=False)
            if folded(choice) == folded(value)
        ]
        if len(same) == 1:
            return same[0]
        if same:
            raise MissingScoreError(f"the gold {value!r} is the text of several choices")
    number = int(value) if isinstance(value, str) and value.isdecimal() else value
    if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < len(choices):
        return letters[number]
    raise MissingScoreError(f"the gold {value!r} in `{field}` is none of the choices")
