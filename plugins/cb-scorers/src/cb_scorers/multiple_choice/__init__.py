"""Which choice a response settles on, and whether it is the right one."""

from cb_scorers.multiple_choice.evaluator import MultipleChoiceAccuracy
from cb_scorers.multiple_choice.extraction import Extracted, NoAnswerError, extract_choice

__all__ = ["Extracted", "MultipleChoiceAccuracy", "NoAnswerError", "extract_choice"]
