"""Answers to queries: which examples fit, in which order, and one page of them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from cb_reporters.page.index import ERROR, MISSING, SCORED, ExampleIndex
from cbcore.boundary import contained
from cbcore.exceptions import UsageError
from cbcore.results import EvalResult, Joined, Texts

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


# -- answers -------------------------------------------------------------------------------------


_STATES = {"scored": SCORED, "missing": MISSING, "error": ERROR}


def find(
    index: ExampleIndex,
    query: Query,
    result: EvalResult | None = None,
    hits: set[int] | None = None,
) -> dict[str, Any]:
    """One page of the examples that a query finds, as JSON data, and how many there are in all.

    Texts are those of `result`. `hits` are the examples that `search` found, if it was asked.
    Raises `UsageError` for a system, dataset or score that the rows do not have.
    """
    _check(index, query)
    if query.terms and hits is None:
        hits = search(index, result, query.terms)
    dataset = None if query.dataset is None else index.datasets[query.dataset]
    asked = (query.system, query.status, query.outcome, query.low, query.high)
    about_rows = any(value is not None for value in asked)
    found = [
        example
        for example, (of, _, _) in enumerate(index.keys)
        if dataset in (None, of)
        and (hits is None or example in hits)
        and (not about_rows or _fits(index, example, query))
    ]
    ordered = _ordered(index, found, query)
    offset = query.offset
    if query.around is not None and query.around in ordered:
        place = ordered.index(query.around)
        offset = place - place % query.limit
    page = ordered[offset : offset + query.limit]
    texts = None if result is None else result.texts
    lines = [index.line(example, query.score, texts) for example in page]
    return {"total": len(ordered), "offset": offset, "examples": lines}


def _check(index: ExampleIndex, query: Query) -> None:
    known = (
        ("system", query.system, index.systems),
        ("system", query.against, index.systems),
        ("dataset", query.dataset, index.datasets),
        ("score", query.score, index.scores),
    )
    for kind, name, names in known:
        if name is not None and name not in names:
            raise UsageError(f"no row has the {kind} {name!r}")
    if query.outcome and query.against is None:
        raise UsageError(f"outcome={query.outcome!r} needs 'against', the system to compare to")


def _rows_of(index: ExampleIndex, example: int, query: Query) -> tuple[list[int], int | None]:
    """The rows that a query is about, and the row that they are compared with."""
    rows = index.rows_by_system(example)
    against = rows.get(index.systems.get(query.against or "", -1))
    if query.system is not None:
        rows = {n: row for n, row in rows.items() if n == index.systems[query.system]}
    return list(rows.values()), against


def _fits(index: ExampleIndex, example: int, query: Query) -> bool:
    """Whether any row that the query is about passes its filters."""
    score = query.score or index.main_score
    rows, against = _rows_of(index, example, query)
    theirs = None if against is None else index.value(against, score)
    return any(_row_fits(index, row, query, score, theirs) for row in rows)


def _row_fits(
    index: ExampleIndex, row: int, query: Query, score: str | None, theirs: float | None
) -> bool:
    value = index.value(row, score)
    if query.status is not None and index.state(row, score) != _STATES[query.status]:
        return False
    if query.low is not None and (value is None or value < query.low):
        return False
    if query.high is not None and (value is None or value > query.high):
        return False
    if query.outcome is None:
        return True
    if value is None or theirs is None:
        return False
    return query.outcome == ("same" if value == theirs else "better" if value > theirs else "worse")


def _ordered(index: ExampleIndex, examples: list[int], query: Query) -> list[int]:
    if query.sort == "order":
        return examples[::-1] if query.descending else examples
    sign = -1 if query.descending else 1
    keys = {example: _sorted_by(index, example, query) for example in examples}

    def place(example: int) -> tuple[bool, float]:
        key = keys[example]
        return key is None, sign * (key or 0.0)

    return sorted(examples, key=place)


def _sorted_by(index: ExampleIndex, example: int, query: Query) -> float | None:
    """The mean over the rows that are asked about, or the difference; None without a value."""
    score = query.score or index.main_score
    rows, against = _rows_of(index, example, query)
    if query.sort in ("score", "difference"):
        values = [index.value(row, score) for row in rows]
    else:
        column = index.output_tokens if query.sort == "tokens" else index.latency
        values = [None if index.errored[row] else float(column[row]) for row in rows]
    present = [value for value in values if value is not None]
    if not present:
        return None
    if query.sort != "difference":
        return sum(present) / len(present)
    if query.system is None:
        return max(present) - min(present)
    theirs = None if against is None else index.value(against, score)
    return None if theirs is None else present[0] - theirs


def search(index: ExampleIndex, result: EvalResult | None, terms: Sequence[str]) -> set[int]:
    """The examples of which the texts, those of outputs and rows included, have all terms."""
    found = set(range(len(index.keys)))
    for term in terms:
        places = set() if result is None else set(find_places(result, term))
        found &= {
            example
            for example in found
            if any(index.where(position) in places for position in index.rows_of[example])
        }
    return found


_ROWS = """SELECT r.position, r.example_key, e.content, e.checksum, o.output, o.checksum,
  r.metadata, r.missing, r.response, r.error, r.example_id
FROM rows r LEFT JOIN examples e ON e.example_key = r.example_key
LEFT JOIN outputs o ON o.system_key = r.system_key AND o.example_key = r.example_key
  AND o.repeat = r.repeat AND o.output_key = r.output_key
WHERE r.run_id=? AND r.system=?"""
_LONG_TEXTS = "SELECT text_key FROM texts WHERE instr(lower(content), ?)"
_REFERENCE = re.compile(r'"\$text":"([^"]+)"')


def find_places(result: EvalResult, term: str) -> Iterator[int]:
    """The places of the rows of which the example, the output or the row itself has a term.

    The term is in lower case. Names of fields are not searched.
    """
    texts = result.texts
    if isinstance(texts, Joined):
        yield from _find_in_store(texts.parts, term)
        return
    for place, row in enumerate(result.rows):
        kept = Texts() if texts is None else texts[place]
        own = (row.metadata, row.missing, row.response, row.error, str(row.example_id))
        if _has((kept.example, kept.output, *own), term):
            yield place


def _find_in_store(parts: Sequence[Any], term: str) -> Iterator[int]:
    needle = _find_needle(term)
    long_texts: dict[str, set[str]] = {}  # of each run
    known: dict[tuple[str, str], bool] = {}  # whether an example has the term
    start = 0
    for part in parts:
        run, reader = part.run_id, part.reader
        if run not in long_texts:
            long_texts[run] = {key for (key,) in reader.query(_LONG_TEXTS, (needle,))}

        def may_have(text: str | None, keys: set[str] = long_texts[run]) -> bool:
            return text is not None and (
                needle in text.lower() or not keys.isdisjoint(_REFERENCE.findall(text))
            )

        for place, values in enumerate(part.select(_ROWS, 0, len(part)), start):
            _, key, content, content_sum, output, output_sum, *own = values
            if (run, key) not in known:
                has_it = may_have(content) and _has(reader.read(content, content_sum), term)
                known[run, key] = has_it
            if (
                known[run, key]
                or (may_have(output) and _has(reader.read(output, output_sum), term))
                or (any(map(may_have, own)) and _has(_decode_row(part, *own), term))
            ):
                yield place
        start += len(part)


def _decode_row(
    part: Any, metadata: str, missing: str, response: str | None, *own: str | None
) -> Sequence[Any]:
    """The texts of a row, as far as they are not damaged."""
    with contained():
        is_long = response is not None and response[:1] == "{"
        whole = part.reader.decode(response) if response is not None and is_long else response
        return [part.reader.decode(metadata), part.reader.decode(missing), whole, *own]
    return own


def _has(value: Any, term: str) -> bool:
    """Whether a text in plain data has a term in it."""
    if isinstance(value, str):
        return term in value.lower()
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return False
    return any(_has(part, term) for part in value)


def _find_needle(term: str) -> str:
    """The longest part of a term, in lower case, that is written in JSON as it is.

    Quotes and control characters are escaped in JSON, and SQLite lowers ASCII letters only.
    """
    is_cased = not term.isascii() and term.upper() != term.lower()
    runs = re.findall(r"[ !#-\[\]-~]+" if is_cased else r'[^"\\\x00-\x1f\x7f]+', term.lower())
    return max(runs, key=len, default="")
