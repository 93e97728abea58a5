"""Labels of natural-language inference."""

import cb_scorers.nli as scorer
from context_bench.evaluators.wrapping import Wrapped


class NLILabelMatch(Wrapped):
    """Does a response give the gold label?"""

    def __init__(self) -> None:
        super().__init__(scorer.NLILabelMatch())
        self.name = "nli_label_match"
