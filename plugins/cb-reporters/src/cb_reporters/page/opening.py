"""One example, opened: all that is known of it, with every system's row side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from cb_reporters import formats
from cb_reporters.page.index import ExampleIndex
from cb_reporters.page.reading import Reading, context_of
from cbcore.contexts import FORMS, pass_on
from cbcore.json_data import to_json_safe
from cbcore.results import EvalResult, EvalRow, Texts

LONGEST = 1_000_000
"""How many characters of one text the page gets."""

_OF_ITS_OWN = ("traceback", "cost_usd", "retries")
_SHOWN_OUTPUT = (*FORMS, "response", "metadata", "usage", "stage_usage", "turns")


def opened(result: EvalResult, index: ExampleIndex, example: int) -> dict[str, Any]:
    """An example as the page shows it when it is opened.

    `context`, `question`, `gold` and `evidence` are of the example; `fields` are its others.
    Each of `rows` has the number of its system, `scores`, `missing`, `error`, `traceback`,
    tokens, `latency`, `cost_usd`, `retries`, `response`, `details` (what evaluators and systems
    kept), `output` (other fields the system changed), and `context`: a text, true where it is
    that of the example, null where it was not kept.
    """
    dataset, example_id, repeat = index.keys[example]
    rows = index.rows_by_system(example)
    places = {system: index.where(position) for system, position in rows.items()}
    kept = {
        system: Texts() if result.texts is None else result.texts[place]
        for system, place in places.items()
    }
    given = next((texts.example for texts in kept.values() if texts.example is not None), None)
    reading = Reading.of(given)
    return {
        "example": example,
        "dataset": list(index.datasets)[dataset],
        "id": example_id,
        "repeat": repeat,
        "kept": given is not None,
        "question": _cut(reading.question),
        "gold": [_cut(text) for text in reading.gold],
        "context": _cut(reading.context),
        "evidence": [_cut(text) for text in reading.evidence],
        "fields": _cut(reading.rest),
        "rows": [
            _row(system, result.rows[place], kept[system], reading, given)
            for system, place in sorted(places.items())
        ],
    }


def _row(
    system: int,
    row: EvalRow,
    texts: Texts,
    reading: Reading,
    given: Mapping[str, Any] | None,
) -> dict[str, Any]:
    metadata = row.metadata
    output = texts.output or {}
    details = {key: value for key, value in metadata.items() if key not in _OF_ITS_OWN}
    changed = {
        str(key): value
        for key, value in output.items()
        if key not in _SHOWN_OUTPUT and (given is None or given.get(key) != value)
    }
    return {
        "system": system,
        "scores": {name: _rounded(value) for name, value in row.scores.items()},
        "missing": {name: _cut(reason) for name, reason in row.missing.items()},
        "error": _cut(row.error),
        "traceback": _cut(metadata.get("traceback")),
        "input_tokens": row.input_tokens,
        "output_tokens": row.output_tokens,
        "response_tokens": row.response_tokens,
        "latency": _rounded(row.latency),
        "cost_usd": formats.finite(metadata.get("cost_usd")),
        "retries": formats.finite(metadata.get("retries")),
        "cached": row.cached,
        "response": _cut(row.response),
        "context": _context(texts, reading),
        "details": _cut(to_json_safe(details)) if details else {},
        "output": _cut(to_json_safe(changed)) if changed else {},
    }


def _context(texts: Texts, reading: Reading) -> str | bool | None:
    if texts.output is None:
        return None
    made = context_of(pass_on(texts.example or {}, texts.output), texts.example)
    return True if made == reading.context and made is not None else _cut(made)


def _rounded(value: float) -> float | None:
    """What nobody can see need not be sent."""
    return round(value, 7) if isinstance(value, int | float) and math.isfinite(value) else None


def _cut(value: Any) -> Any:
    """The value with every text in it cut to what a page can bear."""
    if isinstance(value, str):
        if len(value) <= LONGEST:
            return value
        return f"{value[:LONGEST]}\n… {len(value) - LONGEST:,} more characters"
    if isinstance(value, dict):
        return {key: _cut(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_cut(part) for part in value]
    return value
