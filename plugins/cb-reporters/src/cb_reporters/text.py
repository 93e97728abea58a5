"""Text from data and models, made safe to print, and measured as a terminal shows it."""

from __future__ import annotations

import re
import unicodedata

# Controls, line separators, lone surrogates, and the invisible characters that reorder or hide
# text. Zero-width joiners stay: emoji and several scripts need them.
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def visible(text: str, *, keep: str = "") -> str:
    r"""The text with every unseen character written out, as `\x1b` or `\u202e`.

    Characters in `keep`, such as a newline, stay as they are.
    """
    return _UNSEEN.sub(lambda found: _written_out(found[0], keep), text)


def _written_out(character: str, keep: str) -> str:
    if character in keep:
        return character
    return character.encode("unicode_escape").decode()


def width(text: str) -> int:
    """The columns a terminal needs: two for wide characters, none for combining ones."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


def _character_width(character: str) -> int:
    # Vowels and final consonants of conjoining Hangul merge with the letter before them.
    if unicodedata.category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def shorten(text: str, columns: int) -> str:
    """The text in at most `columns` columns, its middle replaced by … when it is longer.

    Names of systems differ at either end: in their kind, or in a parameter.
    """
    if width(text) <= columns:
        return text
    head = _prefix(text, columns // 2)
    tail = _prefix(text[::-1], columns - 1 - width(head))[::-1]
    return f"{head}…{tail}"


def _prefix(text: str, columns: int) -> str:
    used = 0
    for position, character in enumerate(text):
        used += _character_width(character)
        if used > columns:
            return text[:position]
    return text


def pad(text: str, columns: int, *, right: bool = False) -> str:
    """The text filled with spaces to `columns`, moved to the right when asked."""
    gap = " " * (columns - width(text))
    return gap + text if right else text + gap


def wrap(text: str, columns: int) -> list[str]:
    """The text in lines of at most `columns`, broken at spaces where there are any."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        rest = word
        if line and width(line) + 1 + width(rest) <= columns:
            line += " " + rest
            continue
        if line:
            lines.append(line)
        while width(rest) > columns:
            head = _prefix(rest, columns)
            lines.append(head)
            rest = rest[len(head) :]
        line = rest
    return [*lines, line] if line else lines
