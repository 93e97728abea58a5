"""Answering questions about two things: yes or no, or which of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import attrs

from cb_baselines.reading.evidence import Evidence, plain_title
from cb_baselines.reading.lexicon import DEMONYMS, NUMBER_WORDS, PLACE_NOUNS, WORD, stem, stems
from cb_baselines.reading.questions import Question

_EARLIEST = re.compile(
    r"\b(?:older|oldest|first|earlier|earliest|before|longer ago)\b", re.IGNORECASE
)
_LATEST = re.compile(
    r"\b(?:younger|youngest|newer|later|latest|last|recent|recently|after)\b", re.IGNORECASE
)
_MOST = re.compile(
    r"\b(?:more|most|larger|largest|bigger|biggest|higher|highest|taller|tallest|longer|longest"
    r"|greater|greatest|deeper|deepest|wider|widest|heavier|heaviest)\b",
    re.IGNORECASE,
)
_LEAST = re.compile(
    r"\b(?:fewer|fewest|less|least|smaller|smallest|shorter|lower|lowest)\b", re.IGNORECASE
)
_BIRTH_OR_START = re.compile(
    r"(?:\bborn\b|\bfounded\b|\bformed\b|\bestablished\b|\breleased\b|\bopened\b|\(|\bin\b)"
    r"[^.;]{0,40}?\b(?P<year>1[0-9]\d\d|20\d\d)\b"
)
_YEAR = re.compile(r"\b(?P<year>1[0-9]\d\d|20\d\d)\b")
_NUMBER = re.compile(r"\b\d{1,3}(?:,\d{3})+(?:\.\d+)?|\b\d+(?:\.\d+)?")
_PLACE_AFTER = re.compile(r"\b(?:in|of|from|at|near)\s+(?:the\s+)?((?:[A-ZÀ-Þ][\w'’-]*[ ,]*)+)")
_ABOUT_TWO = re.compile(
    r"\b(?i:both|same|share|shared|common|than)\b"
    r"|\b[A-ZÀ-Þ0-9][\w'’.-]*\"?,?\s+and\s+(?:the\s+)?[A-ZÀ-Þ0-9\"]"
)
_ONE_AGAINST_OTHER = re.compile(r"(?!.*\bboth\b).*\b(?:than|before|after)\b", re.IGNORECASE)
_SAME = re.compile(r"\b(?:same|share|shared|common)\b", re.IGNORECASE)
_SMALL_PLACES = frozenset(
    map(stem, ("neighborhood", "neighbourhood", "street", "district", "borough"))
)
_LARGE_PLACES = frozenset(map(stem, PLACE_NOUNS)) - _SMALL_PLACES
_PREDICATE_NOISE = frozenset(
    stems("based called considered described found kind known located together type united used")
)


@attrs.frozen(repr=False)
class Subject:
    """One of the things asked about: its name and the indices of the sentences about it."""

    name: str
    sentences: tuple[int, ...]


@attrs.frozen(repr=False)
class Verdict:
    """The answer and the subjects it was decided on."""

    answer: str
    subjects: tuple[Subject, ...]


_UNDECIDED = Verdict("", ())


def decide(question: Question, evidence: Evidence) -> Verdict:
    """One of the options, `yes` or `no`; no answer unless the context speaks of all subjects."""
    return _choose(question, evidence) if question.options else _judge(question, evidence)


def _choose(question: Question, evidence: Evidence) -> Verdict:
    """The option that the comparison, or else what is said of each, favours."""
    subjects = tuple(_subject_of(option, evidence) for option in question.options)
    if not all(subject.sentences for subject in subjects):
        return _UNDECIDED
    picked = _extreme(question, subjects, evidence)
    if picked is None:
        predicate = _predicate(question.text, question.options)
        picked = max(subjects, key=lambda subject: _support(predicate, subject, evidence))
    return Verdict(picked.name, subjects)


def _judge(question: Question, evidence: Evidence) -> Verdict:
    """Whether what is asked holds: of both subjects, between them, or of the only one."""
    subjects = tuple(_named_subjects(question, evidence)[:2])
    about_two = _ABOUT_TWO.search(question.text) is not None
    if not subjects or (about_two and len(subjects) == 1):
        return _UNDECIDED
    if about_two and _SAME.search(question.text):
        holds = _agree(question.text, *(_text(subject, evidence) for subject in subjects))
    elif _ONE_AGAINST_OTHER.match(question.text) and (
        first := _extreme(question, subjects, evidence)
    ):
        holds = first is subjects[0]
    else:
        predicate = _predicate(question.text, [subject.name for subject in subjects])
        holds = all(_support(predicate, subject, evidence) >= 0.5 for subject in subjects)
    return Verdict("yes" if holds else "no", subjects)


def _named_subjects(question: Question, evidence: Evidence) -> list[Subject]:
    """The paragraphs whose titles the question names, in the order it names them."""
    asked = question.text.lower()
    found: dict[str, tuple[int, int, int]] = {}
    for sentence in evidence.sentences:
        name = plain_title(sentence.title)
        position = asked.find(name.lower()) if len(name) > 1 else -1
        if position < 0:
            continue
        # A namesake set apart by a parenthesis yields to the plain title.
        rank = (int(name != sentence.title), sentence.paragraph, position)
        found[name] = min(found.get(name, rank), rank)
    names = [
        name
        for name in found
        if not any(name != other and name.lower() in other.lower() for other in found)
    ]
    names.sort(key=lambda name: found[name][2])
    return [Subject(name, tuple(evidence.of_paragraph(found[name][1]))) for name in names]


def _subject_of(option: str, evidence: Evidence) -> Subject:
    """What the context says of a name: its own paragraph, else the sentences that name it."""
    wanted = set(stems(option))
    by_title = [
        (len(wanted ^ title), index)
        for index, sentence in enumerate(evidence.sentences)
        if wanted and wanted <= (title := set(stems(plain_title(sentence.title))))
    ]
    if by_title:
        number = evidence.sentences[min(by_title)[1]].paragraph
        return Subject(option, tuple(evidence.of_paragraph(number)))
    mentions = [i for i, found in enumerate(evidence.stems) if wanted and wanted <= found]
    return Subject(option, tuple(mentions))


def _extreme(question: Question, subjects: Sequence[Subject], evidence: Evidence) -> Subject | None:
    """The older, larger, … of two subjects; None when nothing tells."""
    for pattern, value, sign in _COMPARISONS:
        if pattern.search(question.text):
            values = [value(_text(subject, evidence)) for subject in subjects]
            known = [sign * found for found in values if found is not None]
            if len(known) == 2:
                return subjects[known.index(max(known))]
    return None


def _text(subject: Subject, evidence: Evidence) -> str:
    return " ".join(evidence.sentences[index].text for index in subject.sentences)


def _first_year(text: str) -> float | None:
    """The year something was born or began: the first one told after a word that says so."""
    match = _BIRTH_OR_START.search(text) or _YEAR.search(text)
    return float(match["year"]) if match else None


def _quantity(text: str) -> float | None:
    """The largest number told that is not a year."""
    values = [float(match[0].replace(",", "")) for match in _NUMBER.finditer(text)]
    values += [NUMBER_WORDS[w.lower()] for w in WORD.findall(text) if w.lower() in NUMBER_WORDS]
    return max((value for value in values if not 1000 <= value <= 2100), default=None)


_COMPARISONS = (
    (_EARLIEST, _first_year, -1),
    (_LATEST, _first_year, 1),
    (_MOST, _quantity, 1),
    (_LEAST, _quantity, -1),
)


def _predicate(text: str, names: Sequence[str]) -> frozenset[str]:
    """The stems of what is said of the subjects, with peoples for places."""
    for name in names:
        text = re.sub(re.escape(name), " ", text, flags=re.IGNORECASE)
    return frozenset(stems(text)) - _PREDICATE_NOISE


def _support(predicate: frozenset[str], subject: Subject, evidence: Evidence) -> float:
    """The share of the predicate, by rarity, that the sentences about a subject have."""
    found = {found for i in subject.sentences for found in evidence.stems[i]}
    weights = {term: evidence.idf.get(term, 1.0) for term in sorted(predicate)}
    total = sum(weights.values())
    return sum(w for term, w in weights.items() if term in found) / total if total else 0.0


def _agree(question: str, first: str, second: str) -> bool:
    """Whether two texts agree in what `the same …` asks: people, place, or what they are."""
    attribute = {stem(word) for word in WORD.findall(question.lower())}
    if attribute & {"nation", "country"}:
        return bool(_peoples(first)[:1] == _peoples(second)[:1] != [])
    if attribute & _SMALL_PLACES:
        return bool(set(_places(first)[:1]) & set(_places(second)[:1]))
    if attribute & _LARGE_PLACES:
        return bool(set(_places(first)) & set(_places(second)))
    return len(set(stems(first)[:25]) & set(stems(second)[:25])) >= 2


def _peoples(text: str) -> list[str]:
    return [DEMONYMS[w.lower()] for w in WORD.findall(text) if w.lower() in DEMONYMS]


def _places(text: str) -> list[str]:
    """The parts of place names in a text, in order: `in Laleli, Istanbul` → laleli, istanbul."""
    parts = (part.strip() for match in _PLACE_AFTER.finditer(text) for part in match[1].split(","))
    return [part.lower() for part in parts if part]
