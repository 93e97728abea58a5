"""From a response to the choice it settles on, by rules in a fixed order, precision first."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence

import attrs

from cb_multiple_choice.mentions import L, M, T, label_of, sketch
from cb_multiple_choice.reading import folded, plain

MOST_CHOICES = len(string.ascii_uppercase)
DEFAULT_CHOICES = 10
"""How many letters count as labels where the choices are not known."""


class NoAnswerError(ValueError):
    """The response settles on no choice, or on more than one."""


@attrs.frozen
class Extracted:
    """The choice a response settles on, and the rule that found it."""

    label: str
    rule: str


_LIST = rf"{M}(?:(?:\s*[,/&]\s*|,?\s*\b(?:and|or|nor)\b\s*)(?:option\s+|choice\s+)?{M}){{0,25}}"
_CONJUNCTION = rf"{M}(?:(?:,\s*{M}){{0,25}},?\s*\b(?:and|or)\s+(?:option\s+|choice\s+)?{M})?"

_NEGATION = (
    r"(?:\b(?:not|never|neither|nor|cannot|rather than|instead of|except|besides"
    r"|eliminat(?:e|es|ed|ing)|rul(?:e|es|ed|ing) out|reject(?:s|ed|ing)?|exclud(?:e|es|ed|ing)"
    r"|discard(?:s|ed|ing)?)|n't)\s+(?:(?:be|is|it's|it|the|options?|choices?|answers?|letter"
    r"|choose|pick|select|necessarily|simply|both)\s+)*"
)
_VERDICT = (
    r"\s*(?:(?:is|are|was|were|seems?|looks?|can be|could be|must be|would be)\s+(?:\w+\s+){0,2}?"
    r"(?:not|wrong|incorrect|false|out|eliminated|ruled|rejected|excluded|unlikely|impossible"
    r"|invalid)\b|(?:\w+n't|cannot|(?:do|does|did|can|could|would) not)\b)"
)
_REJECTED = re.compile(rf"{_NEGATION}{_LIST}|{_CONJUNCTION}{_VERDICT}", re.IGNORECASE)

# What may stand between "the answer is" and the answer; bounded, so that no text takes long.
_GAP = r"[\s:\"'=,…–—-]*"
_FILLER = (
    rf"{_GAP}(?:(?:\w+ly|option|choice|letter|answer|statement|indeed|in fact|of course"
    r"|i (?:think|believe|guess)|that|is|be|to be|just|perhaps|maybe|the|one|with|correct|right"
    rf"|best|final|therefore|thus|so|hence|it|it's)\b{_GAP}){{0,8}}"
)
_BE = (
    r"(?:is|was|are|will be|would be|should be|must be|has to be|have to be|could be|might be"
    r"|may be|seems to be|appears to be|turns out to be|remains)\b"
)
_STATEMENT = re.compile(
    rf"\b(?:answer|choice|option|selection|solution|conclusion|verdict|pick|guess|one)"
    rf"(?:\s+(?:to|for|of|in|here)\b(?:\s+\w+){{0,4}}?)?(?:\s+{_BE}|\s*[:=]|'s\b)"
    rf"{_FILLER}(?P<answer>{_LIST})"
    r"|\b(?:i|we|i'd|i'll|we'd|i'm)\s+(?:\w+\s+){0,3}?(?:choose|chose|pick|picked|select|selected"
    r"|go with|going with|went with|go for|vote for|opt for|say|answer|guess|settle on)\b"
    rf"{_FILLER}(?P<chosen>{_LIST})"
    rf"|(?:\b(?:it|this|that|which)(?:'s|\s+{_BE})|\b(?:would|should|must|has to|have to) be\b"
    r"|\b(?:therefore|thus|hence|so|finally|in conclusion|but|choose|select|pick|definitely)\b)"
    rf"{_FILLER}(?P<concluded>{L}(?:\s*(?:/|\b(?:and|or)\b)\s*{M})*)"
    rf"|(?P<declared>{_CONJUNCTION})\s*,?\s*(?:is|are|was|seems|must be|would be|looks)\s+(?:\w+ly\s+)?"
    r"(?:correct|right|(?:the|my)\s+(?:\w+\s+){0,2}?(?:answer|choice|option|one|correct|right|best"
    r"|most)\b)",
    re.IGNORECASE,
)
_MARKS = "[^\\w\ue000-\ue119]*"
_ALONE = re.compile(
    rf"{_MARKS}(?:(?:option|choice|answer|letter)\b{_MARKS})?({M}){_MARKS}", re.IGNORECASE
)
_LETTER_ALONE = re.compile(r"[\W_]*([A-Za-z])[\W_]*")
_LEADING = re.compile(
    rf"[\s\"]*(?:(?:option|choice|answer)\s+)?(?:(?P<letter>{L})(?!\s*(?:[,/&]|and\b|or\b)\s*{M})"
    rf"|(?P<text>{T})(?=\s*(?:[,.;:!\n–—]|because\b|since\b|as\b)))",
    re.IGNORECASE,
)
_LINE_LABEL = re.compile(rf"^[\s\"-]*({L})", re.MULTILINE)


def extract_choice(response: str, choices: Sequence[str] = ()) -> Extracted:
    """The choice that a response settles on; raises `NoAnswerError` when there is not one.

    `choices` are the texts of the choices, for A, B, C and so on; without them only letters are
    looked for. What the response rules out ("not A", "C is wrong") is taken away first, then the
    first rule that finds something decides:

    1. `alone`: the response, or its last line, is one letter or one choice's text.
    2. `statement`: the last statement such as "the answer is …", "I choose …", "so it must be …",
       "… is correct"; a boxed answer is one.
    3. `leading`: the response begins with a label, as in "(D) because", and is no list of labels.
    4. `letter`: it has the letter of one choice only.
    5. `text`: it has the text of one choice only.
    """
    if len(choices) > MOST_CHOICES:
        raise ValueError(f"{len(choices)} choices; letters label at most {MOST_CHOICES}")
    text = plain(response)
    if not text:
        raise NoAnswerError("the response is empty")
    labels = string.ascii_uppercase[: len(choices) or DEFAULT_CHOICES]
    by_label = dict.fromkeys(labels, "") | dict(zip(labels, choices, strict=False))
    whole = _whole(text, by_label)
    if whole:
        return Extracted(whole, "alone")
    drawn = _REJECTED.sub("rejected", sketch(text, by_label))
    for rule in (_alone, _statement, _leading, _letter, _text):
        label = rule(drawn)
        if label:
            return Extracted(label, rule.__name__.strip("_"))
    mentioned = sorted(set(map(label_of, re.findall(M, drawn))))
    if mentioned:
        raise NoAnswerError(f"the response mentions {', '.join(mentioned)} and settles on none")
    raise NoAnswerError("the response mentions no choice, or only to rule it out")


def _whole(text: str, choices: Mapping[str, str]) -> str | None:
    """The response is a letter, whatever its case, or the text of one choice."""
    letter = _LETTER_ALONE.fullmatch(text)
    if letter and letter[1].upper() in choices:
        return letter[1].upper()
    same = [label for label, choice in choices.items() if choice and folded(choice) == folded(text)]
    return same[0] if len(same) == 1 else None


def _alone(drawn: str) -> str | None:
    *_, before, last = ["", "", *drawn.split("\n")]
    match = _ALONE.fullmatch(drawn)
    if not match and not _ALONE.fullmatch(before):  # else it is the last of a list
        match = _ALONE.fullmatch(last)
    return label_of(match[1]) if match else None


def _statement(drawn: str) -> str | None:
    """What the last statement says; one that says several things at once says nothing."""
    last = None
    for match in _STATEMENT.finditer(drawn):
        last = match
    if last is None:
        return None
    said = next(filter(None, last.group("answer", "chosen", "concluded", "declared")))
    labels = set(map(label_of, re.findall(M, said)))
    if len(labels) > 1:
        raise NoAnswerError(f"the response settles on {' and '.join(sorted(labels))} at once")
    return labels.pop()


def _leading(drawn: str) -> str | None:
    match = _LEADING.match(drawn)
    letters = "".join(map(label_of, re.findall(L, drawn)))
    goes_through_them = letters.startswith("ABC")
    if not match or goes_through_them or len(set(_LINE_LABEL.findall(drawn))) > 1:
        return None
    return label_of(match["letter"] or match["text"])


def _letter(drawn: str) -> str | None:
    return _only(re.findall(L, drawn))


def _text(drawn: str) -> str | None:
    return None if re.search(L, drawn) else _only(re.findall(T, drawn))


def _only(signs: Sequence[str]) -> str | None:
    return label_of(signs[0]) if len(set(signs)) == 1 else None
