"""Context recall: how much of what is needed stands in the retrieved contexts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cb_ragas_precision import fields, prompts
from cb_ragas_precision.evaluating import (
    JudgedEvaluator,
    Outcome,
    cost_of,
    details_of,
    why_unjudged,
)
from cb_ragas_precision.facts import squeezed, supporting_texts
from cb_ragas_precision.judging import Judging
from cb_ragas_precision.similar import matches
from cb_ragas_precision.similarity import check_measure
from cbcore.binding import Trusted, by_field
from cbcore.columns import Column
from cbcore.exceptions import MissingScoreError
from cbcore.introspection import attributes_without
from cbcore.results import Scored
from cbcore.scoring import split_sentences


class ContextRecall(JudgedEvaluator):
    """How much of the reference is backed by the contexts? By a judge, likeness, or facts.

    - `judge`: as for `context_precision`; it is asked about every sentence of the reference
      answer. Without one, the share of `reference_contexts` that a retrieved context
      resembles; without those too, the share of `supporting_facts` that the contexts hold.
    - `threshold`, `measure`: when two contexts are alike, as for `context_precision_nonllm`.
    """

    name = "context_recall"
    emits = ("context_recall",)
    applies_to = ("retrieval",)
    automatic = True
    needs = ("supporting_facts",)
    needs_output = ("contexts",)
    uses = (fields.QUESTION, fields.CONTEXTS, fields.GROUND_TRUTH, fields.REFERENCE_CONTEXTS)
    identity = attributes_without("prices")

    @by_field
    def __init__(
        self,
        judge: Trusted[Any] = None,
        model: str | None = None,
        *,
        threshold: float = 0.5,
        measure: str = "levenshtein",
        judging: Judging = Judging(),
        question_column: Column | None = None,
        contexts_column: Column | None = None,
        ground_truth_column: Column | None = None,
        reference_contexts_column: Column | None = None,
        **legacy_columns: Any,
    ) -> None:
        self.measure = check_measure(measure, threshold)
        self.threshold = float(threshold)
        columns = {
            "question_column": question_column,
            "contexts_column": contexts_column,
            "ground_truth_column": ground_truth_column,
            "reference_contexts_column": reference_contexts_column,
        }
        self._set_columns(columns, legacy_columns)
        self._set_judge(judge, model, judging)

    async def _judged(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Outcome:
        values = self._read(original, processed)
        found = fields.contexts(values["contexts"])
        if not found:
            return self._nothing_retrieved()
        judgements = await self._ask(self._prompts(values))
        stated = _statements(values)
        details, cost = details_of(judgements, statements=stated), cost_of(judgements)
        verdicts = [j.verdict for j in judgements if j.verdict is not None]
        if len(verdicts) < len(stated):
            return Scored({}, {self.name: why_unjudged(judgements, "statement")}, details, cost)
        return Scored({self.name: sum(verdicts) / len(stated)}, {}, details, cost)

    def _prompts(self, values: Mapping[str, Any]) -> list[str]:
        question = fields.text(values["question"], "question")
        found = fields.contexts(values["contexts"])
        return [prompts.attribution(question, found, stated) for stated in _statements(values)]

    def _offline(self, original: Mapping[str, Any], processed: Mapping[str, Any]) -> Outcome:
        values = self._read(original, processed)
        found = fields.contexts(values["contexts"])
        if not found:
            return self._nothing_retrieved()
        if values["reference_contexts"] is not None:
            references = fields.references(values["reference_contexts"])
            _, recalled = matches(found, references, self.measure, self.threshold)
            return {self.name: sum(recalled) / len(recalled)}
        facts = supporting_texts(original)
        if facts is None:
            raise MissingScoreError(
                "no judge is set and the example has neither reference contexts nor "
                "supporting facts: give judge=…"
            )
        everything = list(map(squeezed, found))
        held = [int(any(fact in context for context in everything)) for fact in facts]
        return {self.name: sum(held) / len(held)}


def _statements(values: Mapping[str, Any]) -> list[str]:
    return split_sentences(fields.text(values["ground_truth"], "ground truth"))
