"""What the evaluators read of an example and an output, and why they cannot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cbcore.exceptions import MissingScoreError


def response_of(processed: Mapping[str, Any]) -> str:
    """The response as a text. Raises `MissingScoreError` where there is none."""
    response = processed.get("response")
    if response is None:
        raise MissingScoreError(
            "the system returned no response; chain a reader behind it: `system | extractive`"
        )
    if not isinstance(response, str | int | float):
        raise MissingScoreError(f"the response is a {type(response).__name__}, not a text")
    return str(response)


def golds_of(original: Mapping[str, Any]) -> list[str]:
    """All gold answers as texts. Raises `MissingScoreError` where there is none."""
    answers = original.get("answers")
    if answers is None:
        answers = original.get("answer")
    golds = answers if isinstance(answers, list | tuple) else [answers]
    texts = [str(gold) for gold in golds if gold is not None]
    if not texts:
        raise MissingScoreError("the example has no gold answer")
    return texts
