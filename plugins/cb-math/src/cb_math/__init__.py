"""Mathematical equivalence of answers."""

from __future__ import annotations

from cb_math.answers import final_answer
from cb_math.evaluator import MathEquivalence

__all__ = ["MathEquivalence", "final_answer"]
