"""The eight evaluators, each the one of its own plugin."""

from context_bench.evaluators.answer_quality import AnswerQuality
from context_bench.evaluators.code_execution import CodeExecution
from context_bench.evaluators.ifeval_checker import IFEvalChecker
from context_bench.evaluators.llm_judge import LLMJudge
from context_bench.evaluators.math_equivalence import MathEquivalence
from context_bench.evaluators.multiple_choice import MultipleChoiceAccuracy
from context_bench.evaluators.nli_label_match import NLILabelMatch
from context_bench.evaluators.rouge import SummarizationQuality

__all__ = [
    "AnswerQuality",
    "CodeExecution",
    "IFEvalChecker",
    "LLMJudge",
    "MathEquivalence",
    "MultipleChoiceAccuracy",
    "NLILabelMatch",
    "SummarizationQuality",
]
