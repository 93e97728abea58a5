"""When two answers are the same, as far as it can be told without algebra.

`decided` is quick and sure, or says that it does not know; then it is math-verify's turn.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

_RELATIVE_TOLERANCE = Fraction(1, 1_000_000)
_NOISE = re.compile(r"\\(?:left|right|displaystyle|textstyle|quad|qquad|,|!|;|:|\s)|[$\s~]|\\$")
_FRACTION = re.compile(r"\\[dt]?frac\{(-?\d+)\}\{(-?\d+)\}|\\[dt]?frac(\d)(\d)|(-?\d+)/(\d+)")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DECIMAL = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?")
_UNIT = re.compile(
    r"^(?P<value>.*?[\d})])\s*\\?[,~ ]?\s*"
    r"(?:\\(?:text|mathrm|mbox|textrm)\{\s*(?P<wrapped>[^{}]+?)\s*\}|(?P<bare>[A-Za-z]+(?:\^\d)?))"
    r"(?P<power>\^\{?\d\}?)?\.?$"
)
_DEGREES = re.compile(r"(?:\^\{?\\circ\}?|°|\\degree|\s+degrees?)$")
_CURRENCY = re.compile(r"^(?:\\(?=[\d.])|[£€¥])")  # of an escaped dollar the stroke is left
_SHORTEST_UNIT = 2
_LONGEST_WITH_UNIT = 200


def decided(gold: str, answer: str) -> bool | None:
    """True or False when it is sure, None when algebra is needed."""
    if squeezed(gold) == squeezed(answer):
        return True
    gold_value, gold_unit = split_unit(gold)
    answer_value, answer_unit = split_unit(answer)
    if gold_unit and answer_unit and gold_unit != answer_unit:
        return False
    left, right = number(gold_value), number(answer_value)
    if left is None or right is None:
        return None
    return _same(left, right)


def _same(left: Fraction, right: Fraction) -> bool:
    """Integers exactly; otherwise as near as a rounded decimal can be told to be."""
    if left.denominator == right.denominator == 1:
        return left == right
    return abs(left - right) <= _RELATIVE_TOLERANCE * max(abs(left), abs(right))


def squeezed(text: str) -> str:
    """A text without what only changes how a formula looks."""
    text = _NOISE.sub("", text.strip().rstrip("."))
    return text.replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac").replace("−", "-")


def split_unit(text: str) -> tuple[str, str]:
    """A value and its unit, in lower case; an empty text when it has none."""
    text = text.strip()
    if len(text) > _LONGEST_WITH_UNIT:
        return text, ""
    degrees = _DEGREES.search(text)
    if degrees:
        return text[: degrees.start()], "degrees"
    match = _UNIT.match(text)
    if match is None:
        return text, ""
    unit = (match["wrapped"] or match["bare"]).strip()
    if len(unit) < _SHORTEST_UNIT and match["wrapped"] is None:
        return text, ""  # a single bare letter is a variable
    power = (match["power"] or "").strip("^{}")
    return match["value"], unit.lower().rstrip("s") + (f"^{power}" if power else "")


def number(text: str) -> Fraction | None:
    """The number that a text is, all of it: 1,000 and 50% and \\frac{1}{2}; None for the rest."""
    text = _CURRENCY.sub("", squeezed(text))
    sign = -1 if text.startswith("-") else 1
    text = text.lstrip("+-") if text[:1] in ("+", "-") else text
    text = _CURRENCY.sub("", text)
    percent = text.endswith("%")
    text = text.removesuffix("%").removesuffix("\\")
    value = _unsigned(text)
    return None if value is None else sign * value / (100 if percent else 1)


def _unsigned(text: str) -> Fraction | None:
    match = _FRACTION.fullmatch(text)
    if match is not None:
        above, below = (_exact(part) for part in match.groups() if part is not None)
        return above / below if below else None
    if _GROUPED.fullmatch(text):
        return _exact(text.replace(",", ""))
    return _exact(text) if _DECIMAL.fullmatch(text) else None


def _exact(digits: str) -> Fraction:
    return Fraction(Decimal(digits))  # which, unlike int, has no limit on digits


def is_percentage(text: str) -> bool:
    """Whether a text says so many per cent."""
    return squeezed(text).endswith("%")
