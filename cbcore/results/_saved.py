"""A result as a file: JSON that `EvalResult.from_json` reads, with the texts behind its rows."""

from __future__ import annotations

import contextlib
import json
import math
import secrets
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cbcore.exceptions import ResultError
from cbcore.json_data import to_json_safe
from cbcore.results._checks import fits, is_number
from cbcore.results._document import document_of
from cbcore.results._examples import NO_TEXTS, Texts
from cbcore.secrets import are_known, hide
from cbcore.texts import visible_json

if TYPE_CHECKING:
    from cbcore.results import EvalResult, EvalRow

__all__ = ()

_ABSENT = object()


def write(result: EvalResult, path: str | Path) -> None:
    """Write a result, row by row, to a file that takes the place of `path` when it is whole."""
    target = Path(path)
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
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
        yield f"{json.dumps(name)}: {_json(part)},\n"
    if result.texts is not None:
        yield '"texts": '
        yield from _texts_pieces(result.texts)
        yield ",\n"
    yield '"rows": '
    yield from _list_pieces(_json(to_json_safe(row.to_dict())) for row in result.rows)
    yield "}\n"


def _texts_pieces(texts: Sequence[Texts]) -> Iterator[str]:
    """Each example once; for each row the number of its example and what its output adds to it."""
    numbers: dict[bytes, int] = {}
    of_rows: list[int | None] = []

    def new_examples() -> Iterator[str]:
        for text in texts:
            if text.example is None:
                of_rows.append(None)
                continue
            written = _json(_kept(text.example))
            key = blake2b(written.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            if key not in numbers:
                numbers[key] = len(numbers)
                yield written
            of_rows.append(numbers[key])

    yield '{"examples": '
    yield from _list_pieces(new_examples())
    yield ', "rows": '
    yield from _list_pieces(
        _json([number, *_output(text)]) for number, text in zip(of_rows, texts, strict=True)
    )
    yield "}"


def _output(text: Texts) -> tuple[Any, list[str]]:
    """An output without what it hands back unchanged, and the names of that."""
    if text.output is None:
        return None, []
    example = text.example or {}
    same = [key for key, value in text.output.items() if example.get(key, _ABSENT) == value]
    own = {key: value for key, value in text.output.items() if key not in same}
    return _kept(own), same


def _kept(value: Any) -> Any:
    plain = to_json_safe(value)
    return hide(plain) if are_known() else plain


def _list_pieces(items: Iterator[str]) -> Iterator[str]:
    separator = "["
    for item in items:
        yield separator + item
        separator = ",\n"
    yield "]" if separator != "[" else "[]"


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False)


_TYPES: dict[str, tuple[type, ...]] = {
    "system": (str,),
    "example_id": (str, int, float),
    "scores": (dict,),
    "input_tokens": (int, float),
    "output_tokens": (int, float),
    "metadata": (dict,),
    "latency": (int, float),
    "dataset": (str,),
    "error": (str, type(None)),
    "missing": (dict,),
    "response": (str, type(None)),
    "response_tokens": (int, float),
    "repeat": (int,),
    "recalled": (bool,),
    "example_digest": (str,),
}
_NUMBERS = ("input_tokens", "output_tokens", "response_tokens", "repeat", "latency")


def read_rows(data: Any) -> list[EvalRow]:
    """The rows of a file. Raises `ResultError` where one is none.

    What is computed from rows relies on it that scores are numbers. JSON has no NaN and no
    infinity: a score that was one is missing.
    """
    from cbcore.results import EvalRow

    rows = []
    try:
        for number, row in enumerate(data):
            made = EvalRow(**row)
            made.latency = math.nan if made.latency is None else made.latency
            for name, types in _TYPES.items():
                value = getattr(made, name)
                if not isinstance(value, types) or (name in _NUMBERS and not _fits(name, value)):
                    raise TypeError(f"{name!r} of row {number} is {value!r:.80}")
            if not fits(made.missing, dict[str, str]) or None in made.missing.values():
                raise TypeError(f"'missing' of row {number} is {made.missing!r:.80}")
            scores: dict[str, Any] = made.scores
            for name, score in list(scores.items()):
                if score is None:
                    made.missing.setdefault(name, "it was no finite number")
                    del scores[name]
                elif not (isinstance(score, bool) or is_number(score)):
                    raise TypeError(f"the score {name!r} of row {number} is {score!r:.80}")
            rows.append(made)
    except TypeError as error:
        raise ResultError(f"a row of this result cannot be read: {error}") from error
    return rows


def _fits(name: str, value: Any) -> bool:
    return is_number(value) or (name == "latency" and math.isnan(value))


def read_texts(data: Any, n_rows: int) -> list[Texts] | None:
    """What `write` wrote of texts; None where there is nothing. Raises `ResultError`."""
    if data is None:
        return None
    try:
        examples: list[Mapping[str, Any]] = data["examples"]
        found = [_text(examples, *of_row) for of_row in data["rows"]]
    except (TypeError, KeyError, IndexError, ValueError) as error:
        raise ResultError(f"the texts of this result cannot be read: {error!r}") from error
    if len(found) != n_rows:
        raise ResultError(f"this result has the texts of {len(found)} rows, but {n_rows} rows")
    return found


def _text(
    examples: Sequence[Mapping[str, Any]], number: int | None, own: Any, same: list[str]
) -> Texts:
    example = None if number is None else examples[number]
    if own is None:
        return NO_TEXTS if example is None else Texts(example)
    return Texts(example, {**{key: (example or {})[key] for key in same}, **own})
