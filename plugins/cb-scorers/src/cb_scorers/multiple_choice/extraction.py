"""From a response to the choice it settles on, by rules in a fixed order, precision first."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence

import attrs

from cb_scorers.multiple_choice.mentions import WORDS_AND_SIGNS, J, L, M, T, label_of, sketch
from cb_scorers.multiple_choice.reading import folded, plain
from cb_scorers.multiple_choice.rejections import without_rejected
from cb_scorers.multiple_choice.statements import stated
from cb_scorers.multiple_choice.turns import parts

MOST_CHOICES = len(string.ascii_uppercase)
DEFAULT_CHOICES = 10
"""How many letters count as labels where the choices are not known."""
SHORT_WORDS = 30
"""In a longer response the only letter or text that occurs is one of many that might have."""


class NoAnswerError(ValueError):
    """The response settles on no choice, or on more than one."""


@attrs.frozen
class Extracted:
    """The choice a response settles on, and the rule that found it."""

    label: str
    rule: str


_MARKS = f"[^{WORDS_AND_SIGNS}]*"
_ALONE = re.compile(
    rf"{_MARKS}(?:(?:option|choice|answer|letter)\b{_MARKS})?({M}){_MARKS}", re.IGNORECASE
)
_LETTER_ALONE = re.compile(r"[\W_]*([A-Za-z])[\W_]*")
_NOT_OF_A_LIST = rf"(?!\s*(?:[,/&]|and\b|or\b)\s*{M})"
_LEADING = re.compile(
    rf"[\s\"]*(?:(?:option|choice|answer)\s+)?(?:(?P<joined>{J}){_NOT_OF_A_LIST}"
    rf"|(?P<letter>{L}){_NOT_OF_A_LIST}(?=\s*(?:[,.;:!\n–—-]|because\b|since\b|as\b|due\b|for\b))"
    rf"|(?P<text>{T}){_NOT_OF_A_LIST}(?=\s*(?:[,.;:!\n–—]|because\b|since\b|as\b)))",
    re.IGNORECASE,
)
# "A: Let's think step by step" is the answer to "Q:", not the choice A.
_ANSWER_SIGN = re.compile(r"\AA:\s*(?=(?:let|we|first|step|think|to)\b)", re.IGNORECASE)
_LINE_LABEL = re.compile(rf"^[\s\"-]*({L})", re.MULTILINE)
_REASONING = re.compile(
    r"let(?:'s|\s+(?:us|me|the))\b|step\b|first\b|we\s+(?:know|have|need|are|refer|start)\b"
    r"|(?:in order\s+)?to\s+(?:find|determine|solve|answer|calculate)\b|recall\b",
    re.IGNORECASE,
)
# A number on the way to another ("= 12, so we divide") is no answer.
_SETTLED_TEXT = re.compile(rf"(?<![=≈])(?<![=≈]\s){T}|{T}(?=\W*$)")


def extract_choice(response: str, choices: Sequence[str] = (), question: str = "") -> Extracted:
    """The choice that a response settles on; raises `NoAnswerError` when there is not one.

    `choices` are the texts of the choices, for A, B, C and so on; without them only letters are
    looked for. Where the response begins a question of its own after answering, it is cut; where
    it repeats the `question` that was asked, with its choices, what follows is read. What it rules out ("not A",
    "C is wrong") is taken away, then the first rule that finds something decides:

    1. `alone`: the response, or its last line, is one letter or one choice's text.
    2. `statement`: the last statement such as "the answer is …", "I choose …", "so it must be …",
       "… is correct"; a boxed answer is one.
    3. `leading`: the response begins with a label, as in "(D) because", and is no list of labels;
       or its first line is one.
    4. `letter`: it is short and has the letter of one choice only.
    5. `text`: it is short and has the text of one choice only.
    """
    if len(choices) > MOST_CHOICES:
        raise ValueError(f"{len(choices)} choices; letters label at most {MOST_CHOICES}")
    text = _ANSWER_SIGN.sub("", plain(response))
    if not text:
        raise NoAnswerError("the response is empty")
    labels = string.ascii_uppercase[: len(choices) or DEFAULT_CHOICES]
    by_label = dict.fromkeys(labels, "") | dict(zip(labels, choices, strict=False))
    drawn = ""
    for part in map(str.strip, parts(text, question, choices)):
        whole = _whole(part, by_label)
        if whole:
            return Extracted(whole, "alone")
        drawn = without_rejected(sketch(part, by_label))
        for rule in _RULES:
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
    *_, before, last = ["", "", *filter(str.strip, drawn.split("\n"))]
    match = _ALONE.fullmatch(drawn) or _ALONE.fullmatch(last)
    if not match or (last != drawn and _is_next_of_list(before, match[1])):
        return None
    return label_of(match[1])


def _is_next_of_list(before: str, sign: str) -> bool:
    """The label on the last line only continues the labels of the lines before it."""
    label = _LINE_LABEL.match(before)
    follows = label is not None and ord(label_of(sign)) == ord(label_of(label[1])) + 1
    return follows or _ALONE.fullmatch(before) is not None


def _statement(drawn: str) -> str | None:
    """What the last statement says; one that says several things at once says nothing."""
    labels = stated(drawn)
    if len(labels) > 1:
        raise NoAnswerError(f"the response settles on {' and '.join(sorted(labels))} at once")
    return labels.pop() if labels else None


def _leading(drawn: str) -> str | None:
    first, second, *_ = [*filter(str.strip, drawn.split("\n")), "", ""]
    title = _ALONE.fullmatch(first)
    if title and not _LINE_LABEL.match(second):
        return label_of(title[1])
    match = _LEADING.match(drawn)
    letters = "".join(map(label_of, re.findall(L, drawn)))
    goes_through_them = letters.startswith("ABC")
    if not match or goes_through_them or len(set(_LINE_LABEL.findall(drawn))) > 1:
        return None
    return label_of(next(filter(None, match.groups())))


def _letter(drawn: str) -> str | None:
    return _only(re.findall(L, drawn)) if _is_short(drawn) else None


def _text(drawn: str) -> str | None:
    if re.search(L, drawn) or not _is_short(drawn):
        return None
    return _only(re.findall(T, drawn)) if _SETTLED_TEXT.search(drawn) else None


_RULES: tuple[Callable[[str], str | None], ...] = (_alone, _statement, _leading, _letter, _text)


def _is_short(drawn: str) -> bool:
    """The response is a short answer, and not reasoning that breaks off early."""
    return len(drawn.split(maxsplit=SHORT_WORDS)) <= SHORT_WORDS and not _REASONING.match(drawn)


def _only(signs: Sequence[str]) -> str | None:
    return label_of(signs[0]) if len(set(map(label_of, signs))) == 1 else None
