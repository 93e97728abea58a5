"""Differences of texts: kept, dropped and added, by sentence, and by word in rewritten sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

import attrs

Kind = Literal["kept", "dropped", "added"]

_SENTENCE = re.compile(r"[^.!?。！？\n]*(?:[.!?。！？]+[\"')\]]*\s*|\n+|$)")
_WORD = re.compile(r"\w+\s*|[^\w\s]+\s*|\s+")
_MOST_WORDS = 4000
"""Of a passage that was rewritten; a longer one is shown as dropped and added whole."""
_MOST_SENTENCES = 20_000
_MOST_PAIRS = 2_000_000
"""Of equal parts: a text that repeats itself for pages has more, and is not compared."""


@attrs.frozen
class Piece:
    """A stretch of text that met one fate."""

    kind: Kind
    text: str


def differences(before: str, after: str) -> list[Piece]:
    """How one text becomes the other. All that is kept or dropped, joined, is `before`."""
    old, new = _split(before), _split(after)
    found = _by_sentence(old, new) if max(len(old), len(new)) <= _MOST_SENTENCES else None
    pieces = _changed(before, after) if found is None else found
    return list(_joined(pieces))


def _by_sentence(old: Sequence[str], new: Sequence[str]) -> Iterator[Piece]:
    for tag, before, after in _steps(old, new):
        if tag == "equal":
            yield Piece("kept", before)
        elif tag == "replace":
            yield from _by_word(before, after)
        else:
            yield from _changed(before, after)


def _by_word(before: str, after: str) -> Iterator[Piece]:
    old, new = _WORD.findall(before), _WORD.findall(after)
    if max(len(old), len(new)) > _MOST_WORDS:
        yield from _changed(before, after)
        return
    for tag, was, becomes in _steps(old, new):
        if tag == "equal":
            yield Piece("kept", was)
        else:
            yield from _changed(was, becomes)


def _steps(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """The equal, replaced, deleted and inserted parts, without regard to white space.

    The space behind a part is no part of that: one that moved to the end of a line is the same.
    """
    said, says = [*map(str.strip, old)], [*map(str.strip, new)]
    if _pairs(said, says) > _MOST_PAIRS:
        yield "replace", "".join(old), "".join(new)
        return
    matcher = SequenceMatcher(None, said, says, autojunk=False)
    gap = ""
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        before, after = "".join(old[i:i_end]), "".join(new[j:j_end])
        yield tag, before, gap + after if after else after
        # What was kept stands as it was before, where there may have been no space behind it.
        ends_bare = tag == "equal" and before == before.rstrip()
        gap = after[len(after.rstrip()) :] if ends_bare else ""


def _pairs(old: Sequence[str], new: Sequence[str]) -> int:
    """How many parts of one are equal to one of the other, which is what comparing them takes."""
    counted = Counter(old)
    return sum(counted[part] for part in new)


def _changed(before: str, after: str) -> Iterator[Piece]:
    if before:
        yield Piece("dropped", before)
    if after:
        yield Piece("added", after)


def _joined(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Neighbours of one kind as one."""
    last: Piece | None = None
    for piece in pieces:
        if last is not None and last.kind == piece.kind:
            last = Piece(last.kind, last.text + piece.text)
            continue
        if last is not None:
            yield last
        last = piece
    if last is not None:
        yield last


def _split(text: str) -> list[str]:
    return [sentence for sentence in _SENTENCE.findall(text) if sentence]
