"""The number that a sentence comes to."""

from __future__ import annotations

import re

NUMBER = re.compile(
    r"(?:(?<![\w)\]}])[-+−](?:\\?[$£€])?)?"  # a sign, unless it stands between two operands
    r"(?<![A-Za-z_\d])"
    r"(?:\d+\s\d+/\d+|(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:/\d+)?|\.\d+)"
    r"(?!\d|-[A-Za-z])"  # "a 4-pack" counts no packs
    r"(?:\s?(?:\\?%|π|(?:\\?pi|percent|pct|thousand|million|billion|trillion)\b))?"
)
_CALCULATOR = re.compile(r"<<[^<>\n]*>>")  # GSM8K's notes to its calculator
_SENTENCE_BREAK = re.compile(r"\n|(?<=[.!?])\s")
_RESULT = re.compile(rf"[=≈]\s{{0,9}}[$£€*\\]{{0,4}}(?P<number>{NUMBER.pattern})")
_GOES_ON = re.compile(
    r"[,;:=]|\b(?:so|and|then|which|but|because|is|are|was|were|has|have|had|will|would"
    r"|leaves?|makes?|means?|gives?|gets?|needs?|pays?|spends?|earns?|saves?)\b",
    re.IGNORECASE,
)
_OPERATOR = re.compile(r"\s{0,9}(?:[-+*/×÷^(]|x\s{0,9}\d|\\(?:times|cdot|div))")
_STATES = re.compile(
    r"(?:\b(?:is|are|was|were|be|equals?|equal to|makes?|gives?|gets?|total of)|[=:≈])"
    r"\s{1,9}(?:(?:about|approximately|only|exactly|just|a total of)\s{1,9})?[$£€*\\]{0,4}$",
    re.IGNORECASE,
)
_CONCLUDES = re.compile(
    r"[\s*]{0,9}(?:so|thus|therefore|hence|finally|altogether|overall|in (?:total|all(?=,)|conclusion))\b",
    re.IGNORECASE,
)


def last_number(text: str) -> str | None:
    """The number that the last sentence with one comes to, else its last number."""
    for sentence in reversed(_sentences(text)):
        if found := _of_sentence(sentence):
            return found[0]
    return None


def stated_number(text: str) -> str | None:
    """The same, if its sentence says that it is the answer."""
    for sentence in reversed(_sentences(text)):
        if found := _of_sentence(sentence):
            number, stated = found
            return number if stated or _CONCLUDES.match(sentence) else None
    return None


def _sentences(text: str) -> list[str]:
    return _SENTENCE_BREAK.split(_CALCULATOR.sub("", text))


def _of_sentence(sentence: str) -> tuple[str, bool] | None:
    """The result of its last equation, else its last number; and whether it is stated.

    In "4 + 5 = 9 points in the 40 minutes" it is 9: nothing is said of the 40.
    """
    last = None
    for last in NUMBER.finditer(sentence):  # noqa: B007 - the last one is wanted
        pass
    if last is None:
        return None
    result = None
    for result in _RESULT.finditer(sentence):  # noqa: B007
        pass
    if result is not None:
        between = sentence[result.end() : last.start()]
        if not _OPERATOR.match(sentence, result.end()) and not _GOES_ON.search(between):
            return result["number"].strip(), True
    before = sentence[max(0, last.start() - 60) : last.start()]
    return last[0].strip(), _STATES.search(before) is not None
