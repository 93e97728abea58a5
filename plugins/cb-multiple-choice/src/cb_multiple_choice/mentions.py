"""Where a response mentions choices, by letter or by text, drawn as a sketch of the response.

In a sketch every mention is one character: `L` matches those of letters, `T` those of texts.
What the rules look for can then be said in plain regular expressions.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterator, Mapping

import attrs

from cb_multiple_choice.reading import folded, plain

_FIRST_LETTER, _FIRST_TEXT = 0xE000, 0xE100
L = "[\ue000-\ue019]"
T = "[\ue100-\ue119]"
M = "[\ue000-\ue019\ue100-\ue119]"

# After "A" or "I" as a label come only these words; any other makes it an article or a pronoun.
_AFTER_LABEL = (
    "because|since|as|due|is|was|would|seems|and|or|but|not|with|based|given|which|instead|rather"
    "|over|then"
)
_LETTER = re.compile(
    r"[(\[]\s*(?P<bracketed>[A-Za-z])\s*[)\]]|(?<!\w)(?P<quote>['\"])(?P<quoted>[A-Za-z])(?P=quote)"
    r"|(?<![\w'])(?P<closed>[A-Za-z])\)"
    rf"|(?<![\w'.+/&-])(?:[B-HJ-Z]|[AI](?!\s+(?!(?:{_AFTER_LABEL})\b)[a-z]))(?![\w'+&]|[-/.]\w)"
)
# "The answer is b." names a choice; elsewhere a small letter without brackets is no label.
_SMALL = re.compile(
    r"(?P<cue>\b(?:answer|choice|option)(?:\s+is|\s*[:=])?\s*\"?)(?P<label>[a-z])(?=\s*(?:[\".;!,]|$))",
    re.IGNORECASE | re.MULTILINE,
)
_REPEATED = re.compile(rf"(?P<letter>{L})[\s.:,=\"–—-]{{0,4}}{T}|{T}\s?(?P<after>{L})")
# A choice's text is no part of a longer word or number, and no term of a sum.
_NOT_WITHIN = (
    r"(?<!\w)(?<!\d[.,])(?<![-+$€£](?=\d)){}(?!\w|[.,]\d)"
    r"(?!(?<=\d)\s*(?:[-+*/×=^]|(?:times|plus|minus)\b))"
)


@attrs.frozen
class _Mention:
    start: int
    end: int
    sign: str


def sketch(text: str, choices: Mapping[str, str]) -> str:
    """The plain text with its mentions of choices, given by letter and text, drawn as signs."""
    text = _SMALL.sub(lambda match: match["cue"] + match["label"].upper(), text)
    taken = bytearray(len(text))
    texts = _free(_texts(text, choices), taken)
    letters = _free(_letters(text, choices), taken)
    drawn, at = [], 0
    for mention in sorted([*texts, *letters], key=lambda mention: mention.start):
        drawn += [text[at : mention.start], mention.sign]
        at = mention.end
    drawn.append(text[at:])
    # "B) Paris" and "Paris (B)" are one mention, by letter.
    return _REPEATED.sub(lambda match: match["letter"] or match["after"], "".join(drawn))


def label_of(sign: str) -> str:
    """The letter of the choice that a sign in a sketch stands for."""
    first = _FIRST_TEXT if ord(sign) >= _FIRST_TEXT else _FIRST_LETTER
    return string.ascii_uppercase[ord(sign) - first]


def _letters(text: str, choices: Mapping[str, str]) -> Iterator[_Mention]:
    for match in _LETTER.finditer(text):
        label = next(filter(None, match.group("bracketed", "quoted", "closed", 0))).upper()
        if label in choices:
            sign = chr(_FIRST_LETTER + ord(label) - ord("A"))
            yield _Mention(match.start(), match.end(), sign)


def _texts(text: str, choices: Mapping[str, str]) -> Iterator[_Mention]:
    """Where choices' texts stand as whole words and numbers, those of longer choices first."""
    times = Counter(map(folded, choices.values()))
    for label, choice in sorted(choices.items(), key=lambda item: -len(item[1])):
        words = plain(choice).rstrip(".").split()
        is_letter = len(words) == 1 and len(words[0]) == 1 and words[0].isalpha()
        if not words or is_letter or times[folded(choice)] > 1:
            continue
        sign = chr(_FIRST_TEXT + ord(label) - ord("A"))
        pattern = r"\s+".join(map(re.escape, words))
        for match in re.finditer(_NOT_WITHIN.format(pattern), text, re.IGNORECASE):
            yield _Mention(match.start(), match.end(), sign)


def _free(mentions: Iterator[_Mention], taken: bytearray) -> list[_Mention]:
    """The mentions that do not overlap what is taken; they take their place."""
    free = []
    for mention in mentions:
        if not any(taken[mention.start : mention.end]):
            taken[mention.start : mention.end] = b"\x01" * (mention.end - mention.start)
            free.append(mention)
    return free
