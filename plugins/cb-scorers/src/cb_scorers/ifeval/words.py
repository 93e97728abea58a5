"""Counting words, and words in capitals, as the tokenisers of the official checks do."""

from __future__ import annotations

import re

_WORD = re.compile(r"\w+")

# What separates words beside white space. A comma or colon before a digit is part of a number.
_SEPARATOR = re.compile(r"[;@#$%&?!*()\[\]{}<>\"`“”‘’„«»\u2012-\u2015]|--|''|\.{2,}|[:,](?!\d)")
# In the Penn Treebank "DON'T" is two words, DO and N'T, and so is "CANNOT".
_CLITIC = re.compile(r"(?<=[^'\s])(?=(?:'(?:[SMDsmd]|LL|ll|RE|re|VE|ve)|N'T|n't)\.?(?:\s|$))")
_FUSED = re.compile(
    r"\b(?:(CAN)(NOT)|(GIM|LEM)(ME)|(GON)(NA)|(GOT)(TA)|(D)('YE)|(MORE)('N))\b"
    r"|\b(WAN)(NA)(?!\S)",
    re.IGNORECASE,
)


def count_words(text: str) -> int:
    """The number of runs of letters, digits and underscores."""
    return sum(1 for _ in _WORD.finditer(text))


def count_capital_words(text: str) -> int:
    """The number of words whose letters are all capitals; "TWO-PART" is one word."""
    spaced = _SEPARATOR.sub(" ", text)
    spaced = _FUSED.sub(_apart, _CLITIC.sub(" ", spaced))
    return sum(word.isupper() for word in spaced.split())


def _apart(match: re.Match[str]) -> str:
    return f" {' '.join(filter(None, match.groups()))} "
