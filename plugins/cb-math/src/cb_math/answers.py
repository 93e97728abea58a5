"""Where in a response the answer stands.

In this order: the last `\\boxed{…}`; what follows the last `####`; what follows the last
"the answer is"; the whole response when it is a single expression; the last formula between
dollars; the last number.
"""

from __future__ import annotations

import re

# What may repeat is bounded or cannot match in two ways, so that no text takes long.
_BOXED = re.compile(r"\\(?:boxed|fbox)\s*(?=\S)")
_HASHES = re.compile(r"####[ \t]*(\S[^\n]*)")
_STATED = re.compile(
    r"\b(?:answer|result|solution)\b\s{0,9}(?:is|equals|was|=|:){1,3}[:\s]{0,20}"
    r"(?:(?:therefore|thus|simply|just|exactly|approximately|about)\b[:\s]{0,20})?"
    r"(?P<answer>[^\n]+)",
    re.IGNORECASE,
)
_FORMULA = re.compile(
    r"\$\$(.+?)\$\$|\$(.+?)\$|\\\(((?:(?!\\[()]).)+)\\\)"
    r"|\\\[((?:(?!(?<!\\)\\[\[\]]).)+)\\\]",
    re.DOTALL,
)
_NUMBER = re.compile(r"[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:/\d+)?(?:\s*\\?%)?")
_SENTENCE_END = re.compile(r"\.(?=\s+[A-Z]|\s*$)|;\s|,\s+(?=(?:so|since|because|which|as)\b)")
_WORD = re.compile(r"(?<![\\A-Za-z{])[A-Za-z]{2,}")
_PROSE = re.compile(
    r"\b(?:am|an|as|at|be|by|do|he|if|in|is|it|my|no|of|on|or|so|to|up|us|we)\b", re.IGNORECASE
)
_LONGEST_EXPRESSION = 200


def final_answer(text: str) -> str | None:
    """The answer a text ends up with, or None when it has none."""
    boxed = last_boxed(text)
    if boxed is not None:
        return boxed.strip() or None
    for pattern in (_HASHES, _STATED):
        found = pattern.findall(text)
        if found and (answer := _cut(found[-1])):
            return answer
    stripped = text.strip().strip("*").strip()
    if _is_expression(stripped):
        return _cut(stripped)
    formulas = ["".join(groups).strip() for groups in _FORMULA.findall(text)]
    if formulas and formulas[-1]:
        return formulas[-1]
    numbers = _NUMBER.findall(text)
    return numbers[-1].strip() if numbers else None


def last_boxed(text: str) -> str | None:
    """The content of the last box: its braces may nest; without braces, one symbol."""
    starts = [match.end() for match in _BOXED.finditer(text)]
    if not starts:
        return None
    start = starts[-1]
    if text[start : start + 1] != "{":
        return text[start:].split(maxsplit=1)[0].rstrip("$.,") if text[start:].strip() else None
    depth = 0
    for position in range(start, len(text)):
        depth += (text[position] == "{") - (text[position] == "}")
        if depth == 0:
            return text[start + 1 : position]
    return text[start + 1 :]


def _cut(text: str) -> str:
    """A statement without the sentence around it: its formula if it has one, else its start."""
    text = text.strip().strip("*").strip()
    formulas = ["".join(groups).strip() for groups in _FORMULA.findall(text)]
    if formulas and _FORMULA.match(text):
        return formulas[0]
    end = _SENTENCE_END.search(text)
    text = (text[: end.start()] if end else text).strip().strip("*").rstrip(".").strip()
    if _is_expression(text):
        return text
    number = _NUMBER.search(text)
    return formulas[0] if formulas else number[0].strip() if number else text


def _is_expression(text: str) -> bool:
    """Whether a text is a formula or a number, perhaps with a unit, and not a sentence."""
    if not 0 < len(text) <= _LONGEST_EXPRESSION or "\n" in text:
        return False
    words = _WORD.findall(text)
    return len(words) <= 1 or (max(map(len, words)) == 2 and not _PROSE.search(text))
