"""Counting sentences by the rules of Punkt, with a small model of English written by hand.

The official check uses the model of English that NLTK downloads. The rules are the same: a
question or exclamation mark ends a sentence; so does a full stop, unless it belongs to an
abbreviation, an initial, an ellipsis or a number and what follows does not look like a new
sentence. Line breaks end nothing.

This is not `cbcore.scoring.split_sentences`: the published scores of IFEval rest on the count of
NLTK, also where a reader counts otherwise, as in lists and at line breaks.
"""

from __future__ import annotations

import re

# Marks in and after quotes are one end: `he asked "Why?".` Then comes white space, a quote, a
# bracket or another mark.
_CANDIDATE = re.compile(
    r"(?<![.?!])[.?!]+(?:[\"')\]}”’]+[.?!]+)*(?=[)\";}\]*:@'({\[”’]|\s+(?P<next>\S{1,40}))"
)
_CLOSING = re.compile(r"[\"')\]}”’]+(?:\s+|(?=--)|\Z)")
_NUMBER = re.compile(r"[-+]?[.,]?\d[\d.,-]*")
_OPENING = "([{\"'*_“‘«-`#"
_BEFORE = re.compile(r"[^\s,;:?!(\[{\"“]*\Z")
_LONGEST_WORD = 40

_ABBREVIATIONS = """
    dr mr mrs ms prof sr jr st gen col sgt capt lt maj adm sen rep gov rev messrs
    inc corp ltd co bros cos vs jan feb mar apr aug sept oct nov dec
    u.s u.k u.n u.s.a d.c a.m p.m ph.d m.d b.a m.a n.y l.a e.h n.j
"""
_STARTERS = """
    the this that these those an and but or so if in on at for from with by as to of
    he she it they we you his her its their our my your there here
    what when where who why how which while after before since because although though
    however also then now thus therefore some many most each every all both one two another such other
    not no yes is are was were do does did can could will would should may please let
    first second third next last finally during until under over about like
"""
ABBREVIATIONS = frozenset(_ABBREVIATIONS.split())
"""What usually does not end a sentence before a name; lower case, without the last full stop."""
STARTERS = frozenset(_STARTERS.split())
"""Words that have a capital only because a sentence begins with them."""


def count_sentences(text: str) -> int:
    """The number of sentences of an English text."""
    text = text.strip()
    count = start = 0
    for match in _CANDIDATE.finditer(text):
        if match.start() < start or not _ends_sentence(text, match):
            continue
        count += 1
        start = match.start("next") if match["next"] else match.end()
        closing = _CLOSING.match(text, start)
        if closing:
            start = closing.end()
    return count + bool(text[start:].strip())


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    mark, after = match[0], (match["next"] or "").lstrip(_OPENING)
    if mark.strip("."):  # a question or exclamation mark is among them
        return True
    word = _word_before(text, match.start())
    if len(mark) > 1:
        return _starts_sentence(after)
    if not match["next"]:
        return word.lower() not in ABBREVIATIONS
    if _NUMBER.fullmatch(word):
        return not after[:1].islower()
    if word.lower() in ABBREVIATIONS:
        return _starts_sentence(after)
    if len(word) == 1 and word.isalpha():  # an initial, unless what follows is no name
        return _starts_sentence(after) or after[:1].lower() == after[:1].upper()
    return True


def _word_before(text: str, end: int) -> str:
    found = _BEFORE.search(text, max(0, end - _LONGEST_WORD), end)
    return found[0].lstrip(_OPENING) if found else ""


def _starts_sentence(word: str) -> bool:
    bare = re.split(r"\W", word, maxsplit=1)[0]
    return bare[:1].isupper() and bare.lower() in STARTERS
