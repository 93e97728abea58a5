"""The score: how many of the expected strings are in the answer."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from cb_datasets.needle.tasks import REPLY_TOKENS, TASKS, NeedleTask
from cbcore.exceptions import MissingScoreError
from cbcore.results import Scored
from cbcore.scoring import response_of
from cbcore.tokens import Encoding

_CONTROLS = re.compile(r"[\x00-\x1f]")
_REASONING = re.compile(r"^.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_TOLD = ("task", "length", "depth")
_OPENING_TOKENS = 32
_LONGEST_TOKEN = 32


class NeedleMatch:
    """The share of the expected strings that the answer holds, whatever their case.

    That is RULER's score for all tasks but questions, of which one of the answers is enough;
    an example says which in `match`, `all` or `part`. Control characters are taken out and
    nothing else is normalised. The row keeps the task, length and depth of its example.

    RULER limits how many tokens a model generates. Here only the beginning of a response is read:
    the tokens that RULER allows for the task, or twice the tokens of the expected strings if that
    is more, and 32 for an opening such as "The numbers are", which RULER writes for the model. A
    reasoning block is left out first. A longer response whose beginning is copied from the context
    scores 0: it repeats the context instead of answering.
    """

    name = "needle_match"
    emits = ("needle_match",)
    applies_to = ("long-context",)
    automatic = True
    needs = ("answer",)
    needs_output = ("response",)

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scored:
        """The score. Raises `MissingScoreError` if there is no answer or no response."""
        response = response_of(processed, text_only=True)
        wanted = original.get("answer")
        given = list(wanted) if isinstance(wanted, list | tuple) else [wanted]
        golds = [gold for gold in given if isinstance(gold, str) and gold]
        if not golds or len(golds) < len(given):
            raise MissingScoreError("the example has no answers as texts")
        is_part = original.get("match") == "part"
        limit = _limit(original.get("task"), [max(golds, key=len)] if is_part else golds)
        said = _CONTROLS.sub("\n", _REASONING.sub("", response)).strip()
        read = _beginning(said, limit)
        is_echo = len(read) < len(said) and _is_copied(read, original.get("context"))
        found = [not is_echo and gold.lower() in read.lower() for gold in golds]
        score = float(any(found)) if is_part else sum(found) / len(found)
        details = {key: original[key] for key in _TOLD if original.get(key) is not None}
        if is_echo:
            details["repeats_context"] = True
        return Scored({"needle_match": score}, details=details)


def _limit(task: Any, golds: Sequence[str]) -> int:
    """How many tokens of a response are read."""
    kind = type(TASKS[task]) if isinstance(task, str) and task in TASKS else NeedleTask
    expected = ", ".join(golds)
    allowed = REPLY_TOKENS[kind]
    if 2 * len(expected) > allowed:  # few texts have more tokens than characters
        allowed = max(allowed, 2 * _encoding().count(expected))
    return allowed + _OPENING_TOKENS


def _is_copied(text: str, context: Any) -> bool:
    """Whether a text is in the context word for word."""
    if not isinstance(context, str):
        return False
    return " ".join(text.split()).lower() in " ".join(context.split()).lower()


def _beginning(text: str, limit: int) -> str:
    """The longest beginning of a text that has at most so many tokens."""
    if len(text) <= limit:
        return text
    window = text[: limit * _LONGEST_TOKEN]
    count = _encoding().count
    if len(window) == len(text) and count(window) <= limit:
        return text
    lengths = range(1, len(window) + 1)
    return window[: bisect_right(lengths, limit, key=lambda n: count(window[:n]))]


@cache
def _encoding() -> Encoding:
    return Encoding()
