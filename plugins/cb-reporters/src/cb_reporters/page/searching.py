"""A search in the texts of a result. Most texts of a store are passed over without decoding them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cbcore.boundary import contained
from cbcore.results import EvalResult, Joined, Texts
from cbcore.store.rows import StoredRows

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
    part: StoredRows, metadata: str, missing: str, response: str | None, *own: str | None
) -> Sequence[Any]:
    """The texts of a row, as far as they are not damaged."""
    with contained():
        whole = part.reader.decode(response) if response and response[0] == "{" else response
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
