"""The choice that a response settles on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cb_scorers.multiple_choice as scorer
from cbcore.results import Scored
from context_bench.evaluators.wrapping import Wrapped


class MultipleChoiceAccuracy(Wrapped):
    """Is the choice that a response settles on the right one?"""

    def __init__(self) -> None:
        super().__init__(_ByLetter())


class _ByLetter(scorer.MultipleChoiceAccuracy):
    """Takes the gold from `correct_letter` first, beside which `answer` held the choice's text."""

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scored:
        letter = original.get("correct_letter")
        if letter:
            original = {**original, "answer": letter, "answers": [letter]}
        return super().score(original, processed)
