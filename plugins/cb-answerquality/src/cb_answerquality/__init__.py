"""Scores of a response against gold answers: token F1, exact match, recall, containment."""

from cb_answerquality.evaluators import AnswerQuality, ContainsWord
from cb_answerquality.metrics.quality import (
    contains_score,
    contains_word_score,
    exact_match,
    f1_score,
    recall_score,
)
from cb_answerquality.normalization import normalize

__all__ = [
    "AnswerQuality",
    "ContainsWord",
    "contains_score",
    "contains_word_score",
    "exact_match",
    "f1_score",
    "normalize",
    "recall_score",
]
