"""DROP's own scores: whole answers compared, spans of one answer aligned, numbers as numbers.

The definitions are those of `drop_eval.py` in the repository allenai/allennlp-models, for one
example. That script is given answers as lists of spans, a system here answers with a text: what
its spans may be is said in `readings`.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cb_datasets.published.alignment import best_alignment
from cbcore.exceptions import MissingScoreError
from cbcore.protocols import Scores
from cbcore.scoring import response_of

_PUNCTUATION = dict.fromkeys(map(ord, string.punctuation))
_ARTICLE = re.compile(r"\b(a|an|the)\b")
_SEPARATORS = (
    re.compile(r"\n"),
    re.compile(r"[;\n]"),
    re.compile(r",\s|[;\n]"),
    re.compile(r",?\s(?:and|&)\s|,\s|[;\n]", re.IGNORECASE),
)
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")


class DropScore:
    """How well a response matches what DROP's annotators answered: `drop_em` and `drop_f1`.

    The example's `answer_spans` has one list of spans per annotator; the one that fits best
    counts. A system may give its spans as a list in `response`.
    """

    name = "drop_score"
    emits = ("drop_f1", "drop_em")
    applies_to = ("drop",)
    automatic = True
    needs = ("answer_spans",)
    reads = ("answer_spans", "response")

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """The two scores. Raises `MissingScoreError` without a gold or a response."""
        golds = _golds(original.get("answer_spans"))
        found = [
            compare(spans, gold)
            for gold in golds
            for spans in readings(processed, several=len(gold) > 1)
        ]
        return {"drop_f1": max(f1 for _, f1 in found), "drop_em": max(em for em, _ in found)}


def readings(processed: Mapping[str, Any], *, several: bool) -> Iterator[Sequence[str]]:
    """The lists of spans that an output may stand for.

    A list is what it is. A text is one span; where the gold has several, it is also what stands
    between line breaks, semicolons, commas or the word "and", and the reading that fits counts.
    """
    given = processed.get("response")
    if isinstance(given, list | tuple) and given and all(isinstance(s, str) for s in given):
        yield given
        return
    text = response_of(processed)
    yield [text]
    for separator in _SEPARATORS if several else ():
        parts = (_BULLET.sub("", part) for part in separator.split(text))
        if spans := [part for part in parts if part.strip()]:
            yield spans


def compare(predicted: Sequence[str], gold: Sequence[str]) -> tuple[float, float]:
    """Exact match and F1 of one answer and one gold, each a list of spans."""
    given, wanted = [normalized(s) for s in predicted], [normalized(s) for s in gold]
    exact = set(given) == set(wanted) and len(given) == len(wanted)
    bags = [set(span.split()) for span in given], [set(span.split()) for span in wanted]
    scores = [[_overlap(found, expected) for found in bags[0]] for expected in bags[1]]
    mean = sum(best_alignment(scores)) / max(len(given), len(wanted))
    return float(exact), round(mean * 100) / 100  # to whole percent, as published


def normalized(span: str) -> str:
    """A span in the form that is compared: split at hyphens too, numbers as Python writes them."""
    tokens = (_normalized_token(token) for token in re.split(" |-", span.lower()))
    return " ".join(token for token in tokens if token)


def _normalized_token(token: str) -> str:
    if not _is_number(token):
        token = token.translate(_PUNCTUATION)
    if _is_number(token):
        token = str(float(token))
    return " ".join(_ARTICLE.sub(" ", token).split())


def _is_number(token: str) -> bool:
    try:
        float(token)
    except ValueError:
        return False
    return True


def _overlap(found: set[str], expected: set[str]) -> float:
    """F1 of two bags of words; 0 when the gold has numbers and none of them is there."""
    numbers = {word for word in expected if _is_number(word)}
    if numbers and not numbers & found:
        return 0.0
    common = len(found & expected)
    precision = common / len(found) if found else 1.0
    recall = common / len(expected) if expected else 1.0
    both = precision + recall
    return 2 * precision * recall / both if both else 0.0


def _golds(value: Any) -> list[list[str]]:
    golds = [
        [str(span) for span in spans]
        for spans in (value if isinstance(value, list | tuple) else ())
        if isinstance(spans, list | tuple) and spans and str(spans[0]).strip()
    ]
    if not golds:
        raise MissingScoreError("the example has no answer_spans: a list of spans per annotator")
    return golds
