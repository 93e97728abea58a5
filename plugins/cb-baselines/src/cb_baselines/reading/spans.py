"""Choosing the span that answers best."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from cb_baselines.reading.candidates import Candidate, candidates, name_fit
from cb_baselines.reading.evidence import Evidence, plain_title
from cb_baselines.reading.lexicon import placed_stems, stems
from cb_baselines.reading.questions import Expects, Question

_SENTENCES_READ = 12
_NAMED_BY_TITLE = frozenset({Expects.PERSON, Expects.NAME, Expects.PLACE})

# What a candidate earns, beside the worth of its sentence (0 to 1).
_FIT = 0.5  # it is the kind of thing that is asked for
_NEARNESS = 0.8  # words of the question stand near it
_DESCRIBED = 0.4  # its own paragraph says that it is one ("Sonic is a hedgehog")
_OTHERWISE_DESCRIBED = -0.3  # its own paragraph says that it is something else
_BESIDE_NOUN = 0.25  # the noun asked for stands beside it ("President Nixon")
_ECHO = -0.3  # it repeats words of the question
_NEAR_CHARS = 30


class Span(NamedTuple):
    """An answer and the index of the sentence it was read in."""

    text: str
    sentence: int


def best_span(question: Question, evidence: Evidence) -> Span | None:
    """The best candidate of the best sentences; of equal ones the first found."""
    descriptions = _descriptions(evidence)
    best, best_score = None, float("-inf")
    for index in evidence.ranked()[:_SENTENCES_READ]:
        if not evidence.scores[index]:
            break
        for candidate, earned in _weighed(question, evidence, index, descriptions):
            score = evidence.scores[index] + earned
            if score > best_score:
                best, best_score = Span(candidate.text, index), score
    return best


def _weighed(
    question: Question, evidence: Evidence, index: int, descriptions: dict[str, frozenset[str]]
) -> Iterator[tuple[Candidate, float]]:
    """The candidates of one sentence with what each earns."""
    sentence = evidence.sentences[index]
    words = placed_stems(sentence.text)
    asked = [(position, word) for position, word in words if word in question.stems]
    total = sum(evidence.idf.get(word, 0.0) for word in sorted(question.stems)) or 1.0
    head = question.focus[-1] if question.focus else None
    for candidate in _with_title(question, evidence, index):
        own = set(stems(candidate.text))
        if not own or own <= question.stems:
            continue
        earned = _FIT * candidate.fit + _ECHO * len(own & question.stems) / len(own)
        end = candidate.start + len(candidate.text)
        if candidate.start >= 0:
            near = {
                word
                for position, word in asked
                if candidate.start - _NEAR_CHARS <= position < candidate.start
                or end <= position <= end + _NEAR_CHARS
            }
            earned += _NEARNESS * sum(evidence.idf[word] for word in sorted(near)) / total
            if any(
                word == head and candidate.start - _NEAR_CHARS <= position <= end + _NEAR_CHARS
                for position, word in words
            ):
                earned += _BESIDE_NOUN
        description = descriptions.get(candidate.text.lower())
        if head is not None and description is not None:
            earned += _DESCRIBED if head in description else _OTHERWISE_DESCRIBED
        yield candidate, earned


def _with_title(question: Question, evidence: Evidence, index: int) -> Iterator[Candidate]:
    """The spans of a sentence, and the title it stands under, for that is what it is about."""
    sentence = evidence.sentences[index]
    yield from candidates(sentence.text, question.expects)
    if sentence.title and question.expects in _NAMED_BY_TITLE:
        title = plain_title(sentence.title)
        yield Candidate(title, -1, name_fit(title, question.expects))


def _descriptions(evidence: Evidence) -> dict[str, frozenset[str]]:
    """What the first sentence under a title says of it, by title in lower case."""
    found: dict[str, frozenset[str]] = {}
    for sentence, words in zip(evidence.sentences, evidence.stems, strict=True):
        if sentence.title:
            found.setdefault(plain_title(sentence.title).lower(), words)
    return found
