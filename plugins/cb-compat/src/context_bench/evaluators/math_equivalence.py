"""Answers compared as mathematics."""

import cb_math
from context_bench.evaluators.wrapping import Wrapped


class MathEquivalence(Wrapped):
    """Does a response come to the gold answer, however it is written?"""

    def __init__(self) -> None:
        super().__init__(cb_math.MathEquivalence())
