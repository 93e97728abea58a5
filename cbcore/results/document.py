"""A result as JSON, with the texts behind its rows.

Everything is checked when it is read, as a file may come from anybody.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import attrs

from cbcore.exceptions import ResultError
from cbcore.json_data import MAX_DEPTH, to_json_safe
from cbcore.results.eval_row import EvalRow, Texts
from cbcore.results.sections import Section
from cbcore.results.verdicts import Verdict
from cbcore.secrets import hide
from cbcore.stats import Estimate
from cbcore.texts import visible_json

if TYPE_CHECKING:
    from cbcore.results.eval_result import EvalResult

_SCHEMA_VERSION = 2
"""Version of the JSON form. Other versions are refused."""

_LARGEST = 2**63
"""The integers that tables and databases can hold."""

_Data: TypeAlias = Mapping[str, Any]
"""An object of JSON."""

_PARTS: dict[str, Any] = {
    "config": dict[str, Any],
    "summary": dict[str, dict[str, float | None]],
    "estimates": dict[str, dict[str, dict[str, Any]]],
    "undecided": dict[str, list[str]],
    "verdicts": list[dict[str, Any]],
    "timing": dict[str, float | None],
    "problems": list[str],
    "sections": dict[str, Any],
}
"""The parts of a result next to its rows and texts."""

_RECORD: dict[str, Any] = {
    **dict.fromkeys(("name", "plugin", "version", "component"), str),
    **dict.fromkeys(("digest", "record_digest", "source_commit", "data"), str),
    "n_examples": int,
    "params": dict[str, Any],
    "stages": list[dict[str, Any]],
}


# -- writing -----------------------------------------------------------------------------------


def document_of(result: EvalResult) -> dict[str, Any]:
    """A result without its rows and texts, as JSON data without secrets."""
    document = {
        "schema": _SCHEMA_VERSION,
        "config": result.config,
        "summary": result.summary,
        "estimates": {
            system: {metric: _estimate_data(one) for metric, one in found.items()}
            for system, found in result.estimates.items()
        },
        "undecided": result.undecided,
        "verdicts": [{**attrs.asdict(v), "sentence": v.sentence} for v in result.verdicts],
        "timing": result.timing,
        "problems": result.problems,
        "sections": {name: attrs.asdict(section) for name, section in result.sections.items()},
    }
    safe: dict[str, Any] = hide(to_json_safe(document))
    return safe


def _estimate_data(estimate: Estimate) -> Any:
    """An estimate as JSON data; an infinite bound is null."""
    data = attrs.asdict(estimate)
    data["low"], data["high"] = data.pop("interval") or (None, None)
    return data


def write_file(result: EvalResult, path: str | Path) -> None:
    """Write a result, row by row, to a file that replaces `path` when it is complete."""
    target = Path(path)
    part = target.with_name(f".{target.name}.{os.urandom(4).hex()}")
    try:
        with part.open("w", encoding="utf-8", newline="\n") as file:
            for piece in _pieces(result):
                file.write(visible_json(piece))
        part.replace(target)
    except OSError as error:
        raise ResultError(f"cannot write {path}: {error.strerror}") from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def _pieces(result: EvalResult) -> Iterator[str]:
    yield "{"
    for name, part in document_of(result).items():
        yield f"{_json(name)}: {_json(part)},\n"
    if result.texts is not None:
        yield from _pieces_of_texts(result.texts)
    yield '"rows": '
    yield from _pieces_of_list(_json(to_json_safe(row.to_dict())) for row in result.rows)
    yield "}\n"


def _pieces_of_texts(texts: Sequence[Texts]) -> Iterator[str]:
    """Each example once; for each row the number of its example and the rest of its output."""
    numbers: dict[int, int] = {}
    of_rows: list[int | None] = []

    def new_examples() -> Iterator[str]:
        for text in texts:
            number = None
            if text.example is not None:
                written = _json(hide(to_json_safe(text.example)))
                key = hash(written)  # not the text itself, which would keep all in memory
                if key not in numbers:
                    yield written
                number = numbers.setdefault(key, len(numbers))
            of_rows.append(number)

    yield '"texts": {"examples": '
    yield from _pieces_of_list(new_examples())
    yield ', "rows": '
    yield from _pieces_of_list(
        _json([number, *_split_output(text)]) for number, text in zip(of_rows, texts, strict=True)
    )
    yield "},\n"


def _split_output(text: Texts) -> tuple[Any, list[str]]:
    """An output without what it repeats of its example, and the names of that."""
    if text.output is None:
        return None, []
    example = text.example or {}
    same = [key for key, value in text.output.items() if key in example and example[key] == value]
    own = {key: value for key, value in text.output.items() if key not in same}
    return hide(to_json_safe(own)), same


def _pieces_of_list(items: Iterator[str]) -> Iterator[str]:
    yield "["
    for number, item in enumerate(items):
        yield f",\n{item}" if number else item
    yield "]"


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False)


# -- reading -----------------------------------------------------------------------------------


def read_text(text: str | bytes) -> dict[str, Any]:
    """The fields of the result in a JSON text. Raises `ResultError`."""
    try:
        data = json.loads(text)
        if _is_deeper(data, 2 * MAX_DEPTH):
            raise RecursionError
    except RecursionError as error:
        raise ResultError("this result is nested too deeply") from error
    except ValueError as error:
        raise ResultError(
            f"this is not a saved result: {error}",
            hint="`cb run -o json=FILE` or result.save(FILE) writes one",
        ) from error
    if not isinstance(data, dict) or "rows" not in data or "schema" not in data:
        raise ResultError("this JSON is not a saved result: it has no 'schema' and 'rows'")
    fields = read_document(data)
    with _refuse("a row"):
        rows = [_read_row(number, row) for number, row in enumerate(data["rows"])]
    texts = None
    if (data_of_texts := data.get("texts")) is not None:
        with _refuse("the texts"):
            texts = [_read_text(data_of_texts["examples"], *row) for row in data_of_texts["rows"]]
            if len(texts) != len(rows):
                raise ValueError(f"{len(texts)} texts for {len(rows)} rows")
    return {**fields, "rows": rows, "texts": texts}


def read_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a result that `document_of` wrote. Raises `ResultError`."""
    schema = document.get("schema")
    if schema != _SCHEMA_VERSION:
        is_newer = isinstance(schema, int) and schema > _SCHEMA_VERSION
        raise ResultError(
            f"This result has schema {schema!r}. This version of cb reads {_SCHEMA_VERSION}.",
            hint="Update cbcore." if is_newer else "Run the benchmark again with this version.",
        )
    _check_fields("this result", document, _PARTS)
    parts = {name: document.get(name) or typing.get_origin(k)() for name, k in _PARTS.items()}
    check_config(parts["config"])
    with _refuse("an estimate or a verdict"):
        parts["estimates"] = {
            system: {metric: _read_estimate(data) for metric, data in found.items()}
            for system, found in parts["estimates"].items()
        }
        parts["verdicts"] = [_read_verdict(data) for data in parts["verdicts"]]
    sections = {}
    for name, section in parts["sections"].items():
        with _refuse(f"the section {name!r}"):
            sections[name] = Section(**section)
    return {**parts, "sections": sections}


@contextlib.contextmanager
def _refuse(part: str) -> Iterator[None]:
    """Raise `ResultError` if the data of a part has another form."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise ResultError(f"{part} of this result cannot be read: {error!r}") from error


def _read_estimate(data: _Data) -> Estimate:
    bounds = dict.fromkeys(("low", "high"), float)
    _check_fields("an estimate", data, typing.get_type_hints(Estimate) | bounds)
    fields = {**data}
    low, high = (fields.pop(name, None) for name in bounds)
    if fields.get("method") is not None:
        fields["interval"] = -math.inf if low is None else low, math.inf if high is None else high
    return Estimate(**fields)


def _read_verdict(data: _Data) -> Verdict:
    _check_fields("a verdict", data, typing.get_type_hints(Verdict))
    return Verdict(**{name: value for name, value in data.items() if name != "sentence"})


def _read_row(number: int, data: _Data) -> EvalRow:
    """A row. A score that was not a finite number, which JSON cannot hold, is missing."""
    fields = {name: value for name, value in data.items() if value is not None}
    _check_fields(f"row {number}", fields, _row_kinds())
    scores = fields.get("scores", {})
    _check_fields(f"the scores of row {number}", scores, dict.fromkeys(scores, float | bool))
    row = EvalRow(**fields)
    row.scores = {name: score for name, score in scores.items() if score is not None}
    for name in scores.keys() - row.scores.keys():
        row.missing.setdefault(name, "it was no finite number")
    if "latency" in data and "latency" not in fields:
        row.latency = math.nan
    return row


@functools.cache
def _row_kinds() -> _Data:
    own = {"scores": dict[str, Any], "example_id": str | Integral}
    return typing.get_type_hints(EvalRow) | own


def _read_text(examples: Sequence[_Data], number: int | None, own: Any, same: list[str]) -> Texts:
    example = None if number is None else examples[number]
    if own is None:
        return Texts(example)
    return Texts(example, {**{key: (example or {})[key] for key in same}, **own})


# -- checking ----------------------------------------------------------------------------------


def _is_deeper(data: Any, n_levels: int) -> bool:
    """Whether data is nested more deeply than so many levels."""
    items = data.values() if isinstance(data, dict) else data
    if not isinstance(data, dict | list):
        return False
    return not n_levels or any(_is_deeper(item, n_levels - 1) for item in items)


def check_config(config: _Data) -> None:
    """Raise `ResultError` unless a configuration has what `RunConfig` declares."""
    from cbcore.results.eval_result import RunConfig

    kinds = typing.get_type_hints(RunConfig)
    _check_fields("this result", config, kinds)
    for key, kind in kinds.items():
        if typing.get_origin(kind) is Sequence:
            _check_components(config.get(key) or ())
    settings = config.get("settings") or {}
    numbers = {name for name, value in settings.items() if isinstance(value, float)}
    _check_fields("this result", settings, dict.fromkeys({*numbers, "threshold"}, float))


def _check_components(records: Iterable[_Data]) -> None:
    for record in records:
        _check_fields("a component", record, _RECORD)
        _check_components(record.get("stages") or ())


def _check_fields(what: str, fields: _Data, kinds: _Data) -> None:
    """Raise `ResultError` unless each field is of its type, or absent."""
    for name, kind in kinds.items():
        value = fields.get(name)
        if value is not None and not _fits(value, kind):
            raise ResultError(f"{name!r} of {what} cannot be {value!r:.80}")


def _fits(value: Any, kind: Any) -> bool:
    """Whether JSON data is of a type. A number has to be one that tables and databases can hold."""
    origin = typing.get_origin(kind)
    parts = typing.get_args(kind)
    if kind is Any:
        return True
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is Literal:
        return isinstance(value, str)
    if kind in (int, float):
        if isinstance(value, int):
            return not isinstance(value, bool) and -_LARGEST <= value < _LARGEST
        return isinstance(value, float) and math.isfinite(value)
    if origin in (dict, Mapping):
        return isinstance(value, dict) and all(_fits(item, parts[1]) for item in value.values())
    if origin in (list, Sequence):
        return isinstance(value, list) and all(_fits(item, parts[0]) for item in value)
    return isinstance(value, kind)
