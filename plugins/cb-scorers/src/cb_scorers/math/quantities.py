"""A value and its unit: `5\\text{ cm}`, 90°, 20%, $18, 25_6.

A percentage, degrees, a currency and the base of a numeral are units as well: each may be left
out, and none is another.
"""

from __future__ import annotations

import re
from typing import NamedTuple

PERCENT = "percent"
_SPELLINGS = {
    "mm": "millimeter millimetre",
    "cm": "centimeter centimetre",
    "m": "meter metre",
    "km": "kilometer kilometre",
    "in": "inch",
    "ft": "foot feet",
    "yd": "yard",
    "mi": "mile",
    "mi per h": "mph",
    "mg": "milligram",
    "g": "gram",
    "kg": "kilogram",
    "pound": "lb £",
    "oz": "ounce",
    "ml": "milliliter millilitre",
    "l": "liter litre",
    "gal": "gallon",
    "s": "sec second",
    "min": "minute",
    "h": "hr hour",
    "yr": "year",
    "dollar": "$ usd",
    "euro": "€",
    "yen": "¥",
    "degree": "deg",
    PERCENT: "pct percentage",
    "am": "a.m",
    "pm": "p.m",
}
_UNITS = {name: unit for unit, names in _SPELLINGS.items() for name in (unit, *names.split())}
_UNITS |= {name: name for name in ("cup", "day", "ton", "unit")}
_AS_A_PRODUCT = frozenset({"in", "mi", "mg"})  # which two variables make as well
_PREFIXES = {"square": "^2", "sq": "^2", "cubic": "^3", "cu": "^3"}
_TEMPERATURES = {
    "C": "celsius",
    "Celsius": "celsius",
    "F": "fahrenheit",
    "Fahrenheit": "fahrenheit",
}
_SCALES = {"thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_SYMBOLS = frozenset({"alpha", "beta", "gamma", "delta", "theta", "omega", "sqrt", "infinity"})
_SHORTEST_NOUN = 4
_LONGEST = 200

_SPACE = r"(?:\\[\s,;:!]|[\s~])*"
_POWER = r"(?:\^\{?(?P<power>[23])\}?)?"
_BRACKETS = re.compile(r"\$((?:\\.|[^$\\])*)\$|\\\((.*)\\\)|\\\[(.*)\\\]", re.DOTALL)
_PI = re.compile(r"(?<![A-Za-z\\])(?:pi(?![A-Za-z])|π)")
_BEFORE = re.compile(rf"(?P<sign>[-+−]?)\s*\\?(?P<unit>[$£€¥]){_SPACE}(?=[-−\d.\\])")
_AFTER = re.compile(
    rf"{_SPACE}(?:\\?(?P<symbol>[$£€¥])|(?P<percent>\\?%|\b(?i:percent(?:age)?|per cent|pct))"
    rf"|(?:\^\s*\{{?\s*\\circ\s*\}}?|°|\\degree)"
    rf"(?:{_SPACE}(?:\\(?:text|mathrm)\s*\{{\s*)?(?P<of>C(?:elsius)?|F(?:ahrenheit)?)\s*\}}?)?)$",
)
_BASE = re.compile(r"(?P<value>[-+−]?\d[\dA-F]*)_\{?(?P<base>\d+)\}?")
_SCALE = re.compile(
    rf"(?<=\d){_SPACE}(?P<text>\\text\s*\{{\s*)?(?P<scale>{'|'.join(_SCALES)})\b(?P<end>\s*\}})?"
)
_WRAPPED = re.compile(
    rf"(?P<value>.*[^\s\\~,;:!^_/*=<>({{&+-]){_SPACE}"
    rf"\\(?P<font>text|textrm|textbf|textit|mathrm|mbox)\s*\{{(?P<unit>[^{{}}]+)\}}{_POWER}",
    re.DOTALL,
)
_BARE = re.compile(
    rf"(?P<value>.*(?:[\d}})]|\\pi))(?P<gap>{_SPACE})"
    r"(?P<unit>(?:(?:square|cubic|sq|cu)\.?\s+)?[A-Za-z][A-Za-z.]*(?:(?:\s+per\s+|/)[A-Za-z]+)?)"
    rf"{_POWER}",
    re.DOTALL,
)


_LETTER = re.compile(rf"[-+−]?[\d.,]*\d{_SPACE}(?P<unit>[mgshlL])")
_SAME_LETTER = ({"m", "mi"}, {"m", "min"})  # which people shorten to one letter


class Quantity(NamedTuple):
    """The text of a value, and its unit in one spelling; empty when it has none."""

    value: str
    unit: str


def quantity(text: str) -> Quantity:
    """A text parted into value and unit."""
    text = text.strip()
    if len(text) > _LONGEST:
        return Quantity(text, "")
    if brackets := _BRACKETS.fullmatch(text):
        text = "".join(filter(None, brackets.groups())).strip()
    text = _PI.sub(r"\\pi ", _SCALE.sub(_power_of_ten, text.rstrip("."))).strip()
    if currency := _BEFORE.match(text):
        value = _parted(currency["sign"] + text[currency.end() :]).value
        return Quantity(value, _UNITS[currency["unit"]])
    return _parted(text)


def letter_unit(text: str) -> str:
    """The unit that a single letter behind a number may be, as in 10 m; empty without one."""
    found = _LETTER.fullmatch(text.strip().rstrip("."))
    return found["unit"].lower() if found else ""


def differ(unit: str, other: str) -> bool:
    """Whether two units cannot be meant for the same; one that was left out is no other."""
    degrees = "degree" in (unit, other) and not {unit, other}.isdisjoint(_TEMPERATURES.values())
    same = degrees or {unit, other} in _SAME_LETTER
    return bool(unit and other) and unit != other and not same


def _parted(text: str) -> Quantity:
    """The same for a text that does not begin with its unit."""
    if (after := _AFTER.search(text)) and after.start():
        unit = PERCENT if after["percent"] else after["symbol"] or after["of"] or "degree"
        return Quantity(text[: after.start()], _TEMPERATURES.get(unit) or _UNITS[unit])
    if base := _BASE.fullmatch(text):
        return Quantity(base["value"], f"base {base['base']}")
    found = _WRAPPED.fullmatch(text)
    if found and (found["font"] == "mathrm" and found["unit"].strip() in ("e", "i")):
        return Quantity(text, "")  # the numbers, upright
    if found is None:
        found = _BARE.fullmatch(text)
        if found is None or not _is_unit(
            found["unit"], spaced=bool(found["gap"]), power=bool(found["power"])
        ):
            return Quantity(text, "")
    if _AFTER.search(found["value"]):
        return Quantity(text, "")  # 20° to the west are none to the east
    power = f"^{found['power']}" if found["power"] else ""
    return Quantity(found["value"], _spelled(found["unit"]) + power)


def _power_of_ten(scale: re.Match[str]) -> str:
    goes_on = scale["text"] and not scale["end"]
    return rf" \times 10^{{{_SCALES[scale['scale']]}}}" + ("\\text{" if goes_on else "")


def _is_unit(phrase: str, *, spaced: bool, power: bool) -> bool:
    """Whether letters after a number are a unit, and not variables that multiply it."""
    names = [_singular(name) for name in _names(phrase)]
    if all(name in _UNITS or name in _PREFIXES or name == "per" for name in names):
        if phrase == "m" and power:
            return spaced
        return len(phrase) > 1 and (spaced or phrase not in _AS_A_PRODUCT)
    return spaced and len(phrase) >= _SHORTEST_NOUN and phrase.lower() not in _SYMBOLS


def _spelled(phrase: str) -> str:
    """A unit in one spelling: "square inches" and "in^2" are one."""
    names = _names(phrase)
    power = _PREFIXES.get(names[0], "") if len(names) > 1 else ""
    names = names[1:] if power else names
    return " ".join(_UNITS.get(_singular(name), _singular(name)) for name in names) + power


def _names(phrase: str) -> list[str]:
    spaced = re.sub(_SPACE + "/" + _SPACE, " per ", phrase.lower())
    return [name.rstrip(".,") for name in re.split(r"[\s~\\]+", spaced.strip()) if name]


def _singular(name: str) -> str:
    if name in _UNITS:
        return name
    return re.sub(r"(?<=[^s])s$", "", re.sub(r"(x|ch|sh|ss)es$", r"\1", name))
