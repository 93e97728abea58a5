"""The rows of a result as an HTML table."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from cb_reporters import formats
from cb_reporters.formats import ABSENT
from cb_reporters.markup import Markup, join, tag
from cbcore.results import EvalResult, EvalRow
from cbcore.texts import visible

_PREVIEW = 120
_LONGEST = 4000


def rows_section(result: EvalResult, max_rows: int) -> Markup:
    """The first rows, with a filter that appears where scripts may run."""
    total = len(result.rows)
    rows = list(itertools.islice(result.rows, max_rows))
    scores = sorted({name for row in rows for name in row.scores})
    main = [name for name in scores if name == result.config.get("score_field")]
    others = [name for name in scores if name not in main]
    tagged = any(row.dataset for row in rows)
    texts = ["example", "system", *(["dataset"] if tagged else [])]
    heads = [
        *(tag("th", text, scope="col") for text in texts),
        *(_numeric_header(name) for name in main),
        tag("th", "response", scope="col"),
        *(_numeric_header(name) for name in ("tokens in", "tokens out", "latency", *others)),
    ]
    told = f"{total:,} rows" if total != 1 else "1 row"
    if len(rows) < total:
        told = (
            f"The first {len(rows):,} of {total:,} rows; the json, jsonl and csv reports hold all."
        )
    tools = tag(
        "div",
        tag("label", "Filter", for_="filter"),
        tag("input", id="filter", type="search", placeholder="words in any column"),
        tag("output", id="shown", aria_live="polite"),
        class_="tools",
        hidden=True,
    )
    body = tag("tbody", *(_row(row, main, others, tagged) for row in rows), id="rows")
    table = tag("table", tag("thead", tag("tr", *heads)), body, class_="sortable rows")
    scroll = tag("div", table, class_="scroll tall", tabindex="0", role="region", aria_label="Rows")
    return join(tag("h2", "Rows"), tag("p", told, class_="lead"), tools, scroll if rows else None)


def _numeric_header(text: str) -> Markup:
    return tag("th", text, scope="col", class_="num")


def _row(row: EvalRow, main: list[str], others: list[str], tagged: bool) -> Markup:
    """One row: the score that matters, the response, then all other numbers."""
    measured = row.error is None
    return tag(
        "tr",
        tag("th", tag("bdi", str(row.example_id)), scope="row", class_="id"),
        tag("td", tag("bdi", row.system)),
        tag("td", tag("bdi", row.dataset)) if tagged else None,
        *(_number(row.scores.get(name), formats.score) for name in main),
        tag("td", *_problems(row), _expandable(row.response), class_="text"),
        _number(row.input_tokens if measured else None, formats.count),
        _number(row.output_tokens if measured else None, formats.count),
        _number(row.latency if measured else None, formats.duration),
        *(_number(row.scores.get(name), formats.score) for name in others),
    )


def _number(value: object, write: formats.Format) -> Markup:
    number = formats.finite(value)
    if number is None:
        return tag("td", ABSENT, class_="num none")
    return tag("td", write(number), class_="num", data_value=repr(number))


def _expandable(text: str | None) -> Markup | None:
    """Short text as it is; long text as its beginning, which opens to show the rest."""
    if not text:
        return None
    if len(text) <= _PREVIEW and "\n" not in text:
        return tag("span", text, dir="auto")
    preview = visible(" ".join(text[: 2 * _PREVIEW].split())[:_PREVIEW])
    cut = f"\n… {len(text) - _LONGEST:,} more characters" if len(text) > _LONGEST else ""
    full = tag("div", text[:_LONGEST] + cut, class_="full", dir="auto")
    return tag("details", tag("summary", f"{preview} …", dir="auto"), full)


def _problems(row: EvalRow) -> Iterator[Markup]:
    if row.error is not None:
        yield tag("strong", "error", class_="error")
        yield join(" ", _expandable(row.error))
    for score, reason in row.missing.items():
        yield tag("p", tag("strong", f"no {score}", class_="error"), f": {reason}", dir="auto")
