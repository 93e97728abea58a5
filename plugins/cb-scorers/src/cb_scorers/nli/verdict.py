"""From a response to the label it gives, with what it rules out kept apart."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import attrs

from cb_scorers._responses import strip_reasoning
from cb_scorers.nli.labels import NO, LabelSet

_FIRST = 0xE000
M = "[\ue000-\ue0ff]"
_LONGEST = 100_000
_QUOTES = str.maketrans("‘’ʼ“”", "'''\"\"")
_MARKUP = re.compile(r"[*`#\ue000-\uf8ff\\{}$]+|boxed(?=\s*\{)|(?<!\w)_+|_+(?!\w)")

# "whether it is true" and "if it is true" say nothing about whether it is.
_OPEN = re.compile(
    r"\b(whether|if)\b(?:(?!\b(?:but|however|so|therefore|thus|hence|then)\b)[^.,;:!?\n])*",
    re.IGNORECASE,
)
_NEW_TEXT = re.compile(
    r"^[^\S\n]*(?:premise|question|q|claim|sentence 1)[^\S\n]*\d*:",
    re.IGNORECASE | re.MULTILINE,
)
_GAP_WORD = (
    r"(?:an?|the|any|be|is|in|it|of|for|clear|clearly|direct|directly|really|necessarily|simply|strictly"
    r"|fully|explicitly|logically|case|evidence|sign|label|either|both|enough|to|show|reason|with"
    r"|information|actually|completely|entirely)"
)
# What stands between a denial and what is denied: "I would not say that it is a contradiction".
_DENIED = (
    rf"(?:{_GAP_WORD}|say|think|believe|claim|conclude|argue|call|consider|see|find|describe|classify"
    r"|saying|calling|claiming|convinced|means|as|that|this|these|they|there|them|premise|hypothesis|text|statement|would)"
)
# "Not A, B" rules out A alone; "not A or B" and "neither A nor B" both.
_LIST = (
    rf"{M}(?:(?:\s*,\s*{M}){{0,9}}"
    rf"(?:\s*,?\s*\b(?:or|nor|and)\b\s*(?:{_GAP_WORD}\s+){{0,3}}{M}){{1,9}})?"
)
_NOBODY = r"(?:nothing|no\s+(?:part|sentence|statement|passage|evidence|line)|none)(?:\s+\w+){0,5}?"
_RULED_OUT = re.compile(
    r"(?:(?:\b(?:not|never|no|neither|nor|cannot|without|rather than|instead of|far from|fails? to"
    r"|hardly|scarcely|anything but|(?:wrong|incorrect|inaccurate|mistaken?|misleading) to"
    rf"|rul(?:e|es|ed|ing) out)|n't)\s+(?:{_DENIED}\s+){{0,7}}|\b{_NOBODY}\s+)(?P<before>{_LIST})"
    rf"|(?P<asked>{M})\s*[?:=–—-]\s*(?:{NO}|not\b)"
    rf"|(?P<after>{M})\s+(?:(?:is|was|would be|seems|can be|must be)\s+(?:\w+\s+)?(?:wrong|incorrect"
    r"|false|ruled out|excluded|not\b|impossible)|nothing\b)",
    re.IGNORECASE,
)
# "Although it seems neutral, …" concedes what it does not say.
_CONCEDED = re.compile(r"\b(?:while|although|though)\b[^.,;:\n]*,", re.IGNORECASE)
_GAP = r"[\s:\"'=,–—-]*"
_FILLER = (
    rf"{_GAP}(?:(?:\w+ly|an?|the|is|be|that|of|as|label|one|case|best|most|likely|indeed"
    r"|claim|hypothesis|premise|evidence|text|statement|described|classified|considered|it|this|it's"
    r"|i (?:think|believe))\b"
    rf"{_GAP}){{0,8}}"
)
_STATEMENT = re.compile(
    r"(?:\b(?:answer|label|verdict|relation(?:ship)?|classification|conclusion|judge?ment|prediction"
    r"|result|decision)\b\"?(?:\s+\w+){0,6}?(?:\s+(?:is|was|would be|should be|must be)\b|\s*[:=])"
    r"|\b(?:therefore|thus|hence|overall|in conclusion|finally|wait|no|actually|correction|sorry)\b"
    r"|\b(?:i|i'd|we|we'd)\s+(?:\w+\s+){0,3}?(?:go with|choose|pick|select|opt for|classify|label|say"
    r"|call|lean(?:ing)? towards?))"
    rf"{_FILLER}(?P<label>{_LIST})|(?P<yes>{M})\s*[?:–—-]\s*yes\b",
    re.IGNORECASE,
)
_TURN = re.compile(
    rf"\b(?:so|but|instead|yet|however|rather)\b{_FILLER}(?P<label>{_LIST})", re.IGNORECASE
)
_SENTENCE_BREAK = re.compile(r"\n|(?<=[.!])\s")
_MARKS = "[^\\w\ue000-\ue0ff]*"
_ALONE = re.compile(rf"{_MARKS}({M}){_MARKS}")
_LEADING = re.compile(
    rf"{_MARKS}(?:(?:it|this|that)(?:'s|\s+is)\s+)?(?:(?:an?|the)\s+)?({M})"
    rf"(?!\s*(?:[/,]|,?\s*\b(?:or|and)\b)\s*(?:an?\s+)?{M})(?P<pause>\s*[.,:;!\n–—-])?",
    re.IGNORECASE,
)


@attrs.frozen
class Verdict:
    """The label a response gives, or None; and the labels it rules out."""

    label: str | None
    ruled_out: frozenset[str] = frozenset()


def read_verdict(response: str, labels: LabelSet) -> Verdict:
    """The label that a response gives.

    Where the response begins a premise or question of its own after giving a label, it is cut.
    Names of labels ("entailment", "refuted", "not enough information") are looked for first;
    where they settle nothing, the short answers "yes", "false", "follows", "might be true". Of
    what is not ruled out ("not entailment", "no contradiction"), the first of these decides:

    1. the last line or sentence, where it is one label;
    2. the last statement, such as "the label is …" or "therefore …";
    3. the label the response begins with, before a pause;
    4. the last turn, such as "but …" or "so …";
    5. the only label there is;
    6. the label the response begins with;
    7. the only label that is not ruled out, where all others are.
    """
    text = _plain(response)
    new = _NEW_TEXT.search(text)
    if new and new.start():
        own = _verdict(text[: new.start()], labels, firm=True)
        if own.label is not None:
            return own
    return _verdict(text, labels)


def _verdict(text: str, labels: LabelSet, *, firm: bool = False) -> Verdict:
    """What a text says; where that has to be `firm`, by one of the first three rules."""
    text = _OPEN.sub(r"\1", text)
    by_name = _among(text, labels.labels, labels.names, firm)
    if by_name is None or (by_name.label is None and by_name.ruled_out):
        # "No, it is not supported" denies one label and gives no other; "False, …" gives one.
        short = text if by_name is None else re.sub(NO, "", text, flags=re.IGNORECASE)
        by_short = _among(short, labels.labels, labels.short, firm)
        if by_name is None:
            return by_short or Verdict(None)
        if by_short and by_short.label and by_short.label not in by_name.ruled_out:
            return Verdict(by_short.label, by_name.ruled_out)
    return by_name


def _among(text: str, labels: Sequence[str], words: Sequence[str], firm: bool) -> Verdict | None:
    """What the given words for the labels say; None where there are none of them."""
    drawn = _drawn(text, words)
    if not re.search(M, drawn):
        return None
    ruled_out = {
        labels[index] for match in _RULED_OUT.finditer(drawn) for index in _indices(match[0])
    }
    left = _RULED_OUT.sub("ruled-out", drawn)
    told = _CONCEDED.sub("", left)
    left = told if re.search(M, told) else left
    index = _stated(left, firm)
    if index is not None:
        return Verdict(labels[index], frozenset(ruled_out - {labels[index]}))
    if re.search(M, left):
        return Verdict(None)
    possible = [label for label in labels if label not in ruled_out]
    return Verdict(possible[0] if len(possible) == 1 else None, frozenset(ruled_out))


def _stated(drawn: str, firm: bool) -> int | None:
    last = _ALONE.fullmatch(_SENTENCE_BREAK.split(drawn.strip())[-1])
    if last:
        return _indices(last[1])[0]
    said = _last_said(_STATEMENT, drawn)
    leading = _LEADING.match(drawn)
    if said is None and leading and leading["pause"]:
        return _indices(leading[1])[0]
    if said is None and not firm:
        said = _last_said(_TURN, drawn)
    if said is not None or firm:
        return said.pop() if said and len(said) == 1 else None
    indices = set(_indices(drawn))
    if len(indices) == 1:
        return indices.pop()
    return _indices(leading[1])[0] if leading else None


def _last_said(pattern: re.Pattern[str], drawn: str) -> set[int] | None:
    said = None
    for match in pattern.finditer(drawn):
        said = set(_indices(match[0]))
    return said


def _plain(response: str) -> str:
    text = unicodedata.normalize("NFKC", response[-_LONGEST:]).translate(_QUOTES)
    return _MARKUP.sub("", strip_reasoning(text)).strip()


def _drawn(text: str, words: Sequence[str]) -> str:
    """The text with every name of a label drawn as the sign of that label."""
    groups = "|".join(f"(?P<label_{index}>{names})" for index, names in enumerate(words) if names)
    if not groups:
        return text
    pattern = re.compile(rf"(?<![\w-])(?:{groups})(?!\w)", re.IGNORECASE)
    return pattern.sub(lambda match: chr(_FIRST + int(str(match.lastgroup)[6:])), text)


def _indices(drawn: str) -> list[int]:
    return [ord(sign) - _FIRST for sign in re.findall(M, drawn)]
