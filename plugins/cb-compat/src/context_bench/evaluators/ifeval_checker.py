"""Instructions that can be verified."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cb_scorers.ifeval import IFEval
from cbcore.results import Scored
from context_bench.evaluators.wrapping import Wrapped

FORMER_NAMES = {
    "ifeval_strict": "ifeval_prompt_strict",
    "ifeval_loose": "ifeval_instruction_loose",
}
"""What context-bench called two of the official scores: all followed, and the share followed."""


class IFEvalChecker(Wrapped):
    """Does the response follow the instructions of its prompt?"""

    def __init__(self) -> None:
        super().__init__(_UnderFormerNames())


class _UnderFormerNames:
    """Gives the four official scores, and two of them under their former names as well."""

    name = IFEval.name
    emits = (*FORMER_NAMES, *IFEval.emits)
    needs = IFEval.needs

    def __init__(self) -> None:
        self.official = IFEval()

    def score(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Scored:
        scored = self.official.score(original, processed)
        former = {name: scored.scores[official] for name, official in FORMER_NAMES.items()}
        return Scored({**former, **scored.scores}, scored.missing, scored.details)
