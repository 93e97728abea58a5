"""What evaluators share: tokens of answers, their overlap, and access to response and golds.

    from cbcore.scoring import golds_of, overlap_f1, response_of, squad_tokens

Import these instead of a copy, so that two evaluators agree on what a missing response is and on
what F1 means. A benchmark with a normalization of its own keeps it and shares the arithmetic:
`overlap_f1` takes any lists of tokens.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Any

from cbcore.exceptions import MissingScoreError

__all__ = (
    "NO_RESPONSE",
    "count_common",
    "format_answer",
    "golds_of",
    "is_absent",
    "overlap_f1",
    "response_of",
    "squad_tokens",
)

NO_RESPONSE = "the system returned no response; chain a reader behind it: `system | reader`"
"""The reason for a missing score if the output has no response."""

_ARTICLE = re.compile(r"\b(a|an|the)\b")
_ARTICLES = frozenset({"a", "an", "the"})
_PUNCTUATION = dict.fromkeys(map(ord, string.punctuation))
_ASCII_PUNCTUATION = string.punctuation.encode()
# One pass over ASCII bytes: capitals to lower case, and what `str.split` splits at to a space.
_ASCII_FOLD = bytes.maketrans(
    string.ascii_uppercase.encode() + b"\t\n\v\f\r\x1c\x1d\x1e\x1f",
    string.ascii_lowercase.encode() + b" " * 9,
)


# -- tokens and their overlap ------------------------------------------------------------------


def squad_tokens(text: str) -> list[str]:
    """The tokens of a text after the normalization of SQuAD's evaluation script.

    Lower-case the text, delete ASCII punctuation, replace the articles *a*, *an* and *the* by a
    space, and split at white space. Punctuation goes first: "U.S.A." becomes `usa`.
    """
    if text.isascii():
        bare = text.encode().translate(_ASCII_FOLD, _ASCII_PUNCTUATION).decode()
        if bare.isprintable():
            # Only letters, digits and spaces are left, so a word boundary is a token boundary.
            return [token for token in bare.split() if token not in _ARTICLES]
    return _ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def count_common(found: Sequence[str], wanted: Sequence[str]) -> int:
    """The number of tokens that both lists have. A repeated token counts as often as in both."""
    if len(wanted) == 1:  # as most short answers are
        return 1 if wanted[0] in found else 0
    distinct = set(wanted)
    if len(distinct) == len(wanted):
        return len(distinct.intersection(found))
    left: dict[str, int] = {}
    for token in wanted:
        left[token] = left.get(token, 0) + 1
    common = 0
    for token in found:
        if left.get(token):
            left[token] -= 1
            common += 1
    return common


def overlap_f1(found: Sequence[str], wanted: Sequence[str]) -> float:
    """The harmonic mean of token precision and token recall; 0.0 without a common token.

    Two empty lists give 0.0 too: what an empty gold is worth is for the evaluator to decide.
    """
    common = count_common(found, wanted)
    # 2PR / (P + R) with P = common / found and R = common / wanted, rounded once.
    return 2 * common / (len(found) + len(wanted)) if common else 0.0


# -- what an evaluator reads -------------------------------------------------------------------


def response_of(output: Mapping[str, Any], *, text_only: bool = False) -> str:
    """The response of an output as text; an empty text is a response.

    Raises `MissingScoreError` if there is no response, or if it is neither a text nor a number.
    With `text_only` a number is refused too: as a choice or a label it could be an index.
    """
    response = output.get("response")
    if isinstance(response, str):
        return response
    if is_absent(response):
        raise MissingScoreError(NO_RESPONSE)
    if text_only or not isinstance(response, Number):
        raise MissingScoreError(f"the response is a {type(response).__name__}, not a text")
    return format_answer(response)


def golds_of(
    example: Mapping[str, Any], fields: Sequence[str] = ("answers", "answer")
) -> list[str]:
    """All gold answers of an example as texts, from the first of the fields that has a value.

    The field has one answer or a list of alternatives. Raises `MissingScoreError` if there is no
    answer.
    """
    value = next((example[name] for name in fields if example.get(name) is not None), None)
    golds = value if isinstance(value, list | tuple) else [value]
    texts = [format_answer(gold) for gold in golds if not is_absent(gold)]
    if not texts:
        raise MissingScoreError("the example has no gold answer")
    return texts


def format_answer(value: object) -> str:
    """An answer as text, a whole number without decimals.

    Tables turn 5 into 5.0 if another cell of the column is empty.
    """
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def is_absent(value: object) -> bool:
    """Whether a value is None, or the NaN that stands for None in tables."""
    return value is None or (isinstance(value, float) and math.isnan(value))
