"""A result as JSON, with the texts behind its rows.

Everything is checked when it is read, as a file may come from anybody.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
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

_ABSENT = object()

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
    estimates = {}
    for system, found in result.estimates.items():
        estimates[system] = {metric: _estimate_data(one) for metric, one in found.items()}
    document = {
        "schema": _SCHEMA_VERSION,
        "config": result.config,
        "summary": result.summary,
        "estimates": estimates,
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
    """Each example once; for each row the number of its example and what its output adds to it."""
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
    same = [key for key, value in text.output.items() if example.get(key, _ABSENT) == value]
    own = {key: value for key, value in text.output.items() if key not in same}
    return hide(to_json_safe(own)), same


def _pieces_of_list(items: Iterator[str]) -> Iterator[str]:
    separator = "["
    for item in items:
        yield separator + item
        separator = ",\n"
    yield "]" if separator != "[" else "[]"


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False)


# -- reading -----------------------------------------------------------------------------------


def read_text(text: str | bytes) -> dict[str, Any]:
    """The fields of the result in a JSON text. Raises `ResultError`."""
    try:
        data = json.loads(text)
    except RecursionError as error:
        raise ResultError("this result is nested too deeply") from error
    except ValueError as error:
        raise ResultError(
            f"this is not a saved result: {error}",
            hint="`cb run -o json=FILE` or result.save(FILE) writes one",
        ) from error
    if not isinstance(data, dict) or "rows" not in data or "schema" not in data:
        raise ResultError("this JSON is not a saved result: it has no 'schema' and 'rows'")
    _check_depth(data)
    fields = read_document(data)
    rows = _read_rows(data["rows"])
    return {**fields, "rows": rows, "texts": _read_texts(data.get("texts"), len(rows))}


def read_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a result that `document_of` wrote. Raises `ResultError`."""
    schema = document.get("schema")
    if schema != _SCHEMA_VERSION:
        is_newer = isinstance(schema, int) and schema > _SCHEMA_VERSION
        raise ResultError(
            f"This result has schema {schema!r}. This version of cb reads {_SCHEMA_VERSION}.",
            hint="Update cbcore." if is_newer else "Run the benchmark again with this version.",
        )
    parts: dict[str, Any] = {}
    for name, kind in _PARTS.items():
        value = document.get(name)
        _check(f"{name!r} of this result", value, kind)
        parts[name] = typing.get_origin(kind)() if value is None else value
    check_config(parts["config"])
    try:
        parts["estimates"] = {
            system: {metric: _read_estimate(data) for metric, data in found.items()}
            for system, found in parts["estimates"].items()
        }
        parts["verdicts"] = [_read_verdict(data) for data in parts["verdicts"]]
    except TypeError as error:
        raise ResultError(f"an estimate or verdict cannot be read: {error}") from error
    parts["sections"] = {name: _read_section(name, one) for name, one in parts["sections"].items()}
    return parts


def _read_section(name: str, data: _Data) -> Section:
    try:
        return Section(**data)
    except TypeError as error:
        raise ResultError(f"the section {name!r} of this result cannot be read") from error


def _read_estimate(data: _Data) -> Estimate:
    fields = {**data}
    bounds = dict.fromkeys(("low", "high"), float)
    _check_fields("an estimate", fields, typing.get_type_hints(Estimate) | bounds)
    low = fields.pop("low", None)
    high = fields.pop("high", None)
    if fields.get("method") is not None:
        if low is None:
            low = -math.inf
        if high is None:
            high = math.inf
        fields["interval"] = low, high
    return Estimate(**fields)


def _read_verdict(data: _Data) -> Verdict:
    fields = {**data}
    fields.pop("sentence", None)
    _check_fields("a verdict", fields, typing.get_type_hints(Verdict))
    return Verdict(**fields)


def _read_rows(data: Any) -> list[EvalRow]:
    """The rows of a file. A score that was not a finite number, which JSON cannot hold, is missing."""
    hints = typing.get_type_hints(EvalRow) | {
        "scores": dict[str, Any],
        "latency": float | None,
        "example_id": str | Integral,
    }
    rows = []
    try:
        for number, fields in enumerate(data):
            row = EvalRow(**fields)
            for name, kind in hints.items():
                _check(f"{name!r} of row {number}", getattr(row, name), kind, is_optional=False)
            if fields.get("latency", 0.0) is None:
                row.latency = math.nan
            scores: dict[str, Any] = row.scores
            for name, score in list(scores.items()):
                if score is None:
                    row.missing.setdefault(name, "it was no finite number")
                    del scores[name]
                elif not isinstance(score, bool):
                    _check(f"the score {name!r} of row {number}", score, float)
            rows.append(row)
    except TypeError as error:
        raise ResultError(f"a row of this result cannot be read: {error}") from error
    return rows


def _read_texts(data: Any, n_rows: int) -> list[Texts] | None:
    if data is None:
        return None
    try:
        examples: list[_Data] = data["examples"]
        texts = [_join_output(examples, *of_row) for of_row in data["rows"]]
    except (TypeError, KeyError, IndexError, ValueError) as error:
        raise ResultError(f"the texts of this result cannot be read: {error!r}") from error
    if len(texts) != n_rows:
        raise ResultError(f"this result has the texts of {len(texts)} rows, but {n_rows} rows")
    return texts


def _join_output(examples: Sequence[_Data], number: int | None, own: Any, same: list[str]) -> Texts:
    example = None if number is None else examples[number]
    if own is None:
        return Texts(example)
    output = {}
    for key in same:
        output[key] = (example or {})[key]
    return Texts(example, {**output, **own})


# -- checking ----------------------------------------------------------------------------------


def _check_depth(data: Any) -> None:
    """Refuse data that is nested more deeply than any result that was written."""
    level = [data]
    for _ in range(2 * MAX_DEPTH):
        next_level = []
        for outer in level:
            items = outer.values() if isinstance(outer, dict) else outer
            next_level += [item for item in items if isinstance(item, dict | list)]
        if not next_level:
            return
        level = next_level
    raise ResultError("this result is nested too deeply")


def check_config(config: _Data) -> None:
    """Raise `ResultError` unless a configuration has what `RunConfig` declares."""
    from cbcore.results.eval_result import RunConfig

    hints = typing.get_type_hints(RunConfig)
    _check_fields("this result", config, hints)
    for key, kind in hints.items():
        if typing.get_origin(kind) is Sequence:
            for record in config.get(key) or ():
                _check_record(record)
    settings = config.get("settings") or {}
    for name, value in settings.items():
        if name == "threshold" or isinstance(value, float):
            _check(f"{name!r} of this result", value, float)


def _check_record(record: Any) -> None:
    _check("a component of this result", record, dict[str, Any])
    _check_fields("a component", record, _RECORD)
    for stage in record.get("stages") or ():
        _check_record(stage)


def _check_fields(what: str, fields: _Data, kinds: _Data) -> None:
    for name, kind in kinds.items():
        _check(f"{name!r} of {what}", fields.get(name), kind)


def _check(what: str, value: Any, kind: Any, *, is_optional: bool = True) -> None:
    """Raise `ResultError` unless a value is of a type, or absent."""
    if not (is_optional and value is None) and not _fits(value, kind):
        raise ResultError(f"{what} cannot be {value!r:.80}")


def _fits(value: Any, kind: Any) -> bool:
    """Whether JSON data is of a type. A number has to be one that tables and databases can hold."""
    origin = typing.get_origin(kind)
    parts = typing.get_args(kind)
    if kind is Any or (kind is str and isinstance(value, str)):
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
