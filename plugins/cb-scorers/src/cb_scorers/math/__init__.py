"""Mathematical equivalence of answers."""

from __future__ import annotations

from cb_scorers.math.answers import final_answer
from cb_scorers.math.evaluator import MathEquivalence

__all__ = ["MathEquivalence", "final_answer"]
