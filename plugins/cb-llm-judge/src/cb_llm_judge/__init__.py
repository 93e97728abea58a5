"""A model as judge: ratings by a rubric, votes and panels, pairwise comparison."""

from cb_llm_judge.client import FunctionJudge, JudgeClient
from cb_llm_judge.evaluator import LLMJudge
from cb_llm_judge.material import JudgeMaterial
from cb_llm_judge.pairwise import PairwiseJudge
from cb_llm_judge.replies import read_reply
from cb_llm_judge.rubrics import PAIR_RUBRICS, RUBRICS
from cb_llm_judge.settings import Sampling
from cb_llm_judge.summary import JudgeSummary
from cb_llm_judge.verdicts import (
    BINARY,
    PREFERENCE,
    BinaryVerdict,
    Form,
    JudgeError,
    Rating,
    Verdict,
    rating_form,
)

__all__ = [
    "BINARY",
    "PAIR_RUBRICS",
    "PREFERENCE",
    "RUBRICS",
    "BinaryVerdict",
    "Form",
    "FunctionJudge",
    "JudgeClient",
    "JudgeError",
    "JudgeMaterial",
    "JudgeSummary",
    "LLMJudge",
    "PairwiseJudge",
    "Rating",
    "Sampling",
    "Verdict",
    "rating_form",
    "read_reply",
]
