"""Scoring that plugins share: token overlap, sentences, BM25, and access to response and golds.

    from cbcore.scoring import golds_of, overlap_scores, response_of, squad_tokens

Import these instead of a copy, so that two plugins agree on what a missing response is, on what
F1 means, and on where a sentence ends. A benchmark with a normalization of its own keeps it and
shares the arithmetic: `overlap_scores` and `Bm25Index` take any lists of tokens.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from numbers import Number
from typing import Any, NamedTuple

from cbcore.exceptions import MissingScoreError

__all__ = (
    "NO_RESPONSE",
    "Bm25Index",
    "golds_of",
    "is_absent",
    "overlap_scores",
    "response_of",
    "split_sentences",
    "squad_tokens",
)

NO_RESPONSE = "the system returned no response; chain a reader behind it: `system | reader`"
"""The reason for a missing score if the output has no response."""

_ARTICLE = re.compile(r"\b(a|an|the)\b")
_ARTICLES = frozenset({"a", "an", "the"})
_PUNCTUATION = dict.fromkeys(map(ord, string.punctuation))
_ASCII_PUNCTUATION = string.punctuation.encode()
# One pass over ASCII bytes: capitals to lower case, and what `str.split` splits at to a space.
_ASCII_FOLD = bytes.maketrans(
    string.ascii_uppercase.encode() + b"\t\n\v\f\r\x1c\x1d\x1e\x1f",
    string.ascii_lowercase.encode() + b" " * 9,
)


# -- tokens and their overlap ------------------------------------------------------------------


def squad_tokens(text: str) -> list[str]:
    """The tokens of a text after the normalization of SQuAD's evaluation script.

    Lower-case the text, delete ASCII punctuation, replace the articles *a*, *an* and *the* by a
    space, and split at white space. Punctuation goes first: "U.S.A." becomes `usa`.
    """
    if text.isascii():
        bare = text.encode().translate(_ASCII_FOLD, _ASCII_PUNCTUATION).decode()
        if bare.isprintable():
            # Only letters, digits and spaces are left, so a word boundary is a token boundary.
            return [token for token in bare.split() if token not in _ARTICLES]
    return _ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split()


class Overlap(NamedTuple):
    """How far two lists of tokens agree. `f1` is the harmonic mean of precision and recall."""

    f1: float
    precision: float
    recall: float


def overlap_scores(found: Sequence[str], wanted: Sequence[str]) -> Overlap:
    """F1, precision and recall of the tokens; all 0.0 without a common token.

    A repeated token counts as often as both lists have it. Two empty lists give 0.0 too: what an
    empty gold is worth is for the evaluator to decide.
    """
    common = _count_common(found, wanted)
    if not common:
        return Overlap(0.0, 0.0, 0.0)
    # 2PR / (P + R) with P = common / found and R = common / wanted, rounded once.
    f1 = 2 * common / (len(found) + len(wanted))
    return Overlap(f1, common / len(found), common / len(wanted))


def _count_common(found: Sequence[str], wanted: Sequence[str]) -> int:
    if len(wanted) == 1:  # as most short answers are
        return 1 if wanted[0] in found else 0
    distinct = set(wanted)
    if len(distinct) == len(wanted):
        return len(distinct.intersection(found))
    counts = Counter(found)
    return sum(min(counts[token], n) for token, n in Counter(wanted).items())


# -- sentences ---------------------------------------------------------------------------------

_CLOSING = "\"'”’»)\\]}"
_OPENING = "\"'“‘«([¿¡*-"
# Marks, what closes after them, and the space before the next sentence, of which Chinese and
# Japanese have none; or the end of a line.
_SENTENCE_END = re.compile(
    rf"(?<![.!?…])(?P<mark>[.!?…]+(?: \.)*)[{_CLOSING}]*(?:\s+|\Z)"
    rf"|[。！？]+[」』”’）{_CLOSING}]*\s*|\n\s*"
)
_WORD_BEFORE = re.compile(r"[^\s(\[{\"“‘«/—–]*\Z")
_WORD_AFTER = re.compile(r"[^\W_]+(?![\w.])")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_NUMBERING = re.compile(r"\s*(?:[(\[*-]\s*)?(?:\d{1,3}|[^\W\d_]|[ivxIVX]{1,5})?")
_LONGEST_WORD = 20
_FULL_LINE = 40  # a line of so many characters may have been wrapped


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# After these a full stop does not end a sentence.
_BEFORE_NAMES = _words("""
    dr mr mrs ms messrs mme mlle prof rev lt sgt cpl pvt capt cmdr maj adm insp brig amb supt sra
    dra srta vs e.g i.e eg ie cf viz approx ca incl esp resp asst""")
# After these a full stop does not end a sentence before a number.
_BEFORE_NUMBERS = _words("""
    no nos nr fig figs eq eqs sec secs ch chap vol vols op pp par para art ref tab app ver ed""")
# After these a full stop ends a sentence only before a word of the last list.
_MAY_END = _words("""
    inc ltd co cos corp bros llc plc gmbh dept univ assn est govt jr sr esq st ave blvd rd etc al
    gen col hon pres sen rep gov mt ft fr ph.d jan feb mar apr jun jul aug sep sept oct nov dec""")
# These words have a capital only because a sentence begins with them.
_STARTERS = _words("""
    the this that these those a an and but or so yet if in on at for from with by as to of into
    he she it they we you i his her its their our my your there here
    what when where who whom whose why how which while after before since because although though
    however also then now thus therefore hence moreover furthermore instead meanwhile finally
    some many most much each every all both one two three another such other few several none
    nobody everyone not no yes is are was were do does did can could will would should may might
    must has have had please let during until under over about like despite according given today
    once unlike without within between among through throughout later first second third""")


def split_sentences(text: str) -> list[str]:
    """The sentences of a text in order, without the white space around them. None is empty.

    A full stop ends no sentence if it belongs to an abbreviation, an initial or the number of a
    list. After what can also end a sentence ("Inc.", "U.S."), the next word decides. The end of a
    line ends a sentence, unless a long line goes on in lower case. The rules are for English;
    the marks of Chinese and Japanese are known too.
    """
    found, start = [], 0
    for match in _SENTENCE_END.finditer(text):
        if _ends_sentence(text, start, match):
            found.append(text[start : match.end()].strip())
            start = match.end()
    return [sentence for sentence in (*found, text[start:].strip()) if sentence]


def _ends_sentence(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether a sentence that begins at `start` ends with this match."""
    mark = (match["mark"] or "").replace(" ", "")
    before = _WORD_BEFORE.search(text, max(0, match.start() - _LONGEST_WORD), match.start())
    word = before[0].lower() if before else ""
    after = text[match.end() : match.end() + _LONGEST_WORD]
    if "\n" in match[0]:
        is_full = match.start() - start >= _FULL_LINE and match[0].count("\n") == 1
        is_wrapped = is_full and match[0].endswith("\n") and after[:1].islower()
        return not is_wrapped and not (mark and word in _BEFORE_NAMES)
    if not mark:
        return True
    after = after.lstrip(_OPENING)
    if after[:1].islower() or _NUMBERING.fullmatch(text, start, match.start()):
        return False
    next_word = _WORD_AFTER.match(after)
    is_start = next_word is not None and next_word[0].lower() in _STARTERS
    if mark in ("...", "…"):
        return is_start
    if mark != ".":
        return True
    if word in _BEFORE_NUMBERS:
        return not after[:1].isdigit()
    is_open = word in _MAY_END or _INITIALS.fullmatch(word)
    return word not in _BEFORE_NAMES and (is_start or not is_open)


# -- ranking texts -----------------------------------------------------------------------------


class Bm25Index:
    """Texts as lists of tokens, numbered from 0, ranked by BM25 as Lucene computes it.

        score(d, q) = Σ_{t ∈ q} idf(t) · tf / (tf + k1 · (1 − b + b · |d| / avg|d|))
        idf(t)      = ln(1 + (N − df + 0.5) / (df + 0.5))

    Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), and
    Kamphuis et al., "Which BM25 Do You Mean?" (2020), for the form without (k1 + 1), which ranks
    the same. Raises `ValueError` for a `k1` below 0 or a `b` outside 0 to 1.
    """

    def __init__(self, k1: float = 1.5, b: float = 0.75) -> None:
        if not 0 <= k1 < math.inf:
            raise ValueError(f"k1 is {k1!r}: it must be 0 or more")
        if not 0 <= b <= 1:
            raise ValueError(f"b is {b!r}: it must lie between 0 and 1")
        self._k1 = k1
        self._b = b
        self._postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        self._lengths: list[int] = []
        self._total = 0

    def add(self, tokens: Sequence[str]) -> None:
        """Add one more text."""
        for token, count in Counter(tokens).items():
            self._postings[token].append((len(self._lengths), count))
        self._lengths.append(len(tokens))
        self._total += len(tokens)

    def rank(self, question: Iterable[str]) -> list[tuple[int, float]]:
        """Numbers and scores of the texts that share a token with the question, best first.

        Of texts with the same score, the earlier comes first. A token that the question repeats
        counts as often.
        """
        n_texts = len(self._lengths)
        scores: dict[int, float] = defaultdict(float)
        for token, repeats in Counter(question).items():
            postings = self._postings.get(token, ())
            idf = math.log(1 + (n_texts - len(postings) + 0.5) / (len(postings) + 0.5))
            for number, count in postings:
                length = self._lengths[number] * n_texts / self._total
                damping = self._k1 * (1 - self._b + self._b * length)
                scores[number] += repeats * idf * count / (count + damping)
        return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))


# -- what an evaluator reads -------------------------------------------------------------------


def response_of(output: Mapping[str, Any], *, text_only: bool = False) -> str:
    """The response of an output as text; an empty text is a response.

    Raises `MissingScoreError` if there is no response, or if it is neither a text nor a number.
    With `text_only` a number is refused too: as a choice or a label it could be an index.
    """
    response = output.get("response")
    if isinstance(response, str):
        return response
    if is_absent(response):
        raise MissingScoreError(NO_RESPONSE)
    if text_only or not isinstance(response, Number):
        raise MissingScoreError(f"the response is a {type(response).__name__}, not a text")
    return _format_answer(response)


def golds_of(
    example: Mapping[str, Any], fields: Sequence[str] = ("answers", "answer")
) -> list[str]:
    """All gold answers of an example as texts, from the first of the fields that has a value.

    The field has one answer or a list of alternatives. Raises `MissingScoreError` if there is no
    answer, or if one is neither a text nor a number.
    """
    value = next((example[name] for name in fields if example.get(name) is not None), None)
    alternatives = value if isinstance(value, list | tuple) else [value]
    golds = [gold for gold in alternatives if not is_absent(gold)]
    if not golds:
        raise MissingScoreError("the example has no gold answer")
    for gold in golds:
        if not isinstance(gold, str | Number):
            kind = type(gold).__name__
            raise MissingScoreError(f"the gold answer is a {kind}, not a text or a number")
    return [_format_answer(gold) for gold in golds]


def _format_answer(value: object) -> str:
    """An answer as text, a whole number without decimals.

    Tables turn 5 into 5.0 if another cell of the column is empty.
    """
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def is_absent(value: object) -> bool:
    """Whether a value is None, or the NaN that stands for None in tables."""
    return value is None or (isinstance(value, float) and math.isnan(value))
