"""Haystacks: noise, prose, or the user's own files, cut to a number of tokens."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from random import Random

from cb_datasets.needle import prose
from cb_datasets.needle.vocabulary import NOISE

Count = Callable[[str], int]

_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")
_SUFFIXES = (".txt", ".md", ".rst")
_PARAGRAPH = 8
"""So many sentences stand in a paragraph."""


def noise(random: Random) -> Iterator[str]:
    """The same few sentences over and over."""
    return itertools.cycle(NOISE)


def essay(random: Random) -> Iterator[str]:
    """Prose that is different in every example."""
    return prose.sentences(random)


def from_files(path: str) -> list[str]:
    """The sentences of a text file, or of all those in a folder. Raises ValueError."""
    found = Path(path).expanduser()
    if found.is_dir():
        files = sorted(f for f in found.rglob("*") if f.suffix.lower() in _SUFFIXES and f.is_file())
        if not files:
            raise ValueError(f"haystack {path!r} holds no file ending in {', '.join(_SUFFIXES)}")
    else:
        files = [found]
    sentences: list[str] = []
    for file in files:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"haystack {str(file)!r} cannot be read: {error}") from error
        for paragraph in re.split(r"\n\s*\n", text):
            sentences += [s for s in _SENTENCE_END.split(" ".join(paragraph.split())) if s]
    if not sentences:
        raise ValueError(f"haystack {path!r} holds no text")
    return sentences


def turned(sentences: Sequence[str], random: Random) -> Iterator[str]:
    """Sentences of a fixed text without end, beginning at another place in every example."""
    start = random.randrange(len(sentences))
    return itertools.cycle([*sentences[start:], *sentences[:start]])


def fitted(
    pieces: Iterable[str], join: Callable[[Sequence[str]], str], room: int, count: Count
) -> list[str]:
    """As many pieces, from the first, as fit when they are joined.

    Pieces are counted one by one, and what that misses at the joints is made good on the whole.
    Raises ValueError when not even nothing fits.
    """
    if count(join([])) > room:
        raise ValueError("the length leaves no room for the task itself")
    taken: list[str] = []
    total = count(join([]))
    for piece in pieces:
        total += count(" " + piece)
        if total > room:
            break
        taken.append(piece)
    while taken and (excess := count(join(taken)) - room) > 0:
        while taken and excess > 0:
            excess -= count(" " + taken.pop())
    return taken


def scattered(hay: Sequence[str], needles: Sequence[tuple[float, str]]) -> str:
    """A text with needles among the hay, each at its depth in percent; equal ones in their order."""
    places = sorted(
        ((int(len(hay) * depth / 100), order) for order, (depth, _) in enumerate(needles))
    )
    out: list[str] = []
    at = 0
    for place, order in places:
        out += hay[at:place]
        out.append(needles[order][1])
        at = place
    out += hay[at:]
    return paragraphs(out)


def paragraphs(sentences: Sequence[str]) -> str:
    """Sentences as running text."""
    groups = (sentences[i : i + _PARAGRAPH] for i in range(0, len(sentences), _PARAGRAPH))
    return "\n\n".join(" ".join(group) for group in groups)
