"""From which score an answer is right, and what a threshold can tell."""

from __future__ import annotations

import math
from collections.abc import Iterable

__all__ = ("THRESHOLD", "is_blank")

THRESHOLD = 0.7
"""The score from which an answer is right, where a run names none."""

_NEXT_TO_NOTHING = 0.1
"""A mean score below this, without one right answer, is what chance overlaps add up to."""


def is_blank(scores: Iterable[float], threshold: float = THRESHOLD) -> bool:
    """Whether a baseline with these scores cannot do its task; NaN is a score that is missing.

    That is so if no score reaches the threshold, and their mean is next to nothing.
    """
    known = [score for score in scores if not math.isnan(score)]
    if not known or max(known) >= threshold:
        return False
    return 0 <= math.fsum(known) / len(known) < _NEXT_TO_NOTHING
