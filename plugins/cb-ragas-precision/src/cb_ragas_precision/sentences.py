"""Where the sentences of a text begin and end, as a reader sees it.

A full stop ends a sentence unless it belongs to an abbreviation, an initial or the number of a
list. After what can be either ("Inc.", "U.S.") a sentence begins only with a word that has a
capital for no other reason.
"""

from __future__ import annotations

import re

_CLOSING = "\"'”’»)\\]}"
_OPENING = "\"'“‘«([{¿¡*-"
# Marks, what closes behind them, and the space before the next sentence; Chinese and Japanese
# write none.
_END = re.compile(
    rf"(?<![.!?…])(?P<mark>[.!?…]+(?: \.)*)[{_CLOSING}]*(?:\s+|\Z)|[。！？]+[」』”’）{_CLOSING}]*\s*|\n\s*"
)
_WORD_BEFORE = re.compile(r"[^\s(\[{\"“‘«/—–]*\Z")
_WORD = re.compile(r"[^\W_]+(?![\w.])")
_DOTTED = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_NUMBERING = re.compile(r"\s*(?:[(\[*-]\s*)?(?:\d{1,3}|[^\W\d_]|[ivxIVX]{1,5})?")
_ELLIPSES = ("...", "…")
_LONGEST_WORD = 20
_FULL_LINE = 40
"""A line of so many characters may have been broken by whoever set the text."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NAMES_FOLLOW = _words(
    """
    dr mr mrs ms messrs mme mlle prof rev lt sgt cpl pvt capt cmdr maj adm brig amb supt insp
    sra dra srta vs e.g i.e eg ie cf viz approx ca incl esp resp asst
    """
)
"""After these, what follows belongs to the same sentence, whatever it is."""

_NUMBERS_FOLLOW = _words(
    "no nos nr fig figs eq eqs sec secs ch chap vol vols pp par para art ref tab app ver ed op"
)
"""Abbreviations before a number, and words or ends of sentences before anything else."""

_MAY_END = _words(
    """
    inc ltd co cos corp bros llc plc gmbh dept univ assn est govt jr sr esq st ave blvd rd etc al
    gen col hon pres sen rep gov mt ft fr ph.d jan feb mar apr jun jul aug sep sept oct nov dec
    """
)
"""These end a sentence only before a word that begins one."""

_STARTERS = _words(
    """
    the this that these those a an and but or so yet if in on at for from with by as to of into
    he she it they we you i his her its their our my your there here
    what when where who whom whose why how which while after before since because although though
    however also then now thus therefore hence moreover furthermore instead meanwhile finally
    some many most much each every all both one two three another such other few several none
    nobody everyone not no yes is are was were do does did can could will would should may might
    must has have had please let during until under over about like despite according given today
    once unlike without within between among through throughout later first second third
    """
)
"""Words that have a capital only because a sentence begins with them."""


def sentences(text: str) -> list[str]:
    """The sentences of a text, without the white space around them. None is empty."""
    found, start = [], 0
    for match in _END.finditer(text):
        if _is_boundary(text, start, match):
            found.append(text[start : match.end()].strip())
            start = match.end()
    return [one for one in (*found, text[start:].strip()) if one]


def _is_boundary(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether a sentence that begins at `start` ends with this match."""
    mark, word = (match["mark"] or "").replace(" ", ""), _before(text, match.start())
    after = text[match.end() : match.end() + _LONGEST_WORD]
    if "\n" in match[0]:
        wrapped = after[:1].islower() and match.start() - start >= _FULL_LINE
        return not wrapped and not (mark and word in _NAMES_FOLLOW)
    if not mark:
        return True
    after = after.lstrip(_OPENING)
    if after[:1].islower() or _NUMBERING.fullmatch(text, start, match.start()):
        return False
    if mark in _ELLIPSES:
        return _begins_sentence(after)
    return mark != "." or _ends_with_full_stop(word, after)


def _ends_with_full_stop(word: str, after: str) -> bool:
    if word in _NAMES_FOLLOW:
        return False
    if word in _NUMBERS_FOLLOW:
        return not after[:1].isdigit()
    if word in _MAY_END or _DOTTED.fullmatch(word):
        return _begins_sentence(after)
    return True


def _before(text: str, end: int) -> str:
    """The word that a full stop stands behind, in lower case."""
    found = _WORD_BEFORE.search(text, max(0, end - _LONGEST_WORD), end)
    return found[0].lower() if found else ""


def _begins_sentence(after: str) -> bool:
    word = _WORD.match(after)
    return not after or bool(word and word[0][:1].isupper() and word[0].lower() in _STARTERS)
