"""Text measured, shortened and wrapped as a terminal shows it."""

from __future__ import annotations

import unicodedata


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
