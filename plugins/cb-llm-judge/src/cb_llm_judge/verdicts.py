"""What a judge says, and the forms in which it is asked to say it.

A form has one key with few possible values, and a reason after it. The verdict comes first, so
that a reply cut short still holds it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

import attrs

from cbcore.exceptions import MissingScoreError


class JudgeError(MissingScoreError):
    """The judge gave no usable verdict, for the stated reason. Raised in an evaluator, it makes
    the score missing."""


@attrs.frozen
class Verdict:
    """One reply, read: the value of the form's key, the reason given for it, and its cost."""

    value: int | str
    reason: str = ""
    cost: Mapping[str, Any] = attrs.field(factory=dict, eq=False)


@attrs.frozen
class BinaryVerdict:
    """Yes (1) or no (0), and why; `votes` are the single verdicts where several were asked for."""

    verdict: Literal[0, 1]
    reason: str = ""
    votes: tuple[int, ...] = ()
    cost: Mapping[str, Any] = attrs.field(factory=dict, eq=False)


@attrs.frozen
class Rating:
    """A place on a scale, and why. A mean of several votes need not be a whole number."""

    score: float
    reason: str = ""
    cost: Mapping[str, Any] = attrs.field(factory=dict, eq=False)


@attrs.frozen
class Form:
    """How a judge has to answer.

    `token` matches a value in running text, `read` turns it into the value or raises
    `ValueError`; `labels` are the words that may announce it there.
    """

    key: str
    labels: tuple[str, ...]
    json_type: dict[str, Any]
    values: str
    token: str
    read: Callable[[Any], int | str] = attrs.field(eq=False)
    is_scale: bool = False

    @property
    def response_format(self) -> dict[str, Any]:
        """The form as a JSON schema, for endpoints that hold a model to one."""
        schema = {
            "type": "object",
            "properties": {self.key: self.json_type, "reason": {"type": "string"}},
            "required": [self.key, "reason"],
            "additionalProperties": False,
        }
        named = {"name": self.key, "strict": True, "schema": schema}
        return {"type": "json_schema", "json_schema": named}

    @property
    def instruction(self) -> str:
        """The form in words, which end every prompt."""
        return (
            f'Reply with one JSON object and nothing else: {{"{self.key}": {self.values}, '
            f'"reason": "one or two sentences"}}. Give "{self.key}" first.'
        )


_NUMBER = re.compile(r"(?P<n>-?\d+)(?:\.0+)?(?:\s*(?:/|out of)\s*(?P<most>\d+))?\Z", re.IGNORECASE)
_RATING_TOKEN = r"-?\d+(?:\.\d+)?(?:\s*(?:/|out of)\s*\d+)?(?![\d/]|\.\d|\s*[-–]\s*\d)"  # noqa: S105 - a pattern


def rating_form(low: int, high: int) -> Form:
    """Whole numbers from `low` to `high`."""
    if low >= high:
        raise ValueError(f"a scale goes up: {low} to {high} does not")

    def read(value: Any) -> int:
        match = None if isinstance(value, bool) else _NUMBER.match(str(value).strip())
        if match is None:
            raise ValueError(f"{value!r} is not a whole number")
        if match["most"] is not None and int(match["most"]) != high:
            raise ValueError(f"{value!r} is on another scale than {low} to {high}")
        number = int(match["n"])
        if not low <= number <= high:
            raise ValueError(f"{number} is not between {low} and {high}")
        return number

    return Form(
        key="score",
        labels=("score", "rating", "grade"),
        json_type={"type": "integer", "enum": list(range(low, high + 1))},
        values=f"a whole number from {low} to {high}",
        token=_RATING_TOKEN,
        read=read,
        is_scale=True,
    )


_YES_NO: dict[str, Literal[0, 1]] = {"1": 1, "true": 1, "yes": 1, "0": 0, "false": 0, "no": 0}
_WINNERS = {"a": "A", "b": "B", "tie": "tie", "[[a]]": "A", "[[b]]": "B", "[[c]]": "tie"}


def _read_binary(value: Any) -> int:
    found = _YES_NO.get(str(value).strip().lower())
    if found is None:
        raise ValueError(f"{value!r} is neither 0 nor 1")
    return found


def _read_winner(value: Any) -> str:
    found = _WINNERS.get(str(value).strip().lower())
    if found is None:
        raise ValueError(f"{value!r} is none of A, B and tie")
    return found


BINARY = Form(
    key="verdict",
    labels=("verdict",),
    json_type={"type": "integer", "enum": [0, 1]},
    values="1 for yes or 0 for no",
    token=r"(?:-?\d+(?:\.\d+)?(?!\s*[-–/.]\s*\d)|true|false|yes|no)\b",  # noqa: S106 - a pattern
    read=_read_binary,
)

PREFERENCE = Form(
    key="winner",
    labels=("winner", "verdict"),
    json_type={"type": "string", "enum": ["A", "B", "tie"]},
    values='"A", "B" or "tie"',
    token=r"(?:\[\[[ABC]\]\]|(?:A|B|tie)\b)",  # noqa: S106 - a pattern
    read=_read_winner,
)
