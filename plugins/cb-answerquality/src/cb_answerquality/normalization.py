"""Text to tokens as `cbcore.scoring.squad_tokens` does it, with accents composed."""

from __future__ import annotations

import string
import unicodedata

from cbcore.scoring import squad_tokens

_PUNCTUATION = dict.fromkeys(map(ord, string.punctuation))


def normalize(text: str) -> str:
    """The text in the form in which SQuAD compares answers."""
    return " ".join(tokens(text))


def tokens(text: str) -> list[str]:
    """The tokens that count: what is left without punctuation and articles."""
    return squad_tokens(text if text.isascii() else fold(text))


def fold(text: str) -> str:
    """Lower case, with accents composed (NFC), so that both ways of writing é are equal."""
    return unicodedata.normalize("NFC", text.lower())


def tokens_with_articles(text: str) -> list[str]:
    """The tokens without punctuation, articles kept."""
    return fold(text).translate(_PUNCTUATION).split()


def raw_tokens(text: str) -> list[str]:
    """The lower-cased words as they stand, punctuation and all."""
    return fold(text).split()
