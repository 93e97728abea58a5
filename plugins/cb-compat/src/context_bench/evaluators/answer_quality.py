"""Token F1, exact match, recall and containment."""

from cb_answerquality import AnswerQuality

__all__ = ["AnswerQuality"]
