"""From a response to the label it gives, with what it rules out kept apart."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import attrs

from cb_nli.labels import LabelSet

_FIRST = 0xE000
M = "[\ue000-\ue0ff]"
_LONGEST = 100_000
_QUOTES = str.maketrans("‘’ʼ“”", "'''\"\"")
_REASONING = re.compile(r"^.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_MARKUP = re.compile(r"[*`#\ue000-\uf8ff\\{}$]+|boxed(?=\s*\{)|(?<!\w)_+|_+(?!\w)")

_GAP_WORD = (
    r"(?:an?|the|any|be|is|in|it|of|clear|clearly|direct|directly|really|necessarily|simply|strictly"
    r"|fully|explicitly|logically|case|evidence|sign|label|either|both|enough|to|show|reason)"
)
_LIST = rf"{M}(?:\s*(?:,|,?\s*\b(?:or|nor|and)\b)\s*(?:{_GAP_WORD}\s+){{0,3}}{M}){{0,9}}"
_RULED_OUT = re.compile(
    r"(?:\b(?:not|never|no|neither|nor|cannot|without|rather than|instead of|far from|fails? to"
    rf"|rul(?:e|es|ed|ing) out)|n't)\s+(?:{_GAP_WORD}\s+){{0,4}}(?P<before>{_LIST})"
    rf"|(?P<after>{M})\s+(?:is|was|would be|seems|can be|must be)\s+(?:\w+\s+)?(?:wrong|incorrect"
    r"|false|ruled out|excluded|not\b|impossible)",
    re.IGNORECASE,
)
_FILLER = (
    r"[\s:\"'=,–—-]*(?:(?:\w+ly|an?|the|is|be|that|of|as|label|one|case|best|most|likely|indeed"
    r"|claim|hypothesis|statement|described|classified|considered|it|it's|i (?:think|believe))\b"
    r"[\s:\"'=,–—-]*){0,8}"
)
_STATEMENT = re.compile(
    r"(?:\b(?:answer|label|verdict|relation(?:ship)?|classification|conclusion|judge?ment|prediction"
    r"|result|decision)\b(?:\s+\w+){0,6}?(?:\s+(?:is|was|would be|should be|must be)\b|\s*[:=])"
    r"|\b(?:therefore|thus|hence|so|overall|in conclusion|finally|but|instead)\b)"
    rf"{_FILLER}(?P<label>{_LIST})",
    re.IGNORECASE,
)
_MARKS = "[^\\w\ue000-\ue0ff]*"
_LEADING = re.compile(
    rf"{_MARKS}(?:(?:it|this|that)(?:'s|\s+is)\s+)?(?:(?:an?|the)\s+)?({M})"
    rf"(?!\s*(?:[/,]|,?\s*\b(?:or|and)\b)\s*(?:an?\s+)?{M})",
    re.IGNORECASE,
)


@attrs.frozen
class Verdict:
    """The label a response gives, or None; and the labels it rules out."""

    label: str | None
    ruled_out: frozenset[str] = frozenset()


def read_verdict(response: str, labels: LabelSet) -> Verdict:
    """The label that a response gives.

    Names of labels ("entailment", "refuted", "not enough information") are looked for first;
    where there is none, the short answers "yes", "no", "true", "false", "maybe". Of what is not
    ruled out ("not entailment", "no contradiction"), the first of these decides:

    1. the last statement, such as "the label is …" or "therefore …";
    2. the only label there is;
    3. the label the response begins with;
    4. the only label that is not ruled out, where all others are.
    """
    text = _plain(response)
    for words in (labels.names, labels.short):
        drawn = _drawn(text, words)
        if not re.search(M, drawn):
            continue
        ruled_out = {
            labels.labels[index]
            for match in _RULED_OUT.finditer(drawn)
            for index in _indices(match[0])
        }
        left = _RULED_OUT.sub("ruled-out", drawn)
        index = _stated(left)
        if index is not None:
            return Verdict(labels.labels[index], frozenset(ruled_out - {labels.labels[index]}))
        if not re.search(M, left):
            possible = [label for label in labels.labels if label not in ruled_out]
            only = possible[0] if len(possible) == 1 else None
            return Verdict(only, frozenset(ruled_out))
        return Verdict(None)
    return Verdict(None)


def _stated(drawn: str) -> int | None:
    statements = [set(_indices(match["label"])) for match in _STATEMENT.finditer(drawn)]
    if statements:
        return statements[-1].pop() if len(statements[-1]) == 1 else None
    indices = set(_indices(drawn))
    if len(indices) == 1:
        return indices.pop()
    leading = _LEADING.match(drawn)
    return _indices(leading[1])[0] if leading else None


def _plain(response: str) -> str:
    text = unicodedata.normalize("NFKC", response[-_LONGEST:]).translate(_QUOTES)
    return _MARKUP.sub("", _REASONING.sub("", text)).strip()


def _drawn(text: str, words: Sequence[str]) -> str:
    """The text with every name of a label drawn as the sign of that label."""
    groups = "|".join(f"(?P<label_{index}>{names})" for index, names in enumerate(words) if names)
    if not groups:
        return text
    pattern = re.compile(rf"(?<![\w-])(?:{groups})(?!\w)", re.IGNORECASE)
    return pattern.sub(lambda match: chr(_FIRST + int(str(match.lastgroup)[6:])), text)


def _indices(drawn: str) -> list[int]:
    return [ord(sign) - _FIRST for sign in re.findall(M, drawn)]
