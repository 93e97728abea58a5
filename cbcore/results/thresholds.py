"""From which score an answer is right, and what a threshold can tell."""

from __future__ import annotations

import math
from collections.abc import Iterable

__all__ = ("THRESHOLD", "fits_scale", "is_blank")

THRESHOLD = 0.7
"""The score from which an answer is right, where a run names none."""

_NEXT_TO_NOTHING = 0.1
"""A mean score below this, without one right answer, is what chance overlaps add up to."""
_LARGEST_RATING = 10


def is_blank(scores: Iterable[float], threshold: float = THRESHOLD) -> bool:
    """Whether a baseline with these scores cannot do its task; NaN is a score that is missing.

    That is so if no score reaches the threshold, and their mean is next to nothing.
    """
    known = [score for score in scores if not math.isnan(score)]
    if not known or max(known) >= threshold:
        return False
    return 0 <= math.fsum(known) / len(known) < _NEXT_TO_NOTHING


def fits_scale(scores: Iterable[float], threshold: float) -> bool:
    """Whether a threshold can be on the scale of these scores; NaN is a score that is missing.

    A threshold from 0 to 1 does not fit scores above 1. A larger one does not fit shares, but
    whole numbers up to 1 may be low ratings.
    """
    known = [score for score in scores if not math.isnan(score)]
    if threshold <= 1:
        return max(known, default=0) <= 1
    are_shares = all(0 <= score <= 1 for score in known)
    are_whole = all(score.is_integer() for score in known)
    return not known or not are_shares or (are_whole and threshold <= _LARGEST_RATING)
