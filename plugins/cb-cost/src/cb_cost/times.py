"""When a request was sent, as logs and datasets write it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any, NamedTuple

_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d+))?\s*(Z|UTC|[+-]\d\d(?::?\d\d)?)?",
    re.IGNORECASE,
)
_SUBSECONDS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
"""From which number on an epoch is in nanoseconds, microseconds and milliseconds."""


class Time(NamedTuple):
    """Seconds since the epoch. A time without a zone is read as UTC."""

    at_s: float
    has_zone: bool = True


def read_time(value: Any) -> Time | None:
    """Read an epoch (a number or text) or an ISO 8601 date and time; None if it is neither.

    A date without a time of day says too little about the gap between two requests.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        text = value.strip()
        if (found := _ISO.fullmatch(text)) is not None:
            return _from_iso(*found.groups())
        try:
            value = float(text)
        except ValueError:
            return None
    if not isinstance(value, int | float) or not math.isfinite(value):
        return None
    unit = next((unit for least, unit in _SUBSECONDS if abs(value) >= least), 1.0)
    return Time(value / unit)


def _from_iso(date: str, clock: str, fraction: str | None, zone: str | None) -> Time | None:
    offset = "+00:00"
    if zone is not None and zone[0] in "+-":
        digits = zone[1:].replace(":", "").ljust(4, "0")
        offset = f"{zone[0]}{digits[:2]}:{digits[2:]}"
    try:
        moment = datetime.fromisoformat(f"{date}T{clock}{offset}")
    except ValueError:
        return None
    seconds = moment.astimezone(timezone.utc).timestamp()
    return Time(seconds + float(f"0.{fraction or 0}"), zone is not None)


def fill_times(rows: Sequence[Sequence[float | None]], gap_s: float) -> list[list[float]]:
    """Give every request of every row a time.

    A request without one has the time of the next request of its row, or else of the one before.
    Where no request of the row has a time, each is `gap_s` after the one before it.
    """
    now = next((at_s for row in rows for at_s in row if at_s is not None), 0.0) - gap_s
    filled = []
    for row in rows:
        known = [at_s for at_s in row if at_s is not None]
        times = []
        for n in range(len(row)):
            if known:
                now = next((at_s for at_s in row[n:] if at_s is not None), known[-1])
            else:
                now += gap_s
            times.append(now)
        filled.append(times)
    return filled
