"""The number that a sentence comes to."""

from __future__ import annotations

import re

NUMBER = re.compile(
    r"(?:(?<![\w)\]}])[-+−](?:\\?[$£€])?)?"  # a sign, unless it stands between two operands
    r"(?<![A-Za-z_\d])"
    r"(?:\d+\s\d+/\d+|\d*\s?[¼½¾⅓⅔]|(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:/\d+)?|\.\d+)"
    r"(?!\d|-[A-Za-z])"  # "a 4-pack" counts no packs
    r"(?:\s?(?:\\?%|π|(?:\\?pi|percent|pct|thousand|million|billion|trillion)\b))?"
)
_CALCULATOR = re.compile(r"<<[^<>\n]*>>")  # GSM8K's notes to its calculator
_SENTENCE_BREAK = re.compile(r"\n|(?<=[.!?])\s")
_RESULT = re.compile(rf"[=≈]\s{{0,9}}[$£€*\\]{{0,4}}(?P<number>{NUMBER.pattern})")
# "**$64** for the 16 glasses", and not the heading "**2. Second glass**"
_EMPHASISED = re.compile(
    rf"\*\*\s{{0,3}}[$£€\\]{{0,3}}(?P<number>{NUMBER.pattern})(?![.)]\s)[^*\n=]{{0,40}}\*\*"
)
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
    found = _last(text, 0)
    return found[0] if found else None


def stated_number(text: str, start: int = 0) -> str | None:
    """The same of what begins at `start`, if its sentence says that it is the answer."""
    found = _last(text, start)
    return found[0] if found and found[1] else None


def concludes(text: str) -> bool:
    """Whether a sentence begins as a conclusion does."""
    return any(map(_CONCLUDES.match, _sentences(text)))


def _last(text: str, start: int) -> tuple[str, bool] | None:
    """The number of the last sentence behind `start` that has one, and whether it is stated.

    A result that the sentence only repeats is its number: after "40 + 24 = 64" that of "he pays
    64 for the 16 glasses" is 64.
    """
    sentences = _sentences(text[start:])
    while sentences:
        sentence = sentences.pop()
        found = _of_sentence(sentence)
        if found is None:
            continue
        number, stated = found
        if not stated:
            before = text[:start] + "\n".join(sentences)
            result = _last_match(_RESULT, before)
            if result and (repeated := _repeated(result["number"], sentence)):
                return repeated, True
        return number, stated or _CONCLUDES.match(sentence) is not None
    return None


def _repeated(number: str, sentence: str) -> str | None:
    """The number in a sentence that does not go on to say something else."""
    numbers = list(NUMBER.finditer(sentence))
    goes_on = _last_match(_GOES_ON, sentence[: numbers[-1].start()])
    same = (
        found[0].strip()
        for found in numbers
        if (goes_on is None or found.end() >= goes_on.end())
        and _digits(found[0]) == _digits(number)
    )
    return next(same, None)


def _digits(number: str) -> str:
    return re.sub(r"\.0+$", "", re.sub(r"[^\d./-]", "", number))


def _last_match(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    found = None
    for found in pattern.finditer(text):  # noqa: B007 - the last one is wanted
        pass
    return found


def _sentences(text: str) -> list[str]:
    return _SENTENCE_BREAK.split(_CALCULATOR.sub("", text))


def _of_sentence(sentence: str) -> tuple[str, bool] | None:
    """What it emphasises, or the result of its last equation, else its last number; and whether
    it is stated.

    In "4 + 5 = 9 points in the 40 minutes" it is 9: nothing is said of the 40.
    """
    last = _last_match(NUMBER, sentence)
    if last is None:
        return None
    if emphasised := _last_match(_EMPHASISED, sentence):
        return emphasised["number"].strip(), True
    result = _last_match(_RESULT, sentence)
    if result is not None:
        between = sentence[result.end() : last.start()]
        if not _OPERATOR.match(sentence, result.end()) and not _GOES_ON.search(between):
            return result["number"].strip(), True
    before = sentence[max(0, last.start() - 60) : last.start()]
    return last[0].strip(), _STATES.search(before) is not None
