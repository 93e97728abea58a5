"""Taking a context apart: paragraphs, their titles, their sentences.

A context is paragraphs separated by blank lines. A paragraph may begin with a title, as in
`Ed Wood: Edward Davis Wood Jr. was an American filmmaker. He …`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from cb_baselines.wordlists import words

_BLANK_LINES = re.compile(r"\n[^\S\n]*\n\s*")
_TITLE = re.compile(r"(?P<title>[^\W_a-z][^\n:]{0,98}|[^\W_a-z]): +(?=\S)")
_MAX_TITLE_WORDS = 12

_BREAK = re.compile(
    r"""
    (?<![.!?…])                    # a run of marks is looked at once, from its start
    (?P<mark> [.!?…]+ | [。！？] )
    ["'”’»)\]]*
    (?: (?P<space> \s+ ) | (?<=[。！？]) )
    (?= ["'“‘«(\[]* (?P<next> \S ) )
    """,
    re.VERBOSE,
)
_LINE_BREAK = re.compile(r"\n\s*")
_ABBREVIATIONS = words(
    """
    adm approx brig ca capt cf cmdr col cpl dr ed eds eg est fl fr gen gov hon lt maj messrs
    mlle mme mr mrs ms mt prof pt rep rev sen sgt supt viz vs
    """
)
_BEFORE_NUMBER = words(
    """
    art ch fig figs no nos nr op pp vol vols
    jan feb mar apr jun jul aug sep sept oct nov dec
    """
)
# A sentence may well end with these, so the next word decides.
_MAY_END = words("al ave bros co corp dept etc inc jr ltd sr st")
_DOTTED = re.compile(r"(?:[^\W\d_]{1,3}\.)+[^\W\d_]{1,3}\Z|[^\W\d_]\Z")
STARTERS = words(
    """
    a after although an and as at before both but by during each for from he her his however
    if in it its many most on one she since some such that the their then there these they
    this those though through to under until we when where while with you
    """
)
"""Words that, capitalised, most likely open a sentence."""

_WORD = re.compile(r"[^\W_]+")
_LONGEST_LOOK_BACK = 40


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


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, without the space between them.

    Abbreviations (`Dr.`, `U.S.`), initials and decimals do not end a sentence; line breaks do.
    """
    return [
        sentence
        for line in _LINE_BREAK.split(text)
        for start, end in sentence_spans(line)
        if (sentence := line[start:end].strip())
    ]


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence of a text, space between sentences left out."""
    start = 0
    for match in _BREAK.finditer(text):
        if _ends_sentence(match, text):
            yield start, match.end() if match["space"] is None else match.start("space")
            start = match.end()
    if start < len(text):
        yield start, len(text)


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


def _ends_sentence(match: re.Match[str], text: str) -> bool:
    """Whether a mark followed by space ends a sentence, judged by the words around it."""
    upcoming = match["next"]
    if upcoming.islower():
        return False
    if match["mark"] != ".":
        return True
    before = text[max(0, match.start() - _LONGEST_LOOK_BACK) : match.start()].split()
    word = before[-1].lstrip("\"'“‘«([").rpartition("-")[2].lower() if before else ""
    if word in _ABBREVIATIONS:
        return False
    if word in _BEFORE_NUMBER:
        return not upcoming.isdigit()
    if word in _MAY_END or _DOTTED.match(word):
        # "John F. Kennedy", "the U.S. Army": goes on unless a sentence plainly starts.
        next_word = _WORD.match(text, match.start("next"))
        return (
            next_word is not None
            and next_word[0].lower() in STARTERS
            and not text.startswith(".", next_word.end())  # "K. A. Applegate"
        )
    return True
