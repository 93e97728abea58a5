"""Texts that only say where they stand.

A text is a string, or a list of pieces, of which some are lists: `["given", "context"]` is what
the system was given as context, `["given", "turns", 2]` one of several, and without `given` it
is what its output made of the field. What is told grows with what a system added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from cbcore.contexts import as_json
from cbcore.sent._messages import TOOLS

GIVEN = "given"
REPLIES = "turn_responses"

Place: TypeAlias = "list[Any]"
Known: TypeAlias = "Sequence[tuple[Place, str]]"

_SHORTEST = 24
"""Characters from which on referring to a text is shorter than saying it."""
_TEXTS = ("context", "question", "turns", TOOLS)


def known_texts(given: Mapping[str, Any], replies: Sequence[str]) -> Known:
    """Every text worth referring to, and where it stands; the longest first."""
    found = [([GIVEN, *place], text) for field in _TEXTS for place, text in _of(given, field)]
    found += _of({REPLIES: replies}, REPLIES)
    return sorted(found, key=lambda one: -len(one[1]))


def _of(fields: Mapping[str, Any], field: str) -> Iterator[tuple[Place, str]]:
    value = fields.get(field)
    if isinstance(value, list | tuple):
        places = [([field, n], _text(field, one)) for n, one in enumerate(value)]
    else:
        places = [([field], _text(field, value))]
    yield from ((place, text) for place, text in places if len(text) >= _SHORTEST)


def _text(field: str, value: Any) -> str:
    if field == TOOLS and isinstance(value, Mapping):
        return as_json(value)  # as it also stands inside what an API wraps around a tool
    value = value.get("content") if isinstance(value, Mapping) else value
    return value if isinstance(value, str) else ""


def pieces(text: str, known: Known) -> Any:
    """A text, or its pieces, some of which only say where they stand."""
    found = list(_split(text, known))
    return text if all(isinstance(piece, str) for piece in found) else found


def _split(text: str, known: Known) -> Iterator[Any]:
    for n, (place, one) in enumerate(known):
        before, found, after = text.partition(one)
        if found:
            yield from _split(before, known[n + 1 :])
            yield place
            yield from _split(after, known[n + 1 :])
            return
    if text:
        yield text


def said(told: Any, given: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """The text of what `pieces` made."""
    if isinstance(told, str):
        return told
    return "".join(_piece(piece, given, now) for piece in told)


def _piece(piece: Any, given: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    if isinstance(piece, str):
        return piece
    is_given = piece[0] == GIVEN
    field, *where = piece[1:] if is_given else piece
    value: Any = (given if is_given else now)[field]
    return _text(field, value[where[0]] if where else value)


class Move:
    """From what a stage was given and made of it, to what its chain was given and returns.

    A place at which the chain has the same text is said anew; another text is written out.
    """

    def __init__(
        self,
        stage: tuple[Mapping[str, Any], Mapping[str, Any]],
        chain: tuple[Mapping[str, Any], Mapping[str, Any]],
    ) -> None:
        self._given, self._now = stage
        self._places = {}
        for is_given, fields in ((True, self._given), (False, self._now)):
            for field in (*_TEXTS, REPLIES):
                self._places[is_given, field] = _place(fields.get(field), field, *chain)

    def text(self, told: Any) -> Any:
        """A text of the stage as one of the chain."""
        if isinstance(told, str):
            return told
        moved = list(_joined(self._piece(piece) for piece in told))
        return moved[0] if len(moved) == 1 and isinstance(moved[0], str) else moved

    def _piece(self, piece: Any) -> Any:
        if isinstance(piece, str):
            return piece
        is_given = piece[0] == GIVEN
        field, *where = piece[1:] if is_given else piece
        place = self._places.get((is_given, field))
        return _piece(piece, self._given, self._now) if place is None else [*place, *where]


def _place(
    value: Any, field: str, given: Mapping[str, Any], now: Mapping[str, Any]
) -> Place | None:
    if value is None:
        return None
    for place, fields in (([field], now), ([GIVEN, field], given)):
        there = fields.get(field)
        if there is value or there == value:
            return place
    return None


def _joined(found: Iterable[Any]) -> Iterator[Any]:
    """Strings that follow one another as one."""
    text = ""
    for piece in found:
        if isinstance(piece, str):
            text += piece
            continue
        if text:
            yield text
        text = ""
        yield piece
    if text:
        yield text
