"""Opened examples as a file holds them: all texts in one, and next to it what refers to them.

A search goes through the texts as they are inflated, and parses nothing. So every text of an
example stands there once, and a context that is a part of the original has its place there. What
refers to texts is JSON in which every string is the number of
a text, to the base of 36; `packing.ts` puts an example together again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import attrs

from cbcore.json_data import to_json

EXAMPLE_END, TEXT_END, ESCAPE = "\x1e", "\x1f", "\x10"
"""The separators of examples and of the texts of one, and the mark before an escaped character."""

_ESCAPED = str.maketrans({ESCAPE: f"{ESCAPE}E", EXAMPLE_END: f"{ESCAPE}R", TEXT_END: f"{ESCAPE}U"})
_HALF = re.compile("[\ud800-\udfff]")
_UNUSUAL = re.compile(f"[{ESCAPE}{EXAMPLE_END}{TEXT_END}\ud800-\udfff]")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_NUMBERS = (int, float)
_LARGEST_PLANE = "\uffff"
"""Above it, a browser counts a character as two."""


@attrs.frozen(eq=False, repr=False)
class Packed:
    """Some examples: their texts, and the JSON that refers to them."""

    texts: str
    structure: str

    def __len__(self) -> int:
        return len(self.texts)


def pack(opened: Mapping[str, Any]) -> Packed:
    """One example, as `open_example` gives it. Its dataset is left to the columns."""
    texts = _Texts()
    example = {key: value for key, value in opened.items() if key not in ("rows", "dataset")}
    structure = texts.replace(example)
    structure["rows"] = [_pack_row(row, opened["context"], texts) for row in opened["rows"]]
    texts.number(str(opened["id"]))
    return Packed(texts.join(), to_json(structure).decode())


def join_packed(examples: list[Packed]) -> Packed:
    """Several examples, one after another."""
    return Packed(
        EXAMPLE_END.join(example.texts for example in examples),
        f"[{','.join(example.structure for example in examples)}]",
    )


def _pack_row(row: Mapping[str, Any], original: str | None, texts: _Texts) -> dict[str, Any]:
    """The known fields of a row."""
    known = {k: v for k, v in row.items() if v is not None and v is not False and v != {}}
    context = known.pop("context", None)
    structure: dict[str, Any] = texts.replace(known)
    if isinstance(context, str) and original:
        structure["context"] = texts.replace(find_part(context, original))
    elif context is not None:
        structure["context"] = texts.replace(context)
    return structure


class _Texts:
    """The texts of one example, each once, by their numbers."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> str:
        return _in_base_36(self._numbers.setdefault(text, len(self._numbers)))

    def replace(self, value: Any) -> Any:
        """Plain data with the number of a text in the place of every string."""
        kind = type(value)  # plain data has no others
        if kind is str:
            return self.number(value)
        if kind is dict:
            return {
                key: part if type(part) in _NUMBERS else self.replace(part)
                for key, part in value.items()
            }
        if kind is list:
            return [self.replace(part) for part in value]
        return value

    def join(self) -> str:
        return TEXT_END.join(map(_escape, self._numbers))


def _escape(text: str) -> str:
    """A text without what ends one, nor half a character, which no bytes can hold."""
    if _UNUSUAL.search(text) is None:
        return text
    return _HALF.sub(lambda half: f"{ESCAPE}S{ord(half[0]):04x}", text.translate(_ESCAPED))


def _in_base_36(number: int) -> str:
    digits = _DIGITS[number % 36]
    return digits if number < 36 else _in_base_36(number // 36) + digits


def find_part(made: str, original: str) -> str | list[list[int]]:
    """Where a context begins and ends in the original one; the text itself if it is no part of it.

    Compression finds the parts of other contexts well enough.
    """
    # A browser counts a character above the first plane as two.
    is_countable = original.isascii() or max(original, default="") <= _LARGEST_PLANE
    at = original.find(made) if made and is_countable else -1
    return made if at < 0 else [[at, at + len(made)]]
