"""An example with all that is known of it, and every system's row side by side."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeVar

from cb_reporters import formats
from cb_reporters.page.index import ExampleIndex
from cb_reporters.page.reading import Reading, context_of
from cbcore.contexts import FORMS, pass_on
from cbcore.json_data import to_json, to_json_safe
from cbcore.results import EvalResult, EvalRow, Texts

LONGEST = 1_000_000
"""How many characters of one text the page gets."""

_Item = TypeVar("_Item")
_AT_ONCE = 100
"""Rows that are read together. Each may have a long text."""
_OF_ITS_OWN = ("traceback", "cost_usd", "retries")
_SHOWN_OUTPUT = (*FORMS, "response", "metadata", "usage", "stage_usage", "turns")


def open_example(result: EvalResult, index: ExampleIndex, example: int) -> dict[str, Any]:
    """An example as the page shows it when it is opened.

    `context`, `question`, `gold` and `evidence` are of the example; `fields` are its others.
    Each of `rows` has the number of its system, `scores`, `missing`, `error`, `traceback`,
    tokens, `latency`, `cost_usd`, `retries`, `response`, `details` (what evaluators and systems
    stored), `output` (other fields the system changed), and `context`: a text, true where it is
    that of the example, null where it was not stored.
    """
    return next(open_examples(result, index, [example]))


def open_examples(
    result: EvalResult, index: ExampleIndex, examples: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """Several examples like `open_example`. Each row is read once, and neighbors together."""
    step = max(1, _AT_ONCE // max(1, len(index.systems)))
    for start in range(0, len(examples), step):
        places = {
            example: [
                (system, index.where(position))
                for system, position in sorted(index.rows_by_system(example).items())
            ]
            for example in examples[start : start + step]
        }
        wanted = sorted(place for of_example in places.values() for _, place in of_example)
        rows = _read_places(result.rows, wanted)
        texts = {} if result.texts is None else _read_places(result.texts, wanted)
        for example, of_example in places.items():
            found = [(n, rows[place], texts.get(place, Texts())) for n, place in of_example]
            yield _open(index, example, found)


def _read_places(items: Sequence[_Item], places: Iterable[int]) -> dict[int, _Item]:
    found: dict[int, _Item] = {}
    for _, group in groupby(enumerate(places), lambda numbered: numbered[1] - numbered[0]):
        neighbors = [place for _, place in group]
        found.update(zip(neighbors, items[neighbors[0] : neighbors[-1] + 1], strict=True))
    return found


def _open(
    index: ExampleIndex, example: int, found: Sequence[tuple[int, EvalRow, Texts]]
) -> dict[str, Any]:
    dataset, example_id, repeat = index.keys[example]
    given = next((texts.example for _, _, texts in found if texts.example is not None), None)
    reading = Reading.of(given)
    data = {
        "example": example,
        "dataset": list(index.datasets)[dataset],
        "id": example_id,
        "repeat": repeat,
        "kept": given is not None,
        "question": reading.question,
        "gold": reading.gold,
        "context": reading.context,
        "evidence": reading.evidence,
        "fields": reading.rest,
        "rows": [_describe_row(n, row, texts, reading, given) for n, row, texts in found],
    }
    return _make_plain(data)


def _describe_row(
    system: int,
    row: EvalRow,
    texts: Texts,
    reading: Reading,
    given: Mapping[str, Any] | None,
) -> dict[str, Any]:
    metadata = row.metadata
    output = texts.output or {}
    return {
        "system": system,
        "scores": {name: _round(value) for name, value in row.scores.items()},
        "missing": row.missing,
        "error": row.error,
        "traceback": metadata.get("traceback"),
        "input_tokens": row.input_tokens,
        "output_tokens": row.output_tokens,
        "response_tokens": row.response_tokens,
        "latency": _round(row.latency),
        "cost_usd": formats.finite(metadata.get("cost_usd")),
        "retries": formats.finite(metadata.get("retries")),
        "cached": row.cached,
        "response": row.response,
        "context": _find_context(texts, reading),
        "details": {key: value for key, value in metadata.items() if key not in _OF_ITS_OWN},
        "output": {
            str(key): value
            for key, value in output.items()
            if key not in _SHOWN_OUTPUT and (given is None or given.get(key) != value)
        },
    }


def _find_context(texts: Texts, reading: Reading) -> str | bool | None:
    if texts.output is None:
        return None
    made = context_of(pass_on(texts.example or {}, texts.output), texts.example)
    return True if made == reading.context and made is not None else made


def _round(value: float) -> float | None:
    """A number to as many digits as anybody can see."""
    return round(value, 7) if isinstance(value, int | float) and math.isfinite(value) else None


def _make_plain(data: dict[str, Any]) -> dict[str, Any]:
    """JSON data in which every text is cut to what a page can bear."""
    try:
        text = to_json(data)
    except TypeError:  # a result that was not stored may hold any value
        data = to_json_safe(data)
        text = to_json(data)
    plain: dict[str, Any] = json.loads(text)
    return _cut(plain) if len(text) > LONGEST else plain


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        if len(value) <= LONGEST:
            return value
        return f"{value[:LONGEST]}\n… {len(value) - LONGEST:,} more characters"
    if isinstance(value, dict):
        return {key: _cut(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_cut(part) for part in value]
    return value
