"""NoLiMa's own score: the name of the needle stands in the response.

The definition is that of the metric `contains` in `evaluation/async_evaluate.py` of the
repository adobe-research/NoLiMa, which its published runs use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cbcore.protocols import Scores
from cbcore.scoring import golds_of, response_of


class NoLiMaScore:
    """Whether a response has the name in it, to the letter: `nolima`.

    Letter case counts, word boundaries do not: "yuki" is not "Yuki", "Mandyson" has "Mandy".
    """

    name = "nolima_score"
    emits = ("nolima",)
    applies_to = ("nolima",)
    automatic = True
    needs = ("answer",)
    reads = ("answer", "answers", "response")

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scores:
        """The score. Raises `MissingScoreError` without a gold or a response."""
        response = response_of(processed)
        return {"nolima": float(any(gold in response for gold in golds_of(original)))}
