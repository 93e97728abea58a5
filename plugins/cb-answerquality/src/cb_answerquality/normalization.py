"""Text to tokens, as the SQuAD evaluation does it.

Lower-case, delete ASCII punctuation, replace the articles *a*, *an*, *the* by a space, split
at white space. Punctuation goes first, so that "U.S.A." becomes `usa` and "5 a.m." `5 am`.
"""

from __future__ import annotations

import string

from cbcore.lazy import lazy_pattern

_ARTICLE = lazy_pattern(r"\b(a|an|the)\b")
_ARTICLES = frozenset({"a", "an", "the"})
_PUNCTUATION = dict.fromkeys(map(ord, string.punctuation))

_ASCII_PUNCTUATION = string.punctuation.encode()
# One pass over ASCII bytes: capitals to lower case, and what `str.split` splits at to a space.
_ASCII_FOLD = bytes.maketrans(
    string.ascii_uppercase.encode() + b"\t\n\v\f\r\x1c\x1d\x1e\x1f",
    string.ascii_lowercase.encode() + b" " * 9,
)


def normalize(text: str) -> str:
    """The text in the form in which SQuAD compares answers."""
    return " ".join(tokens(text))


def tokens(text: str) -> list[str]:
    """The tokens that count: what is left without punctuation and articles."""
    if text.isascii():
        bare = text.encode().translate(_ASCII_FOLD, _ASCII_PUNCTUATION).decode()
        if bare.isprintable():
            # Only letters, digits and spaces are left, so a word boundary is a token boundary.
            return [token for token in bare.split() if token not in _ARTICLES]
    return _ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def tokens_with_articles(text: str) -> list[str]:
    """The tokens without punctuation, articles kept."""
    return text.lower().translate(_PUNCTUATION).split()


def raw_tokens(text: str) -> list[str]:
    """The lower-cased words as they stand, punctuation and all."""
    return text.lower().split()
