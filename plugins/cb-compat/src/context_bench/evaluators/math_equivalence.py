"""Answers compared as mathematics."""

import cb_scorers.math as scorer
from context_bench.evaluators.wrapping import Wrapped


class MathEquivalence(Wrapped):
    """Does a response come to the gold answer, however it is written?"""

    def __init__(self) -> None:
        super().__init__(scorer.MathEquivalence())
