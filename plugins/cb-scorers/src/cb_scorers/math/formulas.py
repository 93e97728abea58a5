"""The formulas in a text: what stands between `$…$`, `$$…$$`, `\\(…\\)` or `\\[…\\]`.

A dollar is a currency as often as it is a bracket: "9 eggs at $2 make $18" has no formula.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_TOKEN = re.compile(r"\\[\s\S]|\$\$?|\n[^\S\n]*\n")
_CLOSING = {"\\(": "\\)", "\\[": "\\]"}
_UNFINISHED = re.compile(r"(?:(?<!\^)[-+−–]|[*/=<>(×÷·]|\\(?:times|cdot|div|approx))$")
_TEXTUAL = re.compile(r"\\(?:text[a-z]*|mbox|mathrm|operatorname|begin|end)\s*\{[^{}]*\}")
_WORD = re.compile(r"(?<![\\A-Za-z{])[A-Za-z]{2,}")
_PROSE = re.compile(
    r"\b(?:am|an|as|at|be|by|do|he|if|in|is|it|my|no|of|on|or|so|to|up|us|we)\b", re.IGNORECASE
)
_CONTRACTION = re.compile(r"[A-Za-z]['’](?:s|t|d|re|ll|ve)\b")
_SHORTEST_WORD = 3


class Formula(NamedTuple):
    """What stands between two marks, and where the marks begin and end."""

    content: str
    start: int
    end: int


def formulas(text: str) -> list[Formula]:
    """The formulas of a text, in order and found in one pass; a price is none."""
    found = []
    opened, start, position = "", 0, 0
    while token := _TOKEN.search(text, position):
        mark, at = token[0], token.start()
        if mark == "$$" and opened == "$":
            mark = "$"  # it closes one formula, and the other dollar opens the next
        position = at + len(mark)
        if mark.isspace():
            opened = "" if opened in ("$", "\\(") else opened  # none goes over a blank line
        elif opened and mark == _CLOSING.get(opened, opened):
            content = text[start + len(opened) : at]
            if mark == "$" and not _is_formula(content, text[position : position + 1]):
                start = at  # a dollar that closes nothing may open the next
                continue
            if content.strip():
                found.append(Formula(content.strip(), start, position))
            opened = ""
        elif mark in _CLOSING or (mark[0] == "$" and opened not in _CLOSING):
            opened, start = mark, at
    return found


def is_prose(text: str) -> bool:
    """Whether a text has words as a sentence has them, and not one unit or names of points.

    Words inside `\\text{…}` belong to the formula.
    """
    text = _TEXTUAL.sub(" ", text)
    found = _WORD.findall(text)
    if len(found) <= 1:
        return _CONTRACTION.search(text) is not None
    return max(map(len, found)) >= _SHORTEST_WORD or _PROSE.search(text) is not None


def _is_formula(content: str, following: str) -> bool:
    """Whether two dollars are the brackets of what is between them, or belong to two prices."""
    if following.isdigit() or _UNFINISHED.search(content.rstrip()):
        return False
    uneven = content[:1].isspace() != content[-1:].isspace()
    if content[:1].isdigit():  # as a price does
        uneven = uneven or sum(map(content.count, "([")) != sum(map(content.count, ")]"))
        return not uneven and not is_prose(content)
    return not (uneven and _WORD.search(_TEXTUAL.sub("", content))) and not is_prose(content)
