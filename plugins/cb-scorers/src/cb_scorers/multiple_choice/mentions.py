"""Where a response mentions choices, by letter or by text, drawn as a sketch of the response.

In a sketch every mention is one character: `L` matches those of letters, `T` those of texts, `J`
those of letters that stand with a text ("B) Paris"), which `L` matches too. What the rules look
for can then be said in plain regular expressions.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterator, Mapping

import attrs

from cb_scorers.multiple_choice.reading import folded, plain

_FIRST_LETTER, _FIRST_JOINED, _FIRST_TEXT = 0xE000, 0xE040, 0xE080
L = "[\ue000-\ue059]"
J = "[\ue040-\ue059]"
T = "[\ue080-\ue099]"
M = "[\ue000-\ue099]"
WORDS_AND_SIGNS = "\\w\ue000-\ue099"
"""Words and signs, for a character class."""

# Letters of scripts that put spaces between words; a label may stand next to any other.
_W = r"0-9A-Za-z_\u00c0-\u024f\u0370-\u03ff\u0400-\u04ff"
# After "A" or "I" as a label come only these words; any other makes it an article or a pronoun.
_AFTER_LABEL = (
    "because|since|as|due|is|was|would|seems|and|or|but|not|with|based|given|which|instead|rather"
    "|over|then|fits|wins|works|remains"
)
_LETTER = re.compile(
    r"(?:[(\[]\s*(?P<bracketed>[A-Za-z])\s*[)\]]|(?<!\w)(?P<quote>['\"])(?P<quoted>[A-Za-z])(?P=quote)"
    rf"|(?<![{_W}'])(?P<closed>[A-Za-z])\)"
    # no part of a word or a formula, no variable ("G = 12") and no unit ("12 J")
    rf"|(?<![{_W}'.+/&∆∇∂√°-])(?<!\d\s)(?:[B-HJ-Z]|[AI](?!\s+(?!(?:{_AFTER_LABEL})\b)[a-z]))"
    rf"(?![{_W}'+&]|[-/.][{_W}]))(?!\s*[=<>≈≤≥≠^×·])"
)
_WORD_BEFORE = re.compile(r"([A-Za-z\u00c0-\u024f']+)(?P<space>[ \t]*)\Z")
# Any other word before a bare letter makes it a name ("Plan A", "vitamin C"), and one right before
# a bracket a function ("det(A)").
_MAY_PRECEDE = re.compile(
    r"\w+ly|\w+'\w+|(?:option|choice|answer|letter|statement|alternative)s?|ans|final|correct|right|best"
    r"|selection|response|key|conclusion|solution|verdict|pick\w*|guess|the|is|are|was|be|as|with"
    r"|for|to|of|on|than|from|except|besides|and|or|nor|but|so|not|then|thus|hence|therefore"
    r"|because|since|while|although|though|yet|whereas|if|that|either|neither|both|only|just|also|maybe|perhaps|finally|overall"
    r"|eliminat\w+|exclud\w+|reject\w+|discard\w+|dismiss\w*|out|leav\w+|left|cho[os]\w+|select\w*"
    r"|think|believe|say|suggest\w*|prefer\w*|mean\w*|mark\w*|remain\w*|between|it|me|now|here|over|likely"
    r"|ist|es|est|la|letra|lettre|opción|opção|alternativa|wait|towards?",
    re.IGNORECASE,
)
# "The answer is b." names a choice; elsewhere a small letter without brackets is no label.
_SMALL = re.compile(
    r"(?P<cue>\b(?:answer|ans|choice|option)(?:\s+is|\s*[:=])?\s*\"?)(?P<label>[a-z])"
    r"(?=\s*(?:[\".;!,]|$|(?:is|because|since)\b))",
    re.IGNORECASE | re.MULTILINE,
)
_REPEATED = re.compile(
    rf"(?P<letter>{L})(?P<gap>[\s.:,=\"–—-]{{0,4}})(?P<text>{T})|{T}\s?(?P<after>{L})"
)
# A choice's text is no part of a longer word or number, and no term of a sum.
_NOT_WITHIN = (
    r"(?<!\d[.,])(?<![-+$€£](?=\d)){}(?![.,]\d)(?!(?<=\d)\s*(?:[-+*/×=^]|(?:times|plus|minus)\b))"
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
    return _REPEATED.sub(_joined, "".join(drawn))


def label_of(sign: str) -> str:
    """The letter of the choice that a sign in a sketch stands for."""
    return string.ascii_uppercase[(ord(sign) - _FIRST_LETTER) % 0x40]


def _sign(first: int, label: str) -> str:
    return chr(first + ord(label) - ord("A"))


def _joined(match: re.Match[str]) -> str:
    """One mention, by letter, for "B) Paris" and "Paris (B)"; "B. Paris is …" may be two."""
    letter = label_of(match["letter"] or match["after"])
    if match["text"] and label_of(match["text"]) != letter and re.search("[.,]", match["gap"]):
        return match[0]
    return _sign(_FIRST_JOINED, letter)


def _letters(text: str, choices: Mapping[str, str]) -> Iterator[_Mention]:
    for match in _LETTER.finditer(text):
        dressed = next(filter(None, match.group("bracketed", "quoted", "closed")), None)
        label = (dressed or match[0]).upper()
        if label in choices and not _is_name(text, match.start(), bare=not dressed):
            yield _Mention(match.start(), match.end(), _sign(_FIRST_LETTER, label))


def _is_name(text: str, start: int, *, bare: bool) -> bool:
    """The letter at `start` belongs to the word before it, as in "Plan A" and "det(A)"."""
    before = _WORD_BEFORE.search(text[max(0, start - 20) : start])
    if before is None or (before["space"] and not bare):
        return False
    return not _MAY_PRECEDE.fullmatch(before[1])


def _texts(text: str, choices: Mapping[str, str]) -> Iterator[_Mention]:
    """Where choices' texts stand as whole words and numbers, those of longer choices first."""
    times = Counter(map(folded, choices.values()))
    for label, choice in sorted(choices.items(), key=lambda item: -len(item[1])):
        words = plain(choice).rstrip(".").split()
        is_letter = len(words) == 1 and len(words[0]) == 1 and words[0].isalpha()
        if not words or is_letter or times[folded(choice)] > 1:
            continue
        pattern = r"\s+".join(map(re.escape, words))
        if re.match(f"[{_W}]", words[0]):
            pattern = rf"(?<![{_W}]){pattern}"
        if re.match(f"[{_W}]", words[-1][-1]):
            pattern = rf"{pattern}(?![{_W}])"
        for match in re.finditer(_NOT_WITHIN.format(pattern), text, re.IGNORECASE):
            yield _Mention(match.start(), match.end(), _sign(_FIRST_TEXT, label))


def _free(mentions: Iterator[_Mention], taken: bytearray) -> list[_Mention]:
    """The mentions that do not overlap what is taken; they take their place."""
    free = []
    for mention in mentions:
        if not any(taken[mention.start : mention.end]):
            taken[mention.start : mention.end] = b"\x01" * (mention.end - mention.start)
            free.append(mention)
    return free
