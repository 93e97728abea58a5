"""Numbers as people read them."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

Format: TypeAlias = Callable[[float], str]

ABSENT = "–"
"""The sign for a missing value."""

UNBOUNDED = "[unbounded]"
"""In the place of an interval that has no end, as of a ratio to what may be nothing."""


def finite(value: object) -> float | None:
    """The value as a float, or None for what is no finite number."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def fixed(value: float, digits: int) -> str:
    """A fixed number of decimals, thousands grouped, and never a negative zero."""
    text = f"{value:,.{digits}f}"
    return text.removeprefix("-") if not text.strip("-0.,") else text


def score(value: float) -> str:
    """A score: three decimals."""
    return fixed(value, 3)


def percent(value: float) -> str:
    """A share: one decimal, in percent."""
    return f"{fixed(value * 100, 1)}%"


def _bounds(low: float, high: float, digits: int) -> str:
    return f"[{fixed(low, digits)}, {fixed(high, digits)}]"


def score_bounds(low: float, high: float) -> str:
    """An interval of scores: two decimals, three where it is narrow."""
    return _bounds(low, high, 2 if high - low >= 0.05 else 3)


def value_bounds(low: float, high: float) -> str:
    """An interval of values that have four decimals: three, or four where it is narrow."""
    return _bounds(low, high, 3 if high - low >= 0.005 else 4)


def percent_bounds(low: float, high: float) -> str:
    """An interval of shares, in percent: no decimals, one where it is narrow."""
    return _bounds(low * 100, high * 100, 0 if high - low >= 0.05 else 1)


def count(value: float) -> str:
    """Something counted: no decimals."""
    return fixed(value, 0)


def average(value: float) -> str:
    """The mean of something counted: one decimal, where it matters."""
    return fixed(value, 0 if abs(value) >= 1000 else 1)


def duration(seconds: float) -> str:
    """A time to three significant digits, in the unit that suits it."""
    unit, factor = _unit(seconds)
    return f"{_three_digits(seconds * factor)} {unit}"


def _unit(seconds: float) -> tuple[str, float]:
    for limit, unit, factor in ((0.9995e-3, "µs", 1e6), (0.9995, "ms", 1e3)):
        if 0 < abs(seconds) < limit:
            return unit, factor
    return "s", 1.0


def duration_bounds(value: float, low: float, high: float) -> str:
    """An interval around a time, in the unit that this is told in."""
    _, factor = _unit(value)
    return f"[{_three_digits(low * factor)}, {_three_digits(high * factor)}]"


def _three_digits(value: float) -> str:
    size = abs(value)
    return fixed(value, 0 if size >= 99.95 or size == 0 else 1 if size >= 9.995 else 2)


def general(value: float) -> str:
    """A number nothing is known about: at least four significant digits."""
    if value == int(value) and abs(value) < 1e15:
        return fixed(value, 0)
    return fixed(value, 1) if 1000 <= abs(value) < 1e15 else f"{value:.4g}"


def moment(text: str) -> str:
    """An ISO time to the minute; text that is none stays as it is."""
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return text
    offset = found.strftime("%z")
    zone = {"": "", "+0000": " UTC"}.get(offset, f" {offset}")
    return f"{found:%Y-%m-%d %H:%M}{zone}"
