"""The evaluator: which texts are the summary and the gold summaries, and when there is no score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cb_scorers.rouge.lsum import rouge_lsum
from cb_scorers.rouge.rouge import Overlap, rouge_l, rouge_n, tokenize
from cbcore.exceptions import MissingScoreError
from cbcore.protocols import Scores
from cbcore.scoring import response_of

GOLD_FIELDS = ("answers", "answer", "summary")
"""Where gold summaries stand in an example; the first field that holds one counts."""


Lines = list[list[str]]
"""The tokens of a text, line by line."""


class SummarizationQuality:
    """How much a summary shares with the gold summary: ROUGE-L, ROUGE-1, ROUGE-2, ROUGE-Lsum.

    With several gold summaries, each kind of ROUGE is that of the one with the highest F1.
    """

    name = "summarization_quality"
    emits = (
        *("rouge_l_f1", "rouge_l_precision", "rouge_l_recall", "rouge_1", "rouge_2"),
        "rouge_lsum",
    )
    applies_to = ("summarization",)
    automatic = True
    needs = ()

    def __init__(self, use_stemmer: bool = False) -> None:
        """`use_stemmer` compares the stems of words, as many published numbers do."""
        self.use_stemmer = use_stemmer

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """The scores. Raises `MissingScoreError` without a gold summary or a response."""
        golds = self._golds(original)
        lines = self._lines(response_of(processed, text_only=True))
        summary = _joined(lines)
        wanted = [_joined(gold) for gold in golds]
        longest = [rouge_l(summary, gold) for gold in wanted]
        # Of a single line and a single line, the union of subsequences is the subsequence.
        united = [
            found if len(lines) == len(gold) == 1 else rouge_lsum(lines, gold)
            for gold, found in zip(golds, longest, strict=True)
        ]
        best = _best(longest)
        return {
            "rouge_l_f1": best.f1,
            "rouge_l_precision": best.precision,
            "rouge_l_recall": best.recall,
            "rouge_1": _best([rouge_n(summary, gold, 1) for gold in wanted]).f1,
            "rouge_2": _best([rouge_n(summary, gold, 2) for gold in wanted]).f1,
            "rouge_lsum": _best(united).f1,
        }

    def _lines(self, text: str) -> Lines:
        return [tokenize(line, self.use_stemmer) for line in text.split("\n")]

    def _golds(self, example: Mapping[str, Any]) -> list[Lines]:
        """The tokens of each gold summary that has any."""
        texts = _gold_texts(example)
        golds = [lines for text in texts if any(lines := self._lines(text))]
        if not golds:
            raise MissingScoreError(
                "the gold summary has no word of Latin letters or digits, all that ROUGE compares"
                if any(text.strip() for text in texts)
                else "the example has no gold summary in `answers`, `answer` or `summary`"
            )
        return golds


def _joined(lines: Lines) -> list[str]:
    return [token for line in lines for token in line]


def _best(overlaps: Sequence[Overlap]) -> Overlap:
    return max(overlaps, key=lambda overlap: overlap.f1)


def _gold_texts(example: Mapping[str, Any]) -> list[str]:
    for field in GOLD_FIELDS:
        value = example.get(field)
        texts = []
        for text in value if isinstance(value, list | tuple) else [value]:
            if isinstance(text, str):
                texts.append(text)
            elif text is not None:
                kind = type(text).__name__
                raise MissingScoreError(f"the gold summary in `{field}` is a {kind}, not a text")
        if any(text.strip() for text in texts):
            return texts
    return []
