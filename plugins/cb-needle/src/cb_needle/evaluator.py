"""The score: how many of the expected strings are in the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from cbcore.exceptions import MissingScoreError
from cbcore.results import Scored

_CONTROLS = re.compile(r"[\x00-\x1f]")
_TOLD = ("task", "length", "depth")


class NeedleMatch:
    """The share of the expected strings that the answer holds, whatever their case.

    That is RULER's score for all tasks but questions, of which one of the answers is enough;
    an example says which in `match`, `all` or `part`. Control characters are taken out and
    nothing else is normalised. The row keeps the task, length and depth of its example.
    """

    name = "needle_match"
    emits = ("needle_match",)
    applies_to = ("long-context",)
    needs = ("answer",)
    needs_output = ("response",)

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scored:
        """The score. Raises `MissingScoreError` where answer or response is no text."""
        response = processed.get("response")
        if not isinstance(response, str):
            raise MissingScoreError("the system returned no response as text")
        wanted = original.get("answer")
        given = list(wanted) if isinstance(wanted, list | tuple) else [wanted]
        golds = [gold for gold in given if isinstance(gold, str) and gold]
        if not golds or len(golds) < len(given):
            raise MissingScoreError("the example has no answers as texts")
        said = _CONTROLS.sub("\n", response).strip().lower()
        found = [gold.lower() in said for gold in golds]
        is_part = original.get("match") == "part"
        score = float(any(found)) if is_part else sum(found) / len(found)
        details = {key: original[key] for key in _TOLD if original.get(key) is not None}
        return Scored({"needle_match": score}, details=details)
