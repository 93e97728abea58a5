"""Plain English without end: sentences of a made-up chronicle, none of which says anything asked.

They are drawn from patterns and word lists, so that any length can be had without a download and
nobody's text is copied. They hold no digits, and no word that is joined by a hyphen, which is
what needles are made of.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

_PEOPLE = (
    "the miller",
    "the ferryman",
    "an old gardener",
    "the clockmaker",
    "her younger cousin",
    "the innkeeper",
    "a travelling surveyor",
    "the schoolteacher",
    "the widow from the lower street",
    "his neighbour",
    "the keeper of the archive",
    "a party of carpenters",
)
_PLACES = (
    "by the weir",
    "behind the town hall",
    "on the eastern slope",
    "at the edge of the common",
    "near the old tannery",
    "in the upper valley",
    "under the arcade",
    "along the canal",
    "beyond the orchard wall",
    "in the market square",
    "below the signal tower",
    "at the crossing of two lanes",
)
_TIMES = (
    "That spring",
    "Some weeks later",
    "Before the first frost",
    "On the evening of the fair",
    "In the years that followed",
    "Toward the end of the harvest",
    "When the rains had passed",
    "Early one morning",
    "By all accounts",
    "As far as anybody remembers",
)
_DEEDS = (
    "mended the sluice gate",
    "counted the barrels twice",
    "painted the shutters a paler shade",
    "wrote a long letter to the council",
    "planted a row of young elms",
    "argued about the price of wool",
    "carried the benches into the shade",
    "measured the width of the bridge",
    "kept the lamps burning until dawn",
    "sorted the seeds into paper bags",
    "listened to the rehearsal of the choir",
    "rebuilt the dry stone wall",
)
_RESULTS = (
    "and nobody thought much of it",
    "which pleased most of the parish",
    "although the weather was against it",
    "and the talk of it lasted all week",
    "so that the work was done before noon",
    "while the children looked on",
    "as had been the custom for generations",
    "and the ledger has a line about it",
    "though few agreed on the reason",
    "and a small supper was given afterwards",
)
_REMARKS = (
    "Such things were common enough there.",
    "The record is silent on what came of it.",
    "It was a matter of patience more than of skill.",
    "Visitors rarely noticed the difference.",
    "There was no hurry in any of this.",
    "The smell of cut hay hung over the place.",
    "Nothing in the minutes suggests a quarrel.",
    "The older people shook their heads and smiled.",
)


def sentences(random: Random) -> Iterator[str]:
    """Sentences, for ever."""
    while True:
        yield _sentence(random)


def _sentence(random: Random) -> str:
    who, where, when = random.choice(_PEOPLE), random.choice(_PLACES), random.choice(_TIMES)
    deed, result = random.choice(_DEEDS), random.choice(_RESULTS)
    pattern = random.randrange(5)
    if pattern == 0:
        return f"{when} {who} {deed} {where}, {result}."
    if pattern == 1:
        other = random.choice(_DEEDS)
        return f"{_capital(who)} {deed} {where} and later {other}."
    if pattern == 2:
        return f"{when}, {where}, {who} {deed}."
    if pattern == 3:
        return f"It is said that {who} {deed} {where}, {result}."
    return random.choice(_REMARKS)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
