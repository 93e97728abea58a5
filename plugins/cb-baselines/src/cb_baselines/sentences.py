"""Taking a context apart: paragraphs, their titles, their sentences.

A context is paragraphs separated by blank lines. A paragraph may begin with a title, as in
`Ed Wood: Edward Davis Wood Jr. was an American filmmaker. He …`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from cbcore.scoring import split_sentences

_BLANK_LINES = re.compile(r"\n[^\S\n]*\n\s*")
_TITLE = re.compile(r"(?P<title>[^\W_a-z][^\n:]{0,98}|[^\W_a-z]): +(?=\S)")
_MAX_TITLE_WORDS = 12


class Sentence(NamedTuple):
    """One sentence, where it stands, and the title of its paragraph (empty without one)."""

    text: str
    title: str
    paragraph: int


def split_context(context: str) -> list[Sentence]:
    """All sentences of a context in order. Titles are not sentences: they go with each one."""
    found = []
    for number, paragraph in enumerate(_BLANK_LINES.split(context)):
        title, body = split_title(paragraph.strip())
        found += [Sentence(text, title, number) for text in split_sentences(body)]
    return found


def split_title(paragraph: str) -> tuple[str, str]:
    """`Title: text` as title and text; a paragraph without a title has an empty one.

    A title is short, starts with a capital or a digit, and has no end of a sentence in it.
    """
    match = _TITLE.match(paragraph)
    if match is None:
        return "", paragraph
    title = match["title"]
    if len(title.split()) > _MAX_TITLE_WORDS or len(split_sentences(title)) > 1:
        return "", paragraph
    return title, paragraph[match.end() :]


def render(sentences: Sequence[Sentence]) -> str:
    """Sentences as a context again, each paragraph under its title."""
    parts: list[str] = []
    paragraph = None
    for sentence in sentences:
        if sentence.paragraph == paragraph:
            parts.append(" ")
        else:
            parts.append("\n\n" if parts else "")
            parts.append(f"{sentence.title}: " if sentence.title else "")
        parts.append(sentence.text)
        paragraph = sentence.paragraph
    return "".join(parts)
