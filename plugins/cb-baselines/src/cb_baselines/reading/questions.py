"""Understanding what a question asks for."""

from __future__ import annotations

import enum
import re
from typing import NamedTuple

from cb_baselines.ranking import STOP_WORDS
from cb_baselines.reading import lexicon
from cb_baselines.wordlists import words


class Kind(enum.Enum):
    """The form an answer takes."""

    YES_NO = enum.auto()
    CHOICE = enum.auto()
    SPAN = enum.auto()


class Expects(enum.Enum):
    """What an answering span should be."""

    PERSON = enum.auto()
    PLACE = enum.auto()
    DATE = enum.auto()
    YEAR = enum.auto()
    PERIOD = enum.auto()
    NUMBER = enum.auto()
    NAME = enum.auto()


class Question(NamedTuple):
    """A question taken apart.

    `focus` holds the stems of the noun the answer is one of (`fight song`), its head last;
    `options` the two names to choose from; `stems` what the evidence should speak of.
    """

    text: str
    kind: Kind
    expects: Expects
    focus: tuple[str, ...]
    options: tuple[str, ...]
    stems: frozenset[str]


_YES_NO = re.compile(
    r"(?:are|is|was|were|do|does|did|has|have|had|can|could|will|would)\b", re.IGNORECASE
)
_OPTIONS = re.compile(
    r"""
    (?: [,:?]\s+ | \b(?:between|is|was|of|did|does|has)\s+ | ^ )
    (?: (?:either|the\ \w+\ of)\s+ )?
    (?P<first> [^,:?]{1,80}? ) ,? \s+ or \s+ (?P<second> [^,?]{1,80} )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_WITHIN_NAMES = words("a and de for in la of on the to")
_CAPITALISED = re.compile(r"[A-Z0-9\"“'À-Þ]")
_WH_LEADING = re.compile(
    r"(?:(?:in|on|at|to|from|for|by|of|under|with|about|during)\s+)?"
    r"(?P<wh>who|whom|whose|when|where|what|which|how)\b",
    re.IGNORECASE,
)
_WH_STRONG = re.compile(
    r"\b(?P<wh>what|how(?=\s+(?:many|much|any|old|long|far|large|tall)))\b", re.IGNORECASE
)
_WH_WEAK = re.compile(
    r"\b(?P<wh>(?:who|whom|when|where)(?=\s*\?*\s*\Z)|where(?=\s+(?:does|did|do|is|was|are|were))"
    r"|(?:by|under|of|for|with|from|in|to|at|on)\s+which\b)",
    re.IGNORECASE,
)
_NOUN_PHRASE_ENDS = words(
    """
    is was are were be been did does do has have had can could will would should may might must
    of in on at for to by from with without about during under over between into as than that
    which who whom whose where when and or but besides also not starring named called based
    located made played wrote written directed
    """
)
_OF_PHRASE = re.compile(
    r"\s*(?:is|was|are|were)\s+(?:the|a|an)\s+(?:(?:full|real|birth|stage|first|last)\s+)?"
    r"(?:name|names|title|type|kind)s?\s+(?:of|for|given\s+to)\s+(?:(?:the|a|an|this|that)\s+)?",
    re.IGNORECASE,
)
_COPULA = re.compile(r"\s*(?:is|was|are|were)\s+(?:the|a|an)\s+", re.IGNORECASE)
_EXPECTED_BY_WORD = {
    "who": Expects.PERSON,
    "whom": Expects.PERSON,
    "whose": Expects.PERSON,
    "where": Expects.PLACE,
    "when": Expects.DATE,
    "how": Expects.NUMBER,
}
_EXPECTED_BY_NOUN = {
    **dict.fromkeys(lexicon.PERSON_NOUNS, Expects.PERSON),
    **dict.fromkeys(lexicon.NUMBER_NOUNS, Expects.NUMBER),
    **dict.fromkeys(lexicon.DATE_NOUNS, Expects.DATE),
    **dict.fromkeys(lexicon.SPAN_OF_TIME_NOUNS, Expects.PERIOD),
    **dict.fromkeys(lexicon.PLACE_NOUNS, Expects.PLACE),
    "year": Expects.YEAR,
}
_LONGEST_PHRASE = 8
_TOKEN = re.compile(r"[^\s,;:?!\"“”()]+|[,;:?!\"“”()]")


def analyse(text: str) -> Question:
    """Take a question apart."""
    text = " ".join(text.split())
    stems = frozenset(lexicon.stems(text))
    options = _options(text)
    if options:
        return Question(text, Kind.CHOICE, Expects.NAME, (), options, stems)
    if _YES_NO.match(text):
        return Question(text, Kind.YES_NO, Expects.NAME, (), (), stems)
    wh, rest = _question_word(text)
    phrase = _noun_phrase(wh, rest)
    focus = tuple(lexicon.stem(word) for word in phrase if word.lower() not in STOP_WORDS)
    return Question(text, Kind.SPAN, _expected(wh, phrase), focus, (), stems)


def _options(text: str) -> tuple[str, ...]:
    """The two names of `…, A or B …`, or nothing."""
    match = _OPTIONS.search(text)
    if match is None:
        return ()
    first, second = _trailing_name(match["first"]), _leading_name(match["second"])
    return (first, second) if first and second else ()


def _trailing_name(text: str) -> str:
    """The name at the end of a text: from its first capital or digit on."""
    match = _CAPITALISED.search(text)
    return text[match.start() :].strip(" \"“”'") if match else ""


def _leading_name(text: str) -> str:
    """The name a text starts with, up to the last capitalised word before plain ones."""
    tokens = text.split()
    while tokens and tokens[0].lower() in {"the", "a", "an"}:
        tokens.pop(0)
    if not tokens or not _CAPITALISED.match(tokens[0]):
        return ""
    end = 1
    for index, token in enumerate(tokens):
        if _CAPITALISED.match(token):
            end = index + 1
        elif token.lower() not in _WITHIN_NAMES:
            break
    return " ".join(tokens[:end]).strip(" \"“”'.")


def _question_word(text: str) -> tuple[str, str]:
    """The word that asks, in lower case, and what follows it."""
    found = [_WH_LEADING.match(text)]
    for pattern in (_WH_STRONG, _WH_WEAK):
        if found[-1] is None:
            found += pattern.finditer(text)  # the last one asks
    match = found[-1]
    if match is None:
        return "", text
    return match["wh"].lower().split()[-1], text[match.end() :]


def _noun_phrase(wh: str, rest: str) -> list[str]:
    """The words of the noun that is asked for."""
    if wh not in {"what", "which", "how", "whose"}:
        return []
    for opening in (_OF_PHRASE, _COPULA):
        if match := opening.match(rest):
            rest = rest[match.end() :]
            break
    phrase: list[str] = []
    for token in _TOKEN.findall(rest.lstrip(' "“')):
        if token.lower() in _NOUN_PHRASE_ENDS or not token[0].isalnum():
            break
        phrase.append(token)
    return _up_to_noun(phrase[:_LONGEST_PHRASE])


def _expected(wh: str, phrase: list[str]) -> Expects:
    if wh in _EXPECTED_BY_WORD:
        return _EXPECTED_BY_WORD[wh]
    return _EXPECTED_BY_NOUN.get(phrase[-1].lower(), Expects.NAME) if phrase else Expects.NAME


def _up_to_noun(phrase: list[str]) -> list[str]:
    """A phrase without what follows its last known noun: `director taught` → `director`."""
    for length in range(len(phrase), 0, -1):
        if phrase[length - 1].lower() in _EXPECTED_BY_NOUN:
            return phrase[:length]
    return phrase
