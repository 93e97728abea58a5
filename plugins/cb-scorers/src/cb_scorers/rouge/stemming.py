"""Word stems: Porter's algorithm with the additions of NLTK, which rouge-score stems with.

After M. F. Porter, "An algorithm for suffix stripping", 1980. A word is taken for groups of
vowels and consonants, [C](VC)…(VC)[V]; its measure is the number of VC in it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping


def _table(text: str) -> dict[str, str]:
    """What is written as `from:to`, or `from:` for what is left out, in the order it is tried."""
    return dict(pair.split(":") for pair in text.split())


_IRREGULAR = _table(
    """
    sky:sky skies:sky dying:die lying:lie tying:tie news:news howe:howe
    inning:inning innings:inning outing:outing outings:outing canning:canning cannings:canning
    proceed:proceed exceed:exceed succeed:succeed
    """
)
_DERIVED = _table(
    """
    ational:ate tional:tion enci:ence anci:ance izer:ize bli:ble alli:al entli:ent eli:e
    ousli:ous ization:ize ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous
    aliti:al iviti:ive biliti:ble fulli:ful
    """
)
_INFLECTED = _table("icate:ic ative: alize:al iciti:ic ical:ic ful: ness:")
_LAST = _table(
    """
    al: ance: ence: er: ic: able: ible: ant: ement: ment: ent: ion: ou: ism: ate: iti: ous: ive:
    ize:
    """
)


@functools.lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The stem of a lower-case word of ASCII letters and digits."""
    if word in _IRREGULAR or len(word) <= 2:
        return _IRREGULAR.get(word, word)
    word = _without_past_or_ing(_without_plural(word))
    if word.endswith("y") and len(word) > 2 and _shape(word[:-1])[-1] == "c":
        word = word[:-1] + "i"
    word = _without_derivation(word)
    word = _replaced(word, _INFLECTED, lambda left: _measure(left) > 0)
    word = _replaced(
        word,
        _LAST,
        lambda left: _measure(left) > 1 and (not word.endswith("ion") or left.endswith(("s", "t"))),
    )
    return _without_final(word)


def _without_plural(word: str) -> str:
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_past_or_ing(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    ending = "ed" if word.endswith("ed") else "ing" if word.endswith("ing") else ""
    left = word.removesuffix(ending)
    if not ending or "v" not in _shape(left):
        return word
    if left.endswith(("at", "bl", "iz")):
        return left + "e"
    if left[-1] == left[-2:-1] and _shape(left)[-1] == "c":
        return left if left[-1] in "lsz" else left[:-1]
    return left + "e" if _measure(left) == 1 and _ends_short(left) else left


def _without_derivation(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _without_derivation(word[:-2])
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return _replaced(word, _DERIVED, lambda left: _measure(left) > 0)


def _without_final(word: str) -> str:
    if word.endswith("e"):
        left = word[:-1]
        measure = _measure(left)
        if measure > 1 or (measure == 1 and not _ends_short(left)):
            word = left
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _replaced(word: str, endings: Mapping[str, str], may: Callable[[str], bool]) -> str:
    """A word with the first ending it has replaced, if that may be done to what is left of it."""
    for ending, new in endings.items():
        if word.endswith(ending):
            left = word.removesuffix(ending)
            return left + new if may(left) else word
    return word


def _shape(word: str) -> str:
    """The letters of a word as `v` and `c`; y is a vowel behind a consonant."""
    kinds: list[str] = []
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and kinds[-1:] == ["c"])
        kinds.append("v" if vowel else "c")
    return "".join(kinds)


def _measure(word: str) -> int:
    return _shape(word).count("vc")


def _ends_short(word: str) -> bool:
    """Whether it ends in consonant, vowel, consonant, as in hop; or is a vowel and a consonant."""
    shape = _shape(word)
    return shape == "vc" or (shape.endswith("cvc") and word[-1] not in "wxy")
