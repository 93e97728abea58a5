"""Context precision by judge or supporting facts, with a reference answer or the response."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from cb_ragas_precision import fields, prompts
from cb_ragas_precision.evaluating import (
    JudgedEvaluator,
    Outcome,
    cost_of,
    details_of,
    why_unjudged,
)
from cb_ragas_precision.facts import squeezed, supporting_texts
from cb_ragas_precision.fields import Field
from cb_ragas_precision.judging import Judgement, Judging
from cb_ragas_precision.ranking import average_precision, set_precision
from cbcore.binding import Trusted, by_field
from cbcore.columns import Column
from cbcore.exceptions import MissingScoreError
from cbcore.introspection import attributes_without
from cbcore.results import Scored


class _RankedContexts(JudgedEvaluator):
    """The way from retrieved contexts to prompts, and from verdicts to scores."""

    answer: ClassVar[Field]
    k: tuple[int, ...] = ()

    async def _judged(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Outcome:
        values = self._read(original, processed)
        found = fields.contexts(values["contexts"])
        if not found:
            return self._nothing_retrieved()
        remarks = fields.remarks(found, original.get("reference_contexts"))
        return self._scored(await self._ask(self._prompts(values)), **remarks)

    def _prompts(self, values: Mapping[str, Any]) -> list[str]:
        question = fields.text(values["question"], "question")
        answer = fields.text(values[self.answer.name], self.answer.name.replace("_", " "))
        found = fields.contexts(values["contexts"])
        return [prompts.relevance(question, context, answer) for context in found]

    def _scored(self, judgements: Sequence[Judgement], **details: Any) -> Scored:
        scores: dict[str, float] = {}
        missing: dict[str, str] = {}
        for name, size in self._sizes(len(judgements)).items():
            top = [j.verdict for j in judgements[:size] if j.verdict is not None]
            if len(top) < min(size, len(judgements)):
                missing[name] = why_unjudged(judgements, "context")
            elif name == "context_set_precision":
                scores[name] = set_precision(top)
            else:
                scores[name] = average_precision(top)
        return Scored(scores, missing, details_of(judgements, **details), cost_of(judgements))

    def _sizes(self, n_contexts: int) -> dict[str, int]:
        """How many contexts each score looks at."""
        at_k = {f"{self.name}_at_{k}": k for k in self.k}
        return {name: at_k.get(name, n_contexts) for name in self.emits}


class ContextPrecision(_RankedContexts):
    """Are the contexts that help to answer ranked first? By a judge, or by supporting facts.

    - `judge`: the URL of an OpenAI-compatible endpoint (with `model`), a function of the
      prompt, `module:function`, or a judge client. Without one, a context is relevant when it
      holds one of the example's `supporting_facts`.
    - `k`: also score the first so many contexts, as `context_precision_at_<k>`.
    - `n_votes`: how often each context is judged; the majority counts.
    - `question_column`, `contexts_column`, `ground_truth_column`: where these are read from.
    """

    name = "context_precision"
    emits: tuple[str, ...] = ("context_precision", "context_set_precision")
    applies_to = ("retrieval",)
    automatic = True
    needs = ("supporting_facts",)
    needs_output = ("contexts",)
    uses = (fields.QUESTION, fields.CONTEXTS, fields.GROUND_TRUTH)
    answer = fields.GROUND_TRUTH
    identity = attributes_without("prices")

    @by_field
    def __init__(
        self,
        judge: Trusted[Any] = None,
        model: str | None = None,
        *,
        k: Sequence[int] = (),
        judging: Judging = Judging(),
        question_column: Column | None = None,
        contexts_column: Column | None = None,
        ground_truth_column: Column | None = None,
        **legacy_columns: Any,
    ) -> None:
        columns = {
            "question_column": question_column,
            "contexts_column": contexts_column,
            "ground_truth_column": ground_truth_column,
        }
        self.k = _checked_sizes(k)
        self._set_columns(columns, legacy_columns)
        self._set_judge(judge, model, judging)
        at_k = (f"{self.name}_at_{size}" for size in self.k)
        self.emits = (*type(self).emits, *at_k)

    def _offline(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Outcome:
        found = fields.contexts(self._read(original, processed)["contexts"])
        if not found:
            return self._nothing_retrieved()
        facts = supporting_texts(original)
        if facts is None:
            raise MissingScoreError(
                "no judge is set and the example has no supporting facts: give judge=…, or use "
                "context_precision_nonllm or context_precision_ids"
            )
        judgements = []
        for context in found:
            passage = squeezed(context)
            held = next((fact for fact in facts if fact in passage), None)
            judgements.append(
                Judgement(0, "holds no supporting fact")
                if held is None
                else Judgement(1, f"holds the supporting fact: {held}")
            )
        return self._scored(judgements, decided_by="supporting facts")


class ContextUtilization(_RankedContexts):
    """Are the contexts that the response made use of ranked first? By a judge.

    As `context_precision` with a judge, but with the response in the place of a reference
    answer: for data that has none.
    """

    name = "context_utilization"
    emits = ("context_utilization",)
    uses = (fields.QUESTION, fields.CONTEXTS, fields.RESPONSE)
    answer = fields.RESPONSE
    identity = attributes_without("prices")

    @by_field
    def __init__(
        self,
        judge: Trusted[Any],
        model: str | None = None,
        *,
        judging: Judging = Judging(),
        question_column: Column | None = None,
        contexts_column: Column | None = None,
        response_column: Column | None = None,
        **legacy_columns: Any,
    ) -> None:
        if judge is None:
            raise ValueError("judge is None: whether a response used a context takes a judge")
        columns = {
            "question_column": question_column,
            "contexts_column": contexts_column,
            "response_column": response_column,
        }
        self._set_columns(columns, legacy_columns)
        self._set_judge(judge, model, judging)


def _checked_sizes(k: Sequence[int] | int) -> tuple[int, ...]:
    sizes = tuple(sorted(set(k))) if isinstance(k, list | tuple | set) else (k,)
    for size in sizes:
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise ValueError(f"k holds {size!r}: a whole number of at least 1 is wanted")
    return sizes
