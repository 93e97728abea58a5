"""Rows that failed and scores that are missing, by cause."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from cb_reporters.markup import Markup, join, tag
from cb_reporters.page.tables import number, table
from cbcore.results.causes import Cause

_MOST = 20
_LONGEST = 600


def errors_section(causes: Sequence[Cause], n_rows: int) -> Markup | None:
    """Each cause of errors with its count, the systems it met, and one example."""
    errors = [cause for cause in causes if cause.kind == "error"]
    if not errors:
        return None
    total = sum(cause.count for cause in errors)
    told = f"{total:,} of {n_rows:,} rows failed. They have no scores and count in no mean."
    return join(
        tag("h2", "Errors"),
        tag("p", told, class_="lead"),
        _table("Errors by cause", errors),
    )


def missing_section(
    causes: Sequence[Cause], unscored: Mapping[str, int], score: str | None
) -> Markup | None:
    """Each reason for a missing score, likewise; and where the main one was not asked for."""
    missing = [cause for cause in causes if cause.kind == "missing"]
    told = "These rows were processed, but a score could not be given. It is never a zero."
    beside = [
        f"{count:,} rows of {dataset or 'the data'} have no {score}: nothing that gives it applies "
        "to them. They count in no mean of it."
        for dataset, count in unscored.items()
    ]
    if not missing and not beside:
        return None
    return join(
        tag("h2", "Missing scores"),
        tag("p", told, class_="lead") if missing else None,
        _table("Missing scores by reason", missing) if missing else None,
        *(tag("p", text, class_="caption", dir="auto") for text in beside[:_MOST]),
    )


def _table(label: str, causes: Sequence[Cause]) -> Markup:
    with_score = any(cause.score for cause in causes)
    heads = ("rows", *(["score"] if with_score else []), "reason", "systems", "for example")
    lines = [_line(cause, with_score) for cause in causes[:_MOST]]
    more = f"{len(causes) - _MOST:,} more causes." if len(causes) > _MOST else None
    return join(
        table(label, heads, lines, texts=range(1, len(heads))),
        tag("p", more, class_="caption") if more else None,
    )


def _line(cause: Cause, with_score: bool) -> list[Markup]:
    reason = cause.reason
    cut = f" … {len(reason) - _LONGEST:,} more characters" if len(reason) > _LONGEST else ""
    systems = ", ".join(
        f"{system} ({count:,})" if len(cause.systems) > 1 else system
        for system, count in cause.systems.items()
    )
    address = {
        "example": cause.example_id,
        "of": cause.dataset,
        "system": cause.system,
        "status": cause.kind,
        "score": cause.score,
    }
    link = "#" + urlencode({key: _plain(v) for key, v in address.items() if v != ""})
    return [
        number(f"{cause.count:,}", cause.count),
        *([tag("td", tag("bdi", cause.score))] if with_score else []),
        tag("td", tag("span", reason[:_LONGEST] + cut, dir="auto"), class_="text reason"),
        tag("td", tag("bdi", systems), class_="text"),
        tag("td", tag("a", tag("bdi", str(cause.example_id)), href=link), class_="id"),
    ]


def _plain(value: object) -> str:
    """Text that an address can hold: a lone surrogate cannot be part of one."""
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "replace").decode()
