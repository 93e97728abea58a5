"""What the reader knows about words: stems, kinds of nouns, peoples and their countries."""

from __future__ import annotations

import re
from functools import lru_cache

from cb_baselines.ranking import STOP_WORDS
from cb_baselines.wordlists import words

WORD = re.compile(r"[^\W_]+(?:[.'’&-][^\W_]+)*")

# People and language of a place, and the names the place goes by.
_PEOPLES = """
american: united states usa u.s america
british: united kingdom britain uk
english: england
scottish: scotland
welsh: wales
irish: ireland
french: france
german: germany
italian: italy
spanish: spain
portuguese: portugal
dutch: netherlands
belgian: belgium
swiss: switzerland
austrian: austria
swedish: sweden
norwegian: norway
danish: denmark
finnish: finland
icelandic: iceland
polish: poland
czech: czechia
hungarian: hungary
romanian: romania
greek: greece
turkish: turkey
russian: russia
soviet: soviet
ukrainian: ukraine
canadian: canada
mexican: mexico
brazilian: brazil
argentine: argentina
chilean: chile
cuban: cuba
australian: australia
zealand: zealand
japanese: japan
chinese: china
korean: korea
indian: india
pakistani: pakistan
iranian: iran
iraqi: iraq
israeli: israel
egyptian: egypt
nigerian: nigeria
african: africa
filipino: philippines
indonesian: indonesia
vietnamese: vietnam
thai: thailand
"""


def _demonyms() -> dict[str, str]:
    found = {}
    for line in _PEOPLES.strip().splitlines():
        people, _, names = line.partition(": ")
        for name in (people, *names.split()):
            if name not in {"united", "states", "kingdom"}:
                found[name] = people
    return {**found, "states": "american", "kingdom": "british"}


DEMONYMS = _demonyms()
"""A word for a people or a place → the people: `france` and `french` → `french`."""

_IRREGULAR = {
    "wrote": "writ",
    "written": "writ",
    "sang": "sing",
    "sung": "sing",
    "won": "win",
    "led": "lead",
    "held": "hold",
    "built": "build",
    "made": "make",
    "known": "know",
    "fought": "fight",
    "bought": "buy",
    "fell": "fall",
    "began": "begin",
    "taught": "teach",
    "ran": "run",
    "died": "die",
    "death": "die",
    "films": "film",
    "movie": "film",
    "movies": "film",
    "people": "person",
    "children": "child",
    "genera": "genus",
    "population": "inhabit",
    "inhabitant": "inhabit",
    "inhabitants": "inhabit",
    "birthplace": "born",
    "nationality": "nation",
    **DEMONYMS,
}
_SUFFIX = re.compile(r"(?:ations?|ions?|ings?|ers?|ors?|ists?|ed|es|e|s)\Z")


def _bare(word: str) -> str:
    """A word in lower case, without the `'s` at its end."""
    return word.lower().replace("’", "'").removesuffix("'s").removesuffix("'")


@lru_cache(maxsize=1 << 15)
def stem(word: str) -> str:
    """A rough stem: `directs` and `director`, `wrote` and `writer`, `France` and `French` share one."""
    lowered = _bare(word)
    if lowered in _IRREGULAR:
        return _IRREGULAR[lowered]
    if lowered.endswith("ies") and len(lowered) > 4:
        return lowered[:-3] + "y"
    cut = _SUFFIX.sub("", lowered)
    if len(cut) < 3 or not cut.isalpha():
        return lowered
    if len(cut) > 3 and cut[-1] == cut[-2] and cut[-1] not in "ls":
        cut = cut[:-1]
    return cut


def stems(text: str) -> list[str]:
    """The stems of a text's words, stop words left out."""
    return [found for _, found in placed_stems(text)]


def placed_stems(text: str) -> list[tuple[int, str]]:
    """Position and stem of a text's words, stop words left out: `What’s` is one like `what`."""
    return [
        (match.start(), stem(match[0]))
        for match in WORD.finditer(text)
        if _bare(match[0]) not in STOP_WORDS
    ]


PLACE_NOUNS = words(
    """
    area borough city continent country county district hometown island location municipality
    nation neighborhood neighbourhood place province region state street suburb territory town
    village birthplace
    """
)
PERSON_NOUNS = words(
    """
    actor actress adventurer architect artist athlete author ace banker brother businessman
    businesswoman captain cartoonist character chef coach comedian commander composer conductor
    creator daughter designer director doctor driver economist editor emperor engineer
    entrepreneur explorer father filmmaker footballer founder general golfer governor guitarist
    host husband inventor investor journalist judge king lawyer lead leader lyricist man manager
    mathematician mayor minister model monarch mother musician narrator novelist officer
    painter person philosopher photographer physicist pilot pianist player playwright poet
    politician president producer professor quarterback queen racer rapper scientist
    screenwriter sculptor senator singer sister skater soldier son songwriter star statesman
    swimmer vocalist wife winner woman wrestler writer
    """
)
NUMBER_NOUNS = words("amount capacity count height length number percentage population total")
DATE_NOUNS = words("date day month")
SPAN_OF_TIME_NOUNS = words("era period span timeframe timespan years")

MONTHS = words(
    "January February March April May June July August September October November December"
)
STARTERS = words(
    """
    a after although an and as at before both but by during each for from he her his however
    if in it its many most on one she since some such that the their then there these they
    this those though through to under until we when where while with you
    """
)
"""Words that, capitalized, most likely open a sentence."""

NAME_PARTICLES = words("al de del der di du la le van von")
IMPERSONAL = words(
    """
    academy airport album army association avenue award awards band battle book broadcasting
    championship championships church city club college committee company conference
    corporation county cup department division east entertainment festival film foundation
    game games house institute island lake league magazine ministry movie museum navy north
    novel office park pictures press records river school series show society song south state
    states street studios team television theater theatre the tour university war west world
    """
)
"""Words that are part of names, but not of a person's."""

_NUMERALS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen twenty
"""
NUMBER_WORDS = {word: value for value, word in enumerate(_NUMERALS.split())}
