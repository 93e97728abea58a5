"""Spans of a sentence that could answer a question."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from cb_baselines.reading import lexicon
from cb_baselines.reading.questions import Expects

_YEAR = r"(?:1[0-9]|20)\d\d"
_MONTH = f"(?:{'|'.join(sorted(lexicon.MONTHS))})"
_CAPITAL = r"[A-ZÀ-ÖØ-ÞĀ-Ž]"
_CAPITALISED = rf"{_CAPITAL}[^\W_]*(?:[.'’&-][^\W_]+)*"
_NAME_WORD = rf"{_CAPITALISED}(?:(?<=\b\w)\.|(?<=\b[JS]r)\.|(?<=\bSt)\.)?"
_NAME_LINK = r"(?:of\s+the|of|the|de|la|von|van|der|for|and\s+the|&|du|del|al)"

_YEAR_ALONE = re.compile(rf"\b{_YEAR}\b")
_DATE = re.compile(
    rf"\b{_MONTH}\s+\d{{1,2}},\s+{_YEAR}\b|\b\d{{1,2}}\s+{_MONTH}\s+{_YEAR}\b"
    rf"|\b{_MONTH}\s+{_YEAR}\b|\b{_YEAR}\b"
)
_PERIOD = re.compile(
    rf"\b(?:from\s+|between\s+)?{_YEAR}\s*(?:–|-|to|until|till|and|through)\s*(?:{_YEAR}|present)\b"
)
_NUMBER = re.compile(
    r"\b(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:\s+(?:hundred|thousand|million|billion|trillion))?\b"
    rf"|\b(?:{'|'.join(lexicon.NUMBER_WORDS)})\b",
    re.IGNORECASE,
)
_NAME = re.compile(rf"\b{_NAME_WORD}(?:(?:\s+{_NAME_LINK}\s+|\s+|\s*-\s*)(?:{_NAME_WORD}|\d+\b))*")
_QUOTED = re.compile(r"[\"“]([^\"“”]{2,80})[\"”]")
_PLACE = re.compile(
    rf"\b(?:in|at|from|near|of|to)\s+(?P<place>(?:the\s+)?{_CAPITALISED}(?:\s{_CAPITALISED})*"
    rf"(?:,\s+{_CAPITALISED}(?:\s{_CAPITALISED})*){{0,2}})"
)


class Candidate(NamedTuple):
    """A span, where it starts in its sentence, and how well it suits what is expected (0 to 1)."""

    text: str
    start: int
    fit: float


_PATTERNS = {
    Expects.YEAR: ((_YEAR_ALONE, 1.0),),
    Expects.DATE: ((_DATE, 1.0),),
    Expects.PERIOD: ((_PERIOD, 1.0), (_YEAR_ALONE, 0.4)),
    Expects.NUMBER: ((_NUMBER, 1.0),),
}


def candidates(sentence: str, expects: Expects) -> Iterator[Candidate]:
    """The spans of a sentence that could be what is expected."""
    return _figures(sentence, expects) if expects in _PATTERNS else _names(sentence, expects)


def _figures(sentence: str, expects: Expects) -> Iterator[Candidate]:
    for pattern, suits in _PATTERNS[expects]:
        for match in pattern.finditer(sentence):
            # A bare year is seldom the answer to "how many".
            is_year = expects is Expects.NUMBER and _YEAR_ALONE.fullmatch(match[0])
            yield Candidate(match[0], match.start(), 0.2 if is_year else suits)


def _names(sentence: str, expects: Expects) -> Iterator[Candidate]:
    if expects is Expects.PLACE:
        for match in _PLACE.finditer(sentence):
            if _names_something(match["place"]):
                yield Candidate(match["place"], match.start("place"), 1.0)
    for match in _NAME.finditer(sentence):
        if _names_something(match[0]):
            yield Candidate(match[0], match.start(), name_fit(match[0], expects))
    if expects is Expects.NAME:
        for match in _QUOTED.finditer(sentence):
            yield Candidate(match[1].strip(" ,."), match.start(1), 0.8)


def _looks_like_person(name: str) -> bool:
    """Whether a name has the shape of a person's: two to four words, none a common noun."""
    words = [word for word in name.split() if word.lower() not in lexicon.NAME_PARTICLES]
    return 2 <= len(words) <= 4 and all(map(_personal, words))


def _personal(word: str) -> bool:
    is_acronym = word.isupper() and len(word) > 2
    return word[0].isupper() and not is_acronym and word.lower() not in lexicon.IMPERSONAL


def _names_something(text: str) -> bool:
    """Whether a capitalised span is more than dates, peoples and words that open sentences."""
    return any(
        word not in lexicon.STARTERS
        and word not in lexicon.DEMONYMS
        and word not in lexicon.NUMBER_WORDS
        and word.capitalize() not in lexicon.MONTHS
        and not word.isdigit()
        for word in (found.lower() for found in lexicon.WORD.findall(text))
    )


def name_fit(text: str, expects: Expects) -> float:
    """How well a name suits what is expected, by its shape alone (0 to 1)."""
    if expects is Expects.PERSON:
        return 1.0 if _looks_like_person(text) else 0.3
    if expects is Expects.PLACE:
        return 0.2 if _looks_like_person(text) else 0.5
    return 0.8
