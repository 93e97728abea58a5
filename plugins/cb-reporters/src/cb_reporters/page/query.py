"""What of a run's examples is asked for, and in which order.

The page in a file answers the same questions by itself (`frontend/src/query.ts`); one test holds
the two together.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import attrs

from cbcore.exceptions import UsageError

STATUSES = ("scored", "missing", "error")
OUTCOMES = ("better", "worse", "same")
SORTS = ("order", "score", "difference", "tokens", "latency")
MOST = 500
"""How many examples one answer may hold."""

_TERMS = re.compile(r'"([^"]+)"|(\S+)')


@attrs.frozen(kw_only=True)
class Query:
    """Filters, order and page of a list of examples.

    With a `system` its rows decide; without one, an example is found when any of its rows fits.
    `score` is the score that `low`, `high`, `status`, `outcome` and the order are about.
    `outcome` compares with the system `against` on the same example, where both have the score.
    `search` holds words, or phrases in double quotes, that all have to occur in its texts.
    The order `difference` is that to `against`, or, without a `system`, the distance between the
    best and the worst; what lacks a value comes last in either direction.
    `around` asks for the page that holds this example, by its number, in place of `offset`.
    """

    system: str | None = None
    against: str | None = None
    dataset: str | None = None
    score: str | None = None
    low: float | None = None
    high: float | None = None
    status: str | None = None
    outcome: str | None = None
    search: str = ""
    sort: str = "order"
    descending: bool = False
    offset: int = 0
    limit: int = 100
    around: int | None = None

    @classmethod
    def read(cls, parameters: Mapping[str, str]) -> Query:
        """The query that an address asks; `UsageError` for a value that means nothing.

        Parameters: `system`, `against`, `dataset`, `score`, `min`, `max`, `status` (`scored`,
        `missing`, `error`), `outcome` (`better`, `worse`, `same`), `q`, `sort` (`order`, `score`,
        `difference`, `tokens`, `latency`), `desc` (`1`), `offset`, `limit`, `around`. Empty ones
        do not count, unknown ones are left alone.
        """
        given = {name: value for name, value in parameters.items() if value != ""}
        return cls(
            system=given.get("system"),
            against=given.get("against"),
            dataset=given.get("dataset"),
            score=given.get("score"),
            low=_number(given, "min"),
            high=_number(given, "max"),
            status=_one_of(given, "status", STATUSES),
            outcome=_one_of(given, "outcome", OUTCOMES),
            search=given.get("q", ""),
            sort=_one_of(given, "sort", SORTS) or "order",
            descending=given.get("desc") == "1",
            offset=_count(given, "offset", 0),
            limit=max(1, min(_count(given, "limit", 100), MOST)),
            around=_count(given, "around", 0) if "around" in given else None,
        )

    @property
    def terms(self) -> list[str]:
        """The words and phrases that are searched for, in lower case."""
        found = _TERMS.finditer(self.search)
        return [(match[1] or match[2]).lower() for match in found]


@attrs.frozen
class Found:
    """One page of what a query found, and how many there are in all."""

    total: int
    offset: int
    examples: list[dict[str, Any]]

    def to_json(self) -> dict[str, Any]:
        """As the page wants it."""
        return attrs.asdict(self)


def _number(given: Mapping[str, str], name: str) -> float | None:
    if name not in given:
        return None
    try:
        value = float(given[name])
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise UsageError(f"{name}={given[name]!r} is not a number")
    return value


def _count(given: Mapping[str, str], name: str, default: int) -> int:
    text = given.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit()) or len(text) > 12:
        raise UsageError(f"{name}={text!r} is not a whole number")
    return int(text)


def _one_of(given: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str | None:
    value = given.get(name)
    if value is not None and value not in allowed:
        raise UsageError(f"{name}={value!r} is none of {', '.join(allowed)}")
    return value
