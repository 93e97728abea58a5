"""Where in a response the answer stands.

In this order: the last `\\boxed{…}`; what follows the last `####`; what follows the last
"the answer is" or the "A:" of a line; the whole response when it is a single expression; the
number alone on its first line; the last formula, unless a later sentence states a number; the last
number.
"""

from __future__ import annotations

import re

from cb_scorers._responses import strip_reasoning
from cb_scorers.math.comparison import number
from cb_scorers.math.formulas import formulas, is_prose
from cb_scorers.math.prose import NUMBER, concludes, last_number, stated_number
from cb_scorers.math.quantities import quantity

# What may repeat is bounded or cannot match in two ways, so that no text takes long.
_NEGATIVE = re.compile(r"\bnegative\s(?=\\?\$?\d)", re.IGNORECASE)
_BOXED = re.compile(r"\\(?:boxed|fbox)\s*(?=\S)")
_HASHES = re.compile(r"####[ \t]*(?P<answer>\S[^\n]*)")
_HEADING = re.compile(r"\d{1,3}[.)]\s|[A-Za-z]{3,}\s[^\n]*\d|[^\n]*:\**\s*$")
_STATED = re.compile(
    r"(?:\b(?:answer|result|solution)\b[\s*\"]{0,9}(?:(?:is|equals|was)\b(?!\snot\b)|[=:]){1,3}"
    r"|^A:)[:*\s]{0,20}(?=[^\s:*])",
    re.IGNORECASE | re.MULTILINE,
)
_SENTENCE_END = re.compile(r"\.(?=\s+[A-Z]|\s*$)|;\s|,\s+(?=(?:so|since|because|which|as)\b)")
_LEADING = re.compile(
    r"(?:therefore|thus|simply|just|only|exactly|approximately|about|option)\b[:\s]+", re.IGNORECASE
)
_QUOTES = '*`"“” \t\r\n'
_CURRENCY = re.compile(r"\\?[$£€]\s?")
_SAYS_MORE = re.compile(r"=|\b(?:is|are|was|were|has|have|had|will)\b")
# "Total: 5" and "n equals 5" say what a number is; "sin 30" is one.
_ANNOUNCEMENT = re.compile(
    r"(?:[A-Za-z]\s)?(?!(?:sin|cos|tan|cot|sec|csc|log|exp|mod|minus)\b)[A-Za-z]{3,}[\s:\"]+"
    r"(?=[-−$£€₹]{0,2}\d)"
)
_OTHER_SCRIPT = re.compile(r"[\u0400-\u0fff\u3040-\u9fff\uac00-\ud7af]")
_LONGEST_EXPRESSION = 200
_LONGEST_PHRASE = 60


def final_answer(text: str) -> str | None:
    """The answer a text ends up with, or None when it has none."""
    text = _NEGATIVE.sub("-", strip_reasoning(text))
    boxed = last_boxed(text)
    if boxed is not None:
        return boxed.strip() or None
    return (
        _after_hashes(text)
        or _after_statement(text)
        or _whole(text)
        or _first_line(text)
        or _concluding(text)
    )


def marked_answer(text: str) -> str | None:
    """The answer that a worked solution marks, by a box or by `####`, or None."""
    boxed = last_boxed(text)
    return (boxed.strip() or None) if boxed is not None else _after_hashes(text)


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


def _after_hashes(text: str) -> str | None:
    """GSM8K's mark; the headings of Markdown look the same and are none."""
    last = None
    for last in _HASHES.finditer(text):  # noqa: B007 - the last one is wanted
        pass
    if last is None or _HEADING.match(answer := last["answer"]):
        return None
    if re.fullmatch(r"[A-Za-z*\s]+", answer) and text[last.end() :].strip():
        return None  # "#### Answer" is above one
    return _direct(answer) or _concluding(answer)


def _after_statement(text: str) -> str | None:
    """What "the answer is" says, at once or in its sentence.

    "Answer:" may also be the heading of a whole solution, whose end counts then.
    """
    statement = None
    for statement in _STATED.finditer(text):  # noqa: B007 - the last one is wanted
        pass
    if statement is None:
        return None
    start = statement.end()
    said, _, rest = text[start:].partition("\n")
    if '"' in statement[0]:  # as JSON has it
        said = said.lstrip('"').partition('"')[0]
    for formula in formulas(text):  # which may go on over the end of the line
        if formula.start == start:
            return formula.content
    if direct := _direct(said):
        return direct
    sentence = _first_sentence(said)
    headed = ":" in statement[0]
    answer = _concluding(text[start:]) if headed else _concluding(sentence) or _concluding(rest)
    announces = len(sentence) > _LONGEST_PHRASE or sentence.endswith(":")
    return answer or (None if announces else sentence or None)


def _whole(text: str) -> str | None:
    text = _bare(text)
    if not _is_expression(text) or _OTHER_SCRIPT.search(text):
        return None
    announcement = _ANNOUNCEMENT.match(text)
    return _direct(text[announcement.end() :] if announcement else text)


def _first_line(text: str) -> str | None:
    """A number that stands alone above an explanation, unless that ends in a conclusion."""
    first, _, rest = text.strip().partition("\n")
    first = _bare(_bare(first).rstrip("."))
    is_number = _is_expression(first) and number(quantity(first).value) is not None
    return first if is_number and rest.startswith("\n") and not concludes(rest) else None


def _concluding(text: str) -> str | None:
    """The last formula, or the number that the sentences after it come to."""
    found = formulas(text)
    if not found:
        return last_number(text)
    return stated_number(text, found[-1].end) or found[-1].content


def _direct(text: str) -> str | None:
    """The formula, the expression or the number that a line begins with."""
    text = _bare(text)
    if leading := _LEADING.match(text):
        text = _bare(text[leading.end() :])
    found = formulas(text)
    if found and found[0].start == 0:
        return found[0].content
    text = _first_sentence(text)
    if _is_expression(text) and not formulas(text):
        return text
    currency = _CURRENCY.match(text)
    found_number = NUMBER.match(text, currency.end() if currency else 0)
    if found_number is None or _SAYS_MORE.search(text, found_number.end()):
        return None
    return found_number[0].strip()


def _first_sentence(text: str) -> str:
    end = _SENTENCE_END.search(text)
    return _bare(_bare(text[: end.start()] if end else text).rstrip("."))


def _bare(text: str) -> str:
    """A text without quotation marks and emphasis around it."""
    return text.strip().strip(_QUOTES).strip()


def _is_expression(text: str) -> bool:
    """Whether a text is a formula or a number, perhaps with a unit, and not a sentence."""
    if not 0 < len(text) <= _LONGEST_EXPRESSION or "\n" in text:
        return False
    return not is_prose(text) or not is_prose(quantity(text).value)
