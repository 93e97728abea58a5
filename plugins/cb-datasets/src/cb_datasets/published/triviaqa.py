"""TriviaQA's own scores: as SQuAD's, after another normalisation.

The definitions are those of `triviaqa_evaluation.py` in the repository mandarjoshi90/triviaqa,
for one example.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from typing import Any

from cbcore.protocols import Scores
from cbcore.scoring import golds_of, overlap_scores, response_of

_TO_SPACES = dict.fromkeys(map(ord, string.punctuation + "‘’´`"), " ")
_ARTICLE = re.compile(r"\b(a|an|the)\b")


class TriviaQAScore:
    """Exact match and token F1 as TriviaQA defines them: `triviaqa_em` and `triviaqa_f1`.

    Punctuation becomes a space, so that "Jean-Jacques" is two words. Of all aliases the one
    that fits best counts.
    """

    name = "triviaqa_score"
    emits = ("triviaqa_f1", "triviaqa_em")
    applies_to = ("triviaqa",)
    automatic = True
    needs = ("answer",)
    reads = ("answer", "answers", "response")

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """The two scores. Raises `MissingScoreError` without a gold or a response."""
        given = tokens(response_of(processed))
        golds = [tokens(gold) for gold in golds_of(original)]
        return {
            "triviaqa_f1": max(overlap_scores(given, gold).f1 for gold in golds),
            "triviaqa_em": float(given in golds),
        }


def tokens(text: str) -> list[str]:
    """The words that are compared: lower case, punctuation to spaces, no articles."""
    return _ARTICLE.sub(" ", text.lower().translate(_TO_SPACES)).split()
