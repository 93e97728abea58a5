"""Opened examples as a file holds them: all texts in one, and next to it what refers to them.

A search goes through the texts as they are inflated, and parses nothing. So every text of an
example stands there once, and a context that a system passed on is told by the parts of the
original that it consists of. What refers to texts is JSON in which every string is the number of
a text, to the base of 36; `packing.ts` puts an example together again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import attrs

from cbcore.json_data import to_json

EXAMPLE_END, TEXT_END, ESCAPE = "\x1e", "\x1f", "\x10"
"""What stands between examples, and between the texts of one; and before what is neither."""

_ESCAPED = str.maketrans({ESCAPE: f"{ESCAPE}E", EXAMPLE_END: f"{ESCAPE}R", TEXT_END: f"{ESCAPE}U"})
_HALF = re.compile("[\ud800-\udfff]")
_UNUSUAL = re.compile(f"[{ESCAPE}{EXAMPLE_END}{TEXT_END}\ud800-\udfff]")
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_SENTENCE = re.compile(r"\S[^.!?\n]*[.!?]*")
_LONGEST = 200_000
"""Characters of a context that is looked through for the parts of another."""
_SEAM = 60
"""Characters on either side of where parts meet, which a search finds as they stand there."""
_NUMBERS = (int, float)
_LARGEST_PLANE = "\uffff"
"""Above it, a browser counts a character as two."""

Part: TypeAlias = "str | list[int]"
"""Of a context: a text of its own, or where a part of the original begins and ends."""


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
    """What is known of a row; what is not is left out."""
    known = {k: v for k, v in row.items() if v is not None and v is not False and v != {}}
    context = known.pop("context", None)
    structure: dict[str, Any] = texts.replace(known)
    if isinstance(context, str) and original:
        parts = parts_of(context, original)
        structure["context"] = texts.replace(parts)
        for seam in _seams(parts, context):
            texts.number(seam)
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


def parts_of(made: str, original: str) -> str | list[Part]:
    """A context as parts of the original one; the text itself where that says it shorter.

    Joined, the parts are the text.
    """
    if not made or len(original) > _LONGEST:
        return made
    if not original.isascii() and max(original) > _LARGEST_PLANE:
        return made
    at = original.find(made)
    if at >= 0:
        return [[at, at + len(made)]]
    parts = list(_parts(made, original))
    own = sum(len(part) if isinstance(part, str) else _SEAM for part in parts)
    return parts if own < len(made) / 2 else made


def _parts(made: str, original: str) -> Iterator[Part]:
    """Sentence by sentence; those that stand in the original as they do here are one part."""
    held = ""  # what is no part of the original, or between two
    begin = end = 0
    last = 0
    for sentence in _SENTENCE.finditer(made):
        gap, text = made[last : sentence.start()], sentence[0]
        last = sentence.end()
        follows = end > begin and not held and original.startswith(gap + text, end)
        if follows:
            end += len(gap) + len(text)
            continue
        at = original.find(text, end)
        at = original.find(text) if at < 0 else at
        if at < 0:
            held += gap + text
            continue
        if end > begin:
            yield [begin, end]
        if held or gap:
            yield held + gap
        held, begin, end = "", at, at + len(text)
    if end > begin:
        yield [begin, end]
    if rest := held + made[last:]:
        yield rest


def _seams(parts: str | list[Part], made: str) -> Iterator[str]:
    """The text around every place where parts meet: a phrase may be found across it."""
    at = 0
    for part in parts if isinstance(parts, list) else ():
        if at:
            yield made[max(0, at - _SEAM) : at + _SEAM]
        at += len(part) if isinstance(part, str) else part[1] - part[0]
