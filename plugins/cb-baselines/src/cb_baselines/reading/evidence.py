"""Finding the sentences that speak of what is asked, over one bridge between paragraphs."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from cb_baselines.reading.lexicon import stems
from cb_baselines.sentences import Sentence

_PARENTHESIS = re.compile(r"\s*\([^)]*\)\s*\Z")
_BRIDGE_WEIGHT = 0.6
_TITLE_WEIGHT = 0.7
_PARAGRAPH_WEIGHT = 0.3


class Evidence(NamedTuple):
    """The sentences of a context with what each is worth to a question (0 to 1)."""

    sentences: Sequence[Sentence]
    stems: Sequence[frozenset[str]]
    scores: Sequence[float]
    idf: dict[str, float]

    def ranked(self) -> list[int]:
        """Indices of the sentences, best first; of equal ones the earlier first."""
        return sorted(range(len(self.scores)), key=lambda index: -self.scores[index])

    def of_paragraph(self, number: int) -> list[int]:
        """Indices of the sentences of a paragraph."""
        return [i for i, sentence in enumerate(self.sentences) if sentence.paragraph == number]

    def with_bridge(self, index: int) -> list[int]:
        """A sentence and the best one of another paragraph that it may build on."""
        own = self.sentences[index].paragraph
        others = (i for i in self.ranked() if self.scores[i] and self.sentences[i].paragraph != own)
        return [index, *itertools.islice(others, 1)]


def plain_title(title: str) -> str:
    """A title without what tells it from its namesakes: `Ed Wood (film)` → `Ed Wood`."""
    return _PARENTHESIS.sub("", title)


def weigh(asked: frozenset[str], sentences: Sequence[Sentence]) -> Evidence:
    """Score sentences by the rarity of the question's words they share.

    A sentence also earns from its title, from the rest of its paragraph, and from the best
    sentence of another paragraph that names its title: the bridge.
    """
    bodies = [frozenset(stems(sentence.text)) for sentence in sentences]
    titles = [frozenset(stems(sentence.title)) for sentence in sentences]
    df = Counter(stem for body, title in zip(bodies, titles, strict=True) for stem in body | title)
    idf = {stem: math.log(1 + len(sentences) / n) for stem, n in df.items()}

    def worth(found: frozenset[str]) -> float:
        return sum(idf[stem] for stem in sorted(found & asked))

    of_paragraph: dict[int, frozenset[str]] = {}
    for sentence, body, title in zip(sentences, bodies, titles, strict=True):
        known = of_paragraph.get(sentence.paragraph, frozenset())
        of_paragraph[sentence.paragraph] = known | ((body | title) & asked)
    scores = [
        worth(body)
        + _TITLE_WEIGHT * worth(title - body)
        + _PARAGRAPH_WEIGHT * worth(of_paragraph[sentence.paragraph])
        for sentence, body, title in zip(sentences, bodies, titles, strict=True)
    ]
    bridges = _bridges(sentences, bodies, scores)
    scores = [
        score + _BRIDGE_WEIGHT * bridges.get(sentence.paragraph, 0.0)
        for score, sentence in zip(scores, sentences, strict=True)
    ]
    best = max(scores, default=0.0) or 1.0
    return Evidence(sentences, bodies, [score / best for score in scores], idf)


def _bridges(
    sentences: Sequence[Sentence], bodies: Sequence[frozenset[str]], scores: Sequence[float]
) -> dict[int, float]:
    """For each paragraph, the best score of a sentence elsewhere that names its title."""
    having: defaultdict[str, list[int]] = defaultdict(list)
    for index, body in enumerate(bodies):
        for stem in body:
            having[stem].append(index)
    titles = {sentence.paragraph: plain_title(sentence.title) for sentence in sentences}
    best: dict[int, float] = {}
    for paragraph, title in titles.items():
        # Only sentences with the title's rarest word are searched for the whole of it.
        for index in min((having[stem] for stem in stems(title)), key=len, default=[]):
            if sentences[index].paragraph != paragraph and title in sentences[index].text:
                best[paragraph] = max(best.get(paragraph, 0.0), scores[index])
    return best
