"""When two answers are the same, as far as it can be told without algebra.

`decided` is quick and sure, or says that it does not know; then it is math-verify's turn, with
what `for_algebra` makes of them.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from fractions import Fraction

from cb_scorers.math.quantities import PERCENT, Quantity, differ, letter_unit, quantity

_SYMBOLS = {"∞": r"\infty ", "≤": r"\le ", "≥": r"\ge ", "×": r"\times ", "·": r"\cdot "}
_SYMBOL = re.compile("|".join(_SYMBOLS))
_POWER = re.compile(r"(?<=[\w)])\s?\*\*\s?(?=[\w(-])")  # of Python
_COMMAND = re.compile(r"\\(?:(?P<fraction>[cdt]?frac)|sqrt(?:\s*\[[^][{}]*\])?)(?![A-Za-z])")
# One token of TeX; what begins a number of several digits under a root may mean all of it.
_ARGUMENT = re.compile(
    r"\s*(?P<token>\\(?![cdt]?frac|sqrt)[A-Za-z]+|(?<!sqrt)(?<!sqrt\s)[0-9A-Za-z]|[0-9A-Za-z](?!\d))"
)
_OPENING = re.compile(r"\s*\{")
_LONGEST = 2_000
_ROOT = re.compile(r"√\s?(?:\((?P<inside>[^()]*)\)|(?P<symbol>\d+|[A-Za-z]))")
_RAISED = re.compile(r"(?<=[\w)}])[⁰¹²³⁴-⁹⁻]+")
_VULGAR = re.compile(r"(?P<whole>\d?)\s?(?P<fraction>[¼½¾⅓⅔])")
_RELATIVE_TOLERANCE = Fraction(1, 1_000_000)
_TEN = Fraction(10)
_INVISIBLE = re.compile(r"\\(?:left|right|displaystyle|textstyle)(?![A-Za-z])|\\[,!]|\\?\$")
_MARK = re.compile(r"(,)\\! ?| ?\{ ?([,:]) ?\} ?")  # of thousands, and of a time
_SPACING = re.compile(r"(?:\\(?:quad|qquad)(?![A-Za-z])|\\[;:\s]|[\s~])+")
_FONT = re.compile(r"\\(?:text|textrm|textbf|textit|mathrm|mbox)\s*\{([^{}]*)\}")
_DEGREE = re.compile(r"\^\{\\circ\}|°|\\degree(?![A-Za-z])")
_NOT_BETWEEN_DIGITS = re.compile(r"(?<!\d) | (?!\d)")
_LIST = re.compile(r"\d,\s+\d")
_FRACTION = re.compile(
    r"(?:(?P<whole>\d+) ?)?\\frac(?:\{(?P<above>-?\d+)\}\{(?P<below>-?\d+)\}|(?P<a>\d)(?P<b>\d))"
    r"|(?:(?P<units>\d+) )?(?P<over>\d+)/(?P<under>\d+)"
)
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?: \d{3})+(?:\.\d+)?")
_DECIMAL = re.compile(r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?")
_SCIENTIFIC = re.compile(r"(?P<factor>.+?)(?:\\times|\\cdot|×|\*)10\^\{?(?P<power>-?\d{1,3})\}?")
_REPEATING = re.compile(r"(?P<whole>\d*)\.(?P<once>\d*)\\overline\{(?P<again>\d+)\}")
_MULTIPLE = re.compile(r"-?[\d.,]+(?P<letters>[a-zA-Z]+)")
_AMBIGUOUS = frozenset(
    [*"mgshlLJNWVKCFe", "pi", "in", "mi", "mg"]
)  # numbers, or units without a space


def in_tex(text: str) -> str:
    """A text with the symbols that stand for TeX written as TeX: √2, x², ∞, ½.

    The arguments of fractions and roots are put in braces: \\frac \\pi4 is \\frac{\\pi}{4}.
    """
    text = _in_braces(text)
    if text.isascii() and "**" not in text:
        return text
    text = _VULGAR.sub(_spelled_out, _POWER.sub("^", text))
    text = _RAISED.sub(lambda match: f"^{{{_plain(match[0])}}}", text)
    text = _ROOT.sub(lambda match: rf"\sqrt{{{match['inside'] or match['symbol']}}}", text)
    return _SYMBOL.sub(lambda match: _SYMBOLS[match[0]], text)


def _in_braces(text: str) -> str:
    """A text in which no fraction and no root has a bare argument, where that can be told."""
    if len(text) > _LONGEST:
        return text
    for command in reversed(list(_COMMAND.finditer(text))):  # what follows has its braces already
        at = command.end()
        for _ in range(2 if command["fraction"] else 1):
            bare = _ARGUMENT.match(text, at)
            if bare is None:
                at = _after_group(text, at)
                continue
            text = f"{text[:at]}{{{bare['token']}}}{text[bare.end() :]}"
            at += len(bare["token"]) + 2
    return text


def _after_group(text: str, at: int) -> int:
    """Where the braces that open next are closed; the end of the text where none do."""
    opened = _OPENING.match(text, at)
    depth = 0
    for position in range(opened.end() - 1 if opened else len(text), len(text)):
        depth += (text[position] == "{") - (text[position] == "}")
        if depth == 0:
            return position + 1
    return len(text)


def _spelled_out(match: re.Match[str]) -> str:
    gap = " " if match["whole"] else ""
    return match["whole"] + gap + _plain(match["fraction"]).replace("\u2044", "/")


def _plain(symbols: str) -> str:
    return unicodedata.normalize("NFKC", symbols).replace("−", "-")


def decided(gold: str, answer: str) -> bool | None:
    """True or False when it is sure, None when algebra is needed."""
    if squeezed(gold) == squeezed(answer):
        return True
    left, right = quantity(gold), quantity(answer)
    if differ(left.unit, right.unit) or _differ_in_letter(gold, answer):
        return False
    if squeezed(left.value) == squeezed(right.value):
        return True
    one, other = number(left.value), number(right.value)
    if one is not None and other is not None:
        percentages = (left.unit == PERCENT) - (right.unit == PERCENT)
        return _same(one, other) or (
            percentages != 0 and _same(one, other * _TEN ** (2 * percentages))
        )
    if (one is None) != (other is None) and _is_multiple(
        left.value if one is None else right.value
    ):
        return False
    return None


def _differ_in_letter(gold: str, answer: str) -> bool:
    """Whether one ends in another unit than the other, where one or both are a single letter.

    A letter behind a number may be a variable, so that alone it is no unit: 10 m and 10 are one.
    """
    units = [letter_unit(text) or quantity(text).unit for text in (gold, answer)]
    return any(map(letter_unit, (gold, answer))) and differ(*units)


def for_algebra(gold: str, answer: str) -> list[tuple[str, str]]:
    """Pairs of which one has to be equal: the values without their units.

    A percentage beside something that is none is so much, or so many hundredths.
    """
    left, right = quantity(gold), quantity(answer)
    pairs = [(left.value, right.value)]
    if (left.unit == PERCENT) != (right.unit == PERCENT):
        pairs.append((_in_hundredths(left), _in_hundredths(right)))
    return pairs


def _in_hundredths(part: Quantity) -> str:
    return f"({part.value})/100" if part.unit == PERCENT else part.value


def _same(left: Fraction, right: Fraction) -> bool:
    """Integers exactly; otherwise as near as a rounded decimal can be told to be."""
    if left.denominator == right.denominator == 1:
        return left == right
    return abs(left - right) <= _RELATIVE_TOLERANCE * max(abs(left), abs(right))


def _is_multiple(text: str) -> bool:
    """Whether a text is a number times variables, where math-verify takes 4t for 4 tonnes."""
    match = _MULTIPLE.fullmatch(squeezed(text))
    return match is not None and match["letters"] not in _AMBIGUOUS


def squeezed(text: str) -> str:
    """A text without what only changes how a formula looks; "3 1/2" keeps its space."""
    text = _SPACING.sub(" ", text.strip().rstrip("."))
    text = _INVISIBLE.sub("", _MARK.sub(r"\1\2", text))
    text = _DEGREE.sub(r"^\\circ", _FONT.sub(r" \1 ", text))
    text = text.replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac").replace("−", "-")
    return _NOT_BETWEEN_DIGITS.sub("", _SPACING.sub(" ", text).strip())


def number(text: str) -> Fraction | None:
    """The number that a text is, all of it: 1,000 and \\frac{1}{2} and 3 1/2; None for the rest."""
    if _LIST.search(text):
        return None
    text = squeezed(text)
    sign = -1 if text.startswith("-") else 1
    text = text[1:] if text[:1] in ("+", "-") else text
    scientific = _SCIENTIFIC.fullmatch(text)
    value = _unsigned(scientific["factor"] if scientific else text)
    if value is None:
        return None
    return sign * value * _TEN ** int(scientific["power"] if scientific else 0)


def _unsigned(text: str) -> Fraction | None:
    match = _FRACTION.fullmatch(text)
    if match is not None:
        parts = [_exact(part) for part in match.groups() if part is not None]
        *whole, above, below = parts  # a mixed number has a whole part
        return sum(whole, above / below) if below else None
    if repeating := _REPEATING.fullmatch(text):
        once, again = repeating["once"], repeating["again"]
        period = _exact(again) / (_TEN ** len(again) - 1)
        return _exact(f"{repeating['whole'] or 0}.{once}0") + period / _TEN ** len(once)
    if _GROUPED.fullmatch(text):
        return _exact(text.replace(",", "").replace(" ", ""))
    return _exact(text) if _DECIMAL.fullmatch(text) else None


def _exact(digits: str) -> Fraction:
    return Fraction(Decimal(digits))  # which, unlike int, has no limit on digits
