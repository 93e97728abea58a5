"""Which rows count, and which of them carry the score."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from numbers import Real
from typing import Any

from cbcore.results import EvalRow

_LARGEST_RATING = 10


def measured(rows: Iterable[EvalRow]) -> Iterator[EvalRow]:
    """The rows that were processed without an error."""
    return (row for row in rows if row.error is None)


def score_of(row: EvalRow, score_field: str) -> float | None:
    """The score as a finite number, or None where the row has none."""
    return finite(row.scores.get(score_field))


def finite(value: object) -> float | None:
    """The value as a finite float, or None for anything else."""
    if type(value) is not float and not isinstance(value, Real):
        return None
    return float(value) if math.isfinite(value) else None


def scores_of(rows: Iterable[EvalRow], score_field: str) -> tuple[list[float], int]:
    """The score of each row, NaN where there is none, and how many measured rows lack it."""
    scores: list[float] = []
    missing = 0
    for row in rows:
        if row.error is not None:
            scores.append(math.nan)
            continue
        score = row.scores.get(score_field)
        if type(score) is not float or score - score != 0.0:  # neither infinite nor NaN
            score = finite(score)
            if score is None:
                missing += 1
                score = math.nan
        scores.append(score)
    return scores, missing


def given(values: Iterable[float]) -> list[float]:
    """The values that are not NaN."""
    return [value for value in values if value == value]  # noqa: PLR0124 - NaN alone is not


def mean(values: list[float]) -> float:
    """The arithmetic mean, NaN of nothing."""
    return math.fsum(values) / len(values) if values else math.nan


def note_missing(values: dict[str, float], key: str, missing: int) -> dict[str, float]:
    """The values, with `<key>_missing` added when any row lacked the score."""
    return {**values, f"{key}_missing": float(missing)} if missing else values


def check_name(_: object, attribute: Any, value: object) -> None:
    """An attrs validator: the parameter is a non-empty string."""
    if not isinstance(value, str) or not value:
        raise ValueError(f"{attribute.name} must be a non-empty name, not {value!r}")


def check_threshold(_: object, attribute: Any, value: object) -> None:
    """An attrs validator: the parameter is a finite number."""
    if isinstance(value, bool) or finite(value) is None:
        raise ValueError(f"{attribute.name} must be a finite number, not {value!r}")


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
