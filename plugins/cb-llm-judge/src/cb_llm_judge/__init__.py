"""A model as judge: ratings by a rubric, votes and panels, pairwise comparison."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cb_llm_judge.client import FunctionJudge as FunctionJudge
    from cb_llm_judge.client import JudgeClient as JudgeClient
    from cb_llm_judge.evaluator import LLMJudge as LLMJudge
    from cb_llm_judge.material import JudgeMaterial as JudgeMaterial
    from cb_llm_judge.pairwise import PairwiseJudge as PairwiseJudge
    from cb_llm_judge.replies import read_reply as read_reply
    from cb_llm_judge.rubrics import PAIR_RUBRICS as PAIR_RUBRICS
    from cb_llm_judge.rubrics import RUBRICS as RUBRICS
    from cb_llm_judge.settings import Sampling as Sampling
    from cb_llm_judge.summary import JudgeSummary as JudgeSummary
    from cb_llm_judge.verdicts import BINARY as BINARY
    from cb_llm_judge.verdicts import PREFERENCE as PREFERENCE
    from cb_llm_judge.verdicts import BinaryVerdict as BinaryVerdict
    from cb_llm_judge.verdicts import Form as Form
    from cb_llm_judge.verdicts import JudgeError as JudgeError
    from cb_llm_judge.verdicts import Rating as Rating
    from cb_llm_judge.verdicts import Verdict as Verdict
    from cb_llm_judge.verdicts import rating_form as rating_form

_HOMES = {
    "FunctionJudge": "client",
    "JudgeClient": "client",
    "LLMJudge": "evaluator",
    "JudgeMaterial": "material",
    "PairwiseJudge": "pairwise",
    "read_reply": "replies",
    "PAIR_RUBRICS": "rubrics",
    "RUBRICS": "rubrics",
    "Sampling": "settings",
    "JudgeSummary": "summary",
    "BINARY": "verdicts",
    "BinaryVerdict": "verdicts",
    "Form": "verdicts",
    "JudgeError": "verdicts",
    "PREFERENCE": "verdicts",
    "Rating": "verdicts",
    "rating_form": "verdicts",
    "Verdict": "verdicts",
}

__all__ = [*sorted(_HOMES)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return resolve_name(f"{__name__}.{_HOMES[name]}:{name}")
